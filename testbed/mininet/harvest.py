# SPDX-License-Identifier: Apache-2.0
"""From a run with real packets to its result: the same record as of a run in virtual time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from endpoint.agent.values import FramesDropped, QpStatistics
from endpoint.events import EvChanged, PortChanged, QpChanged
from testbed.maxflow import MaxFlow, Overheads
from testbed.measure import jain_index, quantile
from testbed.mininet import switch_figures
from testbed.mininet.agents import data_frames_per_second, data_queue_rate
from testbed.mininet.fault_figures import FaultFigures, as_happened
from testbed.mininet.flows import receiving, sending
from testbed.mininet.goodput import goodput
from testbed.mininet.scenario_run import ScenarioRun
from testbed.mininet.switch_figures import SwitchFigures
from testbed.real_time import MachineDrops, RealTime
from testbed.results import (
    CompletionTimes,
    EvChange,
    FlowResult,
    GoodputSeries,
    LossCount,
    MaxFlowStretch,
    PacketTotals,
    PortEvent,
    PortUse,
    RunResult,
)
from testbed.scenario import Incast
from testbed.virtual.harvest import overheads, topology_summary
from testbed.windows import Stretch, Timeline
from testbed.workload import describe
from topologies.fabric import Fabric
from topologies.sids import ev_uplink
from topologies.timing import ETHERNET_OVERHEAD_BYTES


@dataclass(frozen=True, slots=True)
class DataQueueShare(Overheads):
    """BMv2: data has a queue with a packet rate of its own, whatever control does beside it."""

    packets_per_second: int
    rate_bps: int

    def share(self, *, with_sacks: bool) -> float:
        return self.payload * 8 * self.packets_per_second / self.rate_bps

    def formula(self) -> str:
        return (
            f"goodput = {self.packets_per_second} packets/s × {self.payload} B at "
            f"{self.rate_bps / 1e6:g} Mb/s, as BMv2's data queue lets through"
        )


def limits(fabric: Fabric, switch_kind: str) -> tuple[Overheads, float]:
    """What of a link's rate is left for payload with this kind of switch, and what a NIC port
    sends of it at most, in bit/s."""
    plain = overheads(fabric)
    queue = data_queue_rate(fabric, switch_kind)
    sending_bps = data_frames_per_second(fabric, switch_kind) * plain.payload * 8.0
    if queue is None:
        return plain, sending_bps
    return DataQueueShare(plain.payload, plain.frame, queue, fabric.nic_rate_bps), sending_bps


class Harvest:
    """Reads a finished run. `described`: the fabric before it was slowed down."""

    def __init__(self, run: ScenarioRun, described: Fabric, time_scale: float) -> None:
        self.run = run
        self.described = described
        self.time_scale = time_scale
        self.fabric = run.live.fabric
        self.flows = run.flows.flows
        self.switches = SwitchFigures(run)
        self.timeline = Timeline(
            as_happened(run),
            run.scenario.measure,
            max((flow.first_posted_ns for flow in self.flows), default=0),
            min((flow.last_posted_ns for flow in self.flows), default=0),
            self._links_of_switch,
        )
        ends = [
            (self.fabric.host(flow.sender.name).index, self.fabric.host(flow.receiver.name).index)
            for flow in self.flows
        ]
        self.overheads, self.sending_bps = limits(self.fabric, run.live.switch_kind)
        self.maxflow = MaxFlow(self.fabric, ends, self.overheads, self.sending_bps)
        self.by_plane, self.by_flow = goodput(
            self.flows,
            run.samples,
            run.clock.zero_ns,
            run.scenario.measure.bin,
            self.fabric.spec.planes,
        )
        self.faults = FaultFigures(run, self.timeline, self.maxflow, self.by_plane)

    def _links_of_switch(self, switch: str) -> list[str]:
        ports = self.fabric.switch_ports(self.fabric.switch(switch))
        return [self.fabric.link_at(switch, port).name for port in ports]

    def result(self) -> RunResult:
        """Everything measured; `checks` is empty and `passed` False until it is judged."""
        run, flows = self.run, self.flows
        victim, fair, jain = self._shares()
        changes, port_events = self._events()
        return RunResult(
            scenario=run.scenario.name,
            description=run.scenario.description,
            world="mininet",
            seed=run.seed,
            time_scale=self.time_scale,
            topology=topology_summary(self.fabric),
            workload=describe(run.scenario.workload, len(flows)),
            passed=False,
            checks=[],
            duration_ns=run.ended_ns,
            posting_end_ns=max((flow.last_posted_ns for flow in flows), default=0),
            bytes_posted=sum(flow.bytes_posted for flow in flows),
            bytes_verified=sum(flow.bytes_verified for flow in flows),
            bytes_wrong=sum(flow.bytes_wrong for flow in flows),
            completion_times=self._completion_times(),
            flows=[self._flow(row) for row in range(len(flows))],
            packets=self._packets(),
            losses=self._losses(),
            switch_drops=list(self.switches.drops()),
            faults=self.faults.results(),
            goodput=GoodputSeries(
                bin_ns=self.by_plane.bin_ns, planes=self.by_plane.series_gbps(run.ended_ns)
            ),
            maxflow=self._maxflow(),
            maxflow_formula=f"{self.overheads.formula()}; a NIC port sends at most "
            f"{self.sending_bps / 8 / self.overheads.payload:g} packets/s",
            victim_share=victim,
            fair_share=fair,
            jain_index=jain,
            congestion=run.scenario.endpoint.congestion,
            ev_changes=changes,
            port_events=port_events,
            queues=list(self.switches.queues()),
            port_use=self._port_use(),
            real_time=self._real_time(),
        )

    def _real_time(self) -> RealTime:
        fastest = [sending(flow).rtt.min_ns for flow in self.flows]
        known = [ns for ns in fastest if ns]
        return RealTime(
            switch=self.run.live.switch_kind,
            described_nic_gbps=self.described.nic_rate_bps / 1e9,
            nic_mbps=round(self.fabric.nic_rate_bps / 1e6, 6),
            data_packets_per_second=data_frames_per_second(self.fabric, self.run.live.switch_kind),
            min_rtt_us=round(min(known) / 1000, 3) if known else None,
            faults=self.faults.timings(),
            machine_drops=[*self._agents_drops(), *self.switches.unread()],
        )

    # -- flows --------------------------------------------------------------------------------

    def _completion_times(self) -> list[CompletionTimes]:
        groups: dict[str, list[int]] = {"all": []}
        for flow in self.flows:
            groups["all"].extend(flow.completion_ns)
            groups.setdefault(flow.group, []).extend(flow.completion_ns)
        if self.run.flows.ring is not None:
            groups["round"] = self.run.flows.ring.round_ns
        return [_times(name, sorted(values)) for name, values in groups.items() if values]

    def _settled(self) -> Stretch:
        """From the settled start of all flows to when the first of them has no more to post."""
        return Stretch(
            self.timeline.from_ns + self.run.scenario.measure.settle, self.timeline.to_ns
        )

    def _flow(self, row: int) -> FlowResult:
        flow, stretch = self.flows[row], self._settled()
        mean = self.by_flow.mean_gbps(stretch.from_ns, stretch.to_ns, row)
        return FlowResult(
            name=flow.name,
            group=flow.group,
            source=flow.sender.name,
            destination=flow.receiver.name,
            messages_posted=flow.posted,
            messages_completed=len(flow.completion_ns),
            bytes_verified=flow.bytes_verified,
            goodput_gbps=mean or 0.0,
            srtt_ns=flow.srtt_ns,
            error=flow.error,
        )

    def _shares(self) -> tuple[float | None, float | None, float | None]:
        """The victim's share, the fair share, and Jain's index."""
        workload, settle = self.run.scenario.workload, self.run.scenario.measure.settle
        stretch, victim = self._settled(), None
        if isinstance(workload, Incast) and workload.victim is not None:
            row = next(i for i, flow in enumerate(self.flows) if flow.group == "victim")
            before = self.by_flow.mean_gbps(settle, workload.start, row)
            during = self.by_flow.mean_gbps(stretch.from_ns, stretch.to_ns, row)
            if before and during is not None:
                victim = round(during / before, 6)
        means = [
            self.by_flow.mean_gbps(stretch.from_ns, stretch.to_ns, row)
            for row, flow in enumerate(self.flows)
            if flow.group != "victim"
        ]
        known = [mean for mean in means if mean is not None]
        fair = round(min(known) * len(known) / sum(known), 6) if any(known) else None
        return victim, fair, jain_index(known)

    # -- packets ------------------------------------------------------------------------------

    def _packets(self) -> PacketTotals:
        senders = [_counters(sending(flow).statistics) for flow in self.flows]
        receivers = [_counters(receiving(flow).statistics) for flow in self.flows]
        data_sent = sum(counters["data_sent"] for counters in senders)
        frames = sum(samples[-1].nic["frames_sent"] for samples in self.run.samples.values())
        losses = self._losses()
        return PacketTotals(
            data_sent=data_sent,
            data_retransmitted=sum(c["retransmitted"] for c in senders),
            data_placed=sum(c["data_received"] - c["duplicates"] for c in receivers),
            duplicates=sum(c["duplicates"] for c in receivers),
            trimmed=self.switches.total(switch_figures.TRIMMED),
            marked=self.switches.total(switch_figures.MARKED),
            data_lost=sum(loss.data for loss in losses),
            control_sent=max(0, frames - data_sent),
            control_lost=sum(loss.control for loss in losses),
            probes_lost=sum(loss.probes for loss in losses),
            congestion_drops=self.switches.total(switch_figures.DROPS, switch_figures.CONGESTION),
            timers_fired=sum(c["timeouts"] for c in senders),
        )

    def _losses(self) -> list[LossCount]:
        found = []
        for index, damage in self.run.breaker.damage.items():
            counted = self.run.breaker.counted(index)
            found.append(
                LossCount(
                    place=damage.place,
                    cause=damage.cause,
                    data=counted.data,
                    control=counted.control,
                    probes=counted.probes,
                )
            )
        return found

    def _agents_drops(self) -> list[MachineDrops]:
        return [
            MachineDrops(node=host, port=event.port, place=event.place, frames=event.frames)
            for host, event in self.run.events
            if isinstance(event, FramesDropped)
        ]

    # -- paths, ports -------------------------------------------------------------------------

    def _events(self) -> tuple[list[EvChange], list[PortEvent]]:
        changes, ports = [], []
        for host, event in self.run.events:
            time_ns = self.run.clock.of(event.time_ns)
            if isinstance(event, EvChanged):
                flow = self.run.flows.of_qp(host, event.qpn)
                if flow is not None:
                    changes.append(_ev_change(host, flow.name, event, time_ns))
            elif isinstance(event, PortChanged):
                whose = "peer's port" if event.remote else "port"
                state = "usable" if event.usable else "not usable"
                text = f"{whose} {event.port} {state}"
                ports.append(PortEvent(time_ns=time_ns, host=host, text=text))
            elif isinstance(event, QpChanged):
                text = f"QP {event.qpn} {event.old} → {event.new} {event.reason}".rstrip()
                ports.append(PortEvent(time_ns=time_ns, host=host, text=text))
        changes.sort(key=lambda change: change.time_ns)
        ports.sort(key=lambda event: event.time_ns)
        return changes, ports

    def _port_use(self) -> list[PortUse]:
        stretch, rate = self._settled(), self.fabric.nic_rate_bps
        use = []
        for host in dict.fromkeys(flow.sender.name for flow in self.flows):
            samples = self.run.samples[host]
            times = [self.run.clock.of(sample.time_ns) for sample in samples]
            first, last = bisect_left(times, stretch.from_ns), bisect_left(times, stretch.to_ns) - 1
            if last <= first:
                continue
            for old, new in zip(samples[first].ports, samples[last].ports, strict=True):
                frames = new.frames_sent - old.frames_sent
                on_link = new.bytes_sent - old.bytes_sent + frames * ETHERNET_OVERHEAD_BYTES
                busy = on_link * 8e9 / (rate * (times[last] - times[first]))
                use.append(PortUse(host=host, port=old.port, busy_share=round(busy, 4)))
        return use

    def _maxflow(self) -> list[MaxFlowStretch]:
        found = []
        for stretch in self.timeline.stretches():
            dead = self.timeline.dead_links(stretch.from_ns)
            limit = self.maxflow.gbps(dead)
            measured = self.by_plane.mean_gbps(stretch.from_ns, stretch.to_ns)
            share = round(measured / limit, 6) if measured is not None and limit else None
            found.append(
                MaxFlowStretch(
                    from_ns=stretch.from_ns,
                    to_ns=max(stretch.from_ns, stretch.to_ns),
                    dead_links=len(dead),
                    gbps=limit,
                    measured_gbps=measured,
                    share=share,
                )
            )
        return found


def _ev_change(host: str, flow: str, event: EvChanged, time_ns: int) -> EvChange:
    return EvChange(
        time_ns=time_ns,
        flow=flow,
        host=host,
        ev=event.ev,
        plane=event.plane,
        uplink=ev_uplink(event.ev),
        old=event.old,
        new=event.new,
        cause=event.cause,
    )


def _times(group: str, ordered: Sequence[int]) -> CompletionTimes:
    return CompletionTimes(
        group=group,
        completed=len(ordered),
        median_ns=quantile(ordered, 50),
        p99_ns=quantile(ordered, 99),
        max_ns=ordered[-1],
    )


def _counters(statistics: QpStatistics | None) -> dict[str, int]:
    assert statistics is not None, "every queue pair's statistics are read at the end"
    return statistics.counters
