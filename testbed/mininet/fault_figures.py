# SPDX-License-Identifier: Apache-2.0
"""The record of each fault of a run with real packets.

What a fault swallowed is counted where it is swallowed, by kind. How long it was sent into is what
the senders' agents know: when a data packet last took each path. Lost packets cannot be followed
one by one, so they count as recovered when every message that had begun by then has completed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from endpoint.agent.values import EvStatus, Gap
from testbed.faults import Occurrence
from testbed.maxflow import MaxFlow
from testbed.measure import Bins
from testbed.mininet.crossing import crosses
from testbed.mininet.fault_worker import Carried
from testbed.mininet.flows import receiving
from testbed.mininet.scenario_run import ScenarioRun
from testbed.real_time import FaultTiming
from testbed.results import FaultResult, QpFailover
from testbed.virtual.traffic import Flow
from testbed.windows import Stretch, Timeline


@dataclass(frozen=True, slots=True)
class Struck:
    """One flow that sent data into a fault: how many packets, and when last (run's time)."""

    flow: Flow
    packets: int
    last_ns: int
    srtt_ns: int


def as_happened(run: ScenarioRun) -> list[Occurrence]:
    """The occurrences that were carried out, with the times at which they were."""
    return [
        Occurrence(
            index=carried.occurrence.index,
            fault=carried.occurrence.fault,
            label=carried.occurrence.label,
            target=carried.occurrence.target,
            begin_ns=carried.begin_ns,
            end_ns=carried.end_ns,
        )
        for _, carried in sorted(run.worker.carried.items())
    ]


class FaultFigures:
    """Builds a `FaultResult` and a `FaultTiming` for each fault of a run."""

    def __init__(
        self, run: ScenarioRun, timeline: Timeline, maxflow: MaxFlow, goodput: Bins
    ) -> None:
        self._run = run
        self._timeline = timeline
        self._maxflow = maxflow
        self._goodput = goodput
        self._fabric = run.live.fabric

    def results(self) -> list[FaultResult]:
        """In order of time."""
        return [self._result(occurrence) for occurrence in as_happened(self._run)]

    def timings(self) -> list[FaultTiming]:
        """In the same order."""
        return [self._timing(occurrence) for occurrence in as_happened(self._run)]

    # -- what senders did ---------------------------------------------------------------------

    def _struck(self, occurrence: Occurrence) -> list[Struck]:
        carried = self._run.worker.carried[occurrence.index]
        found = []
        for flow in self._run.flows.flows:
            before = {path.ev: path for path in carried.before.get(flow.index, ())}
            crossing = [
                path
                for path in carried.after.get(flow.index, ())
                if self._crosses(occurrence, flow, path)
                and self._run.clock.of(path.last_data_ns) > occurrence.begin_ns
            ]
            packets = sum(path.data_packets - _packets(before.get(path.ev)) for path in crossing)
            if packets > 0:
                last_ns = max(self._run.clock.of(path.last_data_ns) for path in crossing)
                found.append(Struck(flow, packets, last_ns, carried.srtt_ns[flow.index]))
        return found

    def _crosses(self, occurrence: Occurrence, flow: Flow, path: EvStatus) -> bool:
        fabric = self._fabric
        source, target = fabric.host(flow.sender.name), fabric.host(flow.receiver.name)
        damage = self._run.breaker.damage[occurrence.index]
        return crosses(
            fabric, occurrence, source.index, target.index, path.plane, path.uplink, damage.uplink
        )

    def _recovered_ns(self, struck: Struck) -> int | None:
        """When every message was complete that had begun when the last packet went in."""
        flow, sender = struck.flow, struck.flow.sender.name
        samples = self._run.samples[sender]
        times = [self._run.clock.of(sample.time_ns) for sample in samples]
        place = bisect_left(times, struck.last_ns)
        if place == len(samples):
            return None
        counters = samples[place].qp(flow.sender_qp.qpn).counters
        begun = counters["data_sent"] - counters["retransmitted"]
        completed = self._run.flows.completed_ns[flow.index]
        latest = 0
        for number, packets in enumerate(self._run.flows.packets(flow)):
            if begun <= 0:
                break
            begun -= packets
            if number not in completed:
                return None
            latest = max(latest, completed[number])
        return latest

    # -- records ------------------------------------------------------------------------------

    def _result(self, occurrence: Occurrence) -> FaultResult:
        begin, end = occurrence.begin_ns, occurrence.end_ns
        counted = self._run.breaker.counted(occurrence.index)
        struck = self._struck(occurrence)
        lost_share = counted.data / max(1, counted.data + counted.data_passed)
        recovered = [self._recovered_ns(item) for item in struck if counted.data]
        known = [time for time in recovered if time is not None]
        before = self._mean(self._timeline.before(begin))
        after = self._mean(self._timeline.after(begin))
        limit_after = self._maxflow.gbps(self._timeline.dead_links(begin))
        mended = limit_mended = None
        if end is not None:
            mended = self._mean(self._timeline.after(end))
            limit_mended = self._maxflow.gbps(self._timeline.dead_links(end))
        last_ns = max((item.last_ns for item in struck), default=None)
        qps = [_failover(item, begin, lost_share) for item in struck]
        return FaultResult(
            label=occurrence.label,
            kind=occurrence.fault.kind,
            target=occurrence.target,
            begin_ns=begin,
            end_ns=end,
            data_packets_into=counted.data + counted.data_passed,
            data_packets_lost=counted.data,
            control_packets_lost=counted.control,
            probe_packets_lost=counted.probes,
            last_data_packet_us=None if last_ns is None else round((last_ns - begin) / 1000, 3),
            worst_last_packet_rtts=max((qp.last_packet_rtts for qp in qps), default=None),
            recovered_us=round((max(known) - begin) / 1000, 3)
            if known and len(known) == len(recovered)
            else None,
            unrecovered=sum(item.packets for item in struck if item.flow.open),
            goodput_before_gbps=before,
            goodput_after_gbps=after,
            maxflow_before_gbps=self._maxflow.gbps(self._timeline.dead_links(begin - 1)),
            maxflow_after_gbps=limit_after,
            goodput_after_share=_share(after, limit_after),
            goodput_mended_gbps=mended,
            maxflow_mended_gbps=limit_mended,
            goodput_mended_share=_share(mended, limit_mended),
            qps=qps,
        )

    def _mean(self, stretch: Stretch) -> float | None:
        return self._goodput.mean_gbps(stretch.from_ns, stretch.to_ns)

    def _timing(self, occurrence: Occurrence) -> FaultTiming:
        carried: Carried = self._run.worker.carried[occurrence.index]
        struck = self._struck(occurrence)
        begin = occurrence.begin_ns
        until = self._timeline.after(begin).to_ns
        settled = self._timeline.before(begin).from_ns
        gaps = [gap for item in struck for gap in self._gaps(item.flow)]
        stall = _longest(gaps, begin, until)
        last_ns = max((item.last_ns for item in struck), default=None)
        base_ns = self._fabric.base_rtt_ns()
        return FaultTiming(
            label=occurrence.label,
            stall_ms=_ms(stall),
            stall_base_rtts=_rounds(stall, base_ns),
            calm_gap_ms=_ms(_longest(gaps, settled, begin)),
            last_packet_ms=_ms(None if last_ns is None else last_ns - begin),
            last_packet_base_rtts=_rounds(None if last_ns is None else last_ns - begin, base_ns),
            took_ms=round(carried.took_ns / 1e6, 3),
            mending_took_ms=_ms(carried.mending_took_ns),
        )

    def _gaps(self, flow: Flow) -> Sequence[Gap]:
        statistics = receiving(flow).statistics
        if statistics is None:
            return ()
        of = self._run.clock.of
        return [Gap(of(gap.begin_ns), gap.length_ns) for gap in statistics.placement.longest]


def _longest(gaps: Sequence[Gap], from_ns: int, to_ns: int) -> int | None:
    """The longest gap that began before the end of a stretch and ended after its beginning.

    One that began before the stretch counts whole: bytes in flight then were placed in it. Agents
    keep their longest gaps only; where none is in the stretch, all in it were shorter than the
    shortest that was kept, which is the answer then.
    """
    inside = [
        gap.length_ns
        for gap in gaps
        if gap.begin_ns < to_ns and gap.begin_ns + gap.length_ns > from_ns
    ]
    return max(inside, default=min((gap.length_ns for gap in gaps), default=None))


def _failover(item: Struck, begin_ns: int, lost_share: float) -> QpFailover:
    # A packet is not seen where it is lost: the first is taken to be sent as the fault begins.
    elapsed = item.last_ns - begin_ns
    return QpFailover(
        flow=item.flow.name,
        data_packets=item.packets,
        lost=round(item.packets * lost_share),
        first_loss_ns=begin_ns,
        last_packet_ns=item.last_ns,
        srtt_ns=item.srtt_ns,
        last_packet_rtts=round(elapsed / max(1, item.srtt_ns), 3),
    )


def _packets(path: EvStatus | None) -> int:
    return 0 if path is None else path.data_packets


def _share(measured: float | None, limit: float | None) -> float | None:
    return round(measured / limit, 6) if measured is not None and limit else None


def _ms(ns: int | None) -> float | None:
    return None if ns is None else round(ns / 1e6, 3)


def _rounds(ns: int | None, base_ns: int) -> float | None:
    return None if ns is None else round(ns / base_ns, 2)
