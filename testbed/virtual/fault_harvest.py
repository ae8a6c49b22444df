# SPDX-License-Identifier: Apache-2.0
"""The record of each fault: what it swallowed, for how long, and goodput around it."""

from __future__ import annotations

from testbed.faults import Occurrence
from testbed.frames import CONTROL, DATA, PROBE
from testbed.losses import FaultTally, FlowKey, FlowTally
from testbed.maxflow import MaxFlow
from testbed.results import FaultResult, QpFailover
from testbed.virtual.world import VirtualWorld
from testbed.windows import Stretch, Timeline


def share_of(measured: float | None, limit: float) -> float | None:
    """``measured`` as a share of ``limit``; None when either is nothing."""
    return round(measured / limit, 6) if measured is not None and limit else None


class FaultHarvest:
    """Builds a `FaultResult` for each occurrence of a world that has run."""

    def __init__(self, world: VirtualWorld, timeline: Timeline, maxflow: MaxFlow) -> None:
        self._world = world
        self._timeline = timeline
        self._maxflow = maxflow

    def results(self) -> list[FaultResult]:
        """In order of time; what the run's end came before is left out."""
        losses = self._world.losses
        return [
            self._result(occurrence, losses.faults[occurrence.index])
            for occurrence in self._world.occurrences
            if occurrence.index in losses.faults
        ]

    def _result(self, occurrence: Occurrence, tally: FaultTally) -> FaultResult:
        begin, end = occurrence.begin_ns, occurrence.end_ns
        qps = [self._failover(key, flow) for key, flow in tally.flows.items() if flow.lost]
        unrecovered = self._unrecovered(tally)
        recovered = None if unrecovered or tally.recovered_ns is None else tally.recovered_ns
        before = self._goodput(self._timeline.before(begin))
        after = self._goodput(self._timeline.after(begin))
        limit_before = self._maxflow.gbps(self._timeline.dead_links(begin - 1))
        limit_after = self._maxflow.gbps(self._timeline.dead_links(begin))
        mended = limit_mended = None
        if end is not None:
            mended = self._goodput(self._timeline.after(end))
            limit_mended = self._maxflow.gbps(self._timeline.dead_links(end))
        return FaultResult(
            label=occurrence.label,
            kind=occurrence.fault.kind,
            target=occurrence.target,
            begin_ns=begin,
            end_ns=end,
            data_packets_into=tally.data_into,
            data_packets_lost=tally.lost[DATA],
            control_packets_lost=tally.lost[CONTROL],
            probe_packets_lost=tally.lost[PROBE],
            last_data_packet_us=_us_since(begin, tally.last_data_ns),
            worst_last_packet_rtts=max((qp.last_packet_rtts for qp in qps), default=None),
            recovered_us=_us_since(begin, recovered),
            unrecovered=unrecovered,
            goodput_before_gbps=before,
            goodput_after_gbps=after,
            maxflow_before_gbps=limit_before,
            maxflow_after_gbps=limit_after,
            goodput_after_share=share_of(after, limit_after),
            goodput_mended_gbps=mended,
            maxflow_mended_gbps=limit_mended,
            goodput_mended_share=share_of(mended, limit_mended or 0.0),
            qps=qps,
        )

    def _goodput(self, stretch: Stretch) -> float | None:
        return self._world.goodput.mean_gbps(stretch.from_ns, stretch.to_ns)

    def _failover(self, key: FlowKey, tally: FlowTally) -> QpFailover:
        elapsed = tally.last_ns - tally.first_loss_ns
        return QpFailover(
            flow=self._world.flows.by_wire[key].name,
            data_packets=tally.into,
            lost=tally.lost,
            first_loss_ns=tally.first_loss_ns,
            last_packet_ns=tally.last_ns,
            srtt_ns=tally.srtt_ns,
            last_packet_rtts=round(elapsed / tally.srtt_ns, 3),
        )

    def _unrecovered(self, tally: FaultTally) -> int:
        """Packets lost in a fault that their destination has never had.

        A packet that was lost and not seen again may have been a needless repetition: when all of
        its flow is verified, it was.
        """
        missing = 0
        for tag, waiting in self._world.losses.awaiting.items():
            flow = self._world.flows.by_wire[tag.destination, tag.qpn]
            if tally in waiting and flow.bytes_verified < flow.bytes_posted:
                missing += 1
        return missing


def _us_since(begin_ns: int, time_ns: int | None) -> float | None:
    return None if time_ns is None else round((time_ns - begin_ns) / 1000, 3)
