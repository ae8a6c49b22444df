# SPDX-License-Identifier: Apache-2.0
"""From a virtual world that has run to its result."""

from __future__ import annotations

from controller.tables import QUEUE_CONTROL, QUEUE_DATA, QUEUE_TRIMMED
from endpoint.events import EvChanged, PortChanged, QpChanged
from testbed.frames import CONTROL, DATA, PROBE
from testbed.maxflow import MaxFlow, Overheads
from testbed.measure import jain_index, quantile
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
    QueueBalance,
    RunResult,
    SwitchDrops,
    TopologySummary,
)
from testbed.scenario import Incast
from testbed.virtual.fault_harvest import FaultHarvest, share_of
from testbed.virtual.sampling import queue_depths, trace
from testbed.virtual.switch import (
    CLASS_DEQUEUED,
    CLASS_ENQUEUED,
    DROPS,
    MARKED,
    TRIMMED,
    SwitchNode,
)
from testbed.virtual.world import VirtualWorld
from testbed.windows import Stretch, Timeline
from testbed.workload import describe
from topologies.fabric import Fabric
from topologies.sids import ev_uplink
from topologies.timing import DATA_HEADER_BYTES, ICRC_BYTES

QUEUES_PER_PORT = 4
"""Stride of the counters by port and class (`p4src/constants.p4`)."""

_CLASSES = {QUEUE_DATA: "data", QUEUE_TRIMMED: "trimmed", QUEUE_CONTROL: "control"}
_DROP_REASONS = (
    "none",
    "parse",
    "hop limit",
    "no SID",
    "no route",
    "no profile",
    "SRH",
    "congestion",
)
_IMMEDIATE_BYTES = 4


def harvest(world: VirtualWorld) -> RunResult:
    """Everything measured; ``checks`` is empty and ``passed`` False until it is judged."""
    return _Harvest(world).result()


def overheads(fabric: Fabric) -> Overheads:
    """What a full data packet of this fabric's path MTU costs on a link."""
    # Only the last packet of a WRITE_IMM carries an immediate.
    headers = DATA_HEADER_BYTES - _IMMEDIATE_BYTES
    return Overheads(fabric.spec.path_mtu, fabric.spec.path_mtu + headers + ICRC_BYTES)


class _Harvest:
    def __init__(self, world: VirtualWorld) -> None:
        self.world = world
        self.flows = world.flows.flows
        self.timeline = Timeline(
            world.occurrences,
            world.scenario.measure,
            max((flow.first_posted_ns for flow in self.flows), default=0),
            min((flow.last_posted_ns for flow in self.flows), default=0),
            lambda switch: [w.name for w in world.wires.values() if switch in w.ends],
        )
        fabric = world.fabric
        ends = [
            (fabric.host(flow.sender.name).index, fabric.host(flow.receiver.name).index)
            for flow in self.flows
        ]
        self.maxflow = MaxFlow(fabric, ends, overheads(fabric))

    def result(self) -> RunResult:
        world, flows = self.world, self.flows
        victim, fair, jain = self._shares()
        settled, sampler = self._settled(), world.sampler
        changes, port_events = self._events()
        return RunResult(
            scenario=world.scenario.name,
            description=world.scenario.description,
            world="virtual",
            seed=world.seed,
            topology=topology_summary(world.fabric),
            workload=describe(world.scenario.workload, len(flows)),
            passed=False,
            checks=[],
            duration_ns=world.ended_ns,
            posting_end_ns=max((flow.last_posted_ns for flow in flows), default=0),
            bytes_posted=sum(flow.bytes_posted for flow in flows),
            bytes_verified=sum(flow.bytes_verified for flow in flows),
            bytes_wrong=sum(flow.bytes_wrong for flow in flows),
            completion_times=self._completion_times(),
            flows=[self._flow(row) for row in range(len(flows))],
            packets=self._packets(),
            losses=self._losses(),
            switch_drops=self._switch_drops(),
            faults=FaultHarvest(world, self.timeline, self.maxflow).results(),
            goodput=GoodputSeries(
                bin_ns=world.goodput.bin_ns, planes=world.goodput.series_gbps(world.ended_ns)
            ),
            maxflow=self._maxflow(),
            maxflow_formula=overheads(world.fabric).formula(),
            victim_share=victim,
            fair_share=fair,
            ev_changes=changes,
            port_events=port_events,
            queues=[q for node in world.switches.values() for q in _queues(node)],
            port_use=self._port_use(),
            congestion=world.scenario.endpoint.congestion,
            jain_index=jain,
            queue_depths=queue_depths(sampler, settled.from_ns, settled.to_ns),
            trace=trace(sampler),
            map=None if world.mapper is None else world.mapper.result(world.occurrences),
        )

    # -- flows --------------------------------------------------------------------------------

    def _completion_times(self) -> list[CompletionTimes]:
        groups: dict[str, list[int]] = {"all": []}
        for flow in self.flows:
            groups["all"].extend(flow.completion_ns)
            groups.setdefault(flow.group, []).extend(flow.completion_ns)
        if self.world.flows.ring is not None:
            groups["round"] = self.world.flows.ring.round_ns
        return [_times(name, sorted(values)) for name, values in groups.items() if values]

    def _settled(self) -> Stretch:
        """From the settled start of all flows to when the first of them has no more to post."""
        settle = self.world.scenario.measure.settle
        return Stretch(self.timeline.from_ns + settle, self.timeline.to_ns)

    def _flow(self, row: int) -> FlowResult:
        flow, stretch = self.flows[row], self._settled()
        return FlowResult(
            name=flow.name,
            group=flow.group,
            source=flow.sender.name,
            destination=flow.receiver.name,
            messages_posted=flow.posted,
            messages_completed=len(flow.completion_ns),
            bytes_verified=flow.bytes_verified,
            goodput_gbps=self._mean(row, stretch.from_ns, stretch.to_ns) or 0.0,
            srtt_ns=flow.srtt_ns,
            error=flow.error,
        )

    def _mean(self, row: int, from_ns: int, to_ns: int) -> float | None:
        return self.world.flow_goodput.mean_gbps(from_ns, to_ns, row)

    def _shares(self) -> tuple[float | None, float | None, float | None]:
        """The victim's share, the fair share, and Jain's index."""
        workload, settle = self.world.scenario.workload, self.world.scenario.measure.settle
        stretch, victim = self._settled(), None
        if isinstance(workload, Incast) and workload.victim is not None:
            row = next(i for i, flow in enumerate(self.flows) if flow.group == "victim")
            before = self._mean(row, settle, workload.start)
            during = self._mean(row, stretch.from_ns, stretch.to_ns)
            if before and during is not None:
                victim = round(during / before, 6)
        means = [
            self._mean(row, stretch.from_ns, stretch.to_ns)
            for row, flow in enumerate(self.flows)
            if flow.group != "victim"
        ]
        known = [mean for mean in means if mean is not None]
        fair = round(min(known) * len(known) / sum(known), 6) if any(known) else None
        return victim, fair, jain_index(known)

    # -- packets ------------------------------------------------------------------------------

    def _packets(self) -> PacketTotals:
        world, losses = self.world, self.world.losses
        senders = [flow.sender_qp.stats for flow in self.flows]
        receivers = [flow.receiver_qp.stats for flow in self.flows]
        switches = world.switches.values()
        return PacketTotals(
            data_sent=sum(s.data_sent for s in senders),
            data_retransmitted=sum(s.retransmitted for s in senders),
            data_placed=sum(r.data_received - r.duplicates for r in receivers),
            duplicates=sum(r.duplicates for r in receivers),
            trimmed=sum(sum(node.counts(TRIMMED)) for node in switches),
            marked=sum(sum(node.counts(MARKED)) for node in switches),
            data_lost=losses.total(DATA),
            control_sent=sum(h.nic.stats.frames_sent for h in world.hosts)
            - sum(s.data_sent for s in senders),
            control_lost=losses.total(CONTROL),
            probes_lost=losses.total(PROBE),
            congestion_drops=sum(
                node.counts(DROPS)[_DROP_REASONS.index("congestion")] for node in switches
            ),
            timers_fired=sum(s.timeouts for s in senders),
        )

    def _losses(self) -> list[LossCount]:
        return [
            LossCount(place=place, cause=cause, data=n[DATA], control=n[CONTROL], probes=n[PROBE])
            for (place, cause), n in sorted(self.world.losses.by_place.items())
        ]

    def _switch_drops(self) -> list[SwitchDrops]:
        found = []
        for node in self.world.switches.values():
            for reason, packets in zip(_DROP_REASONS, node.counts(DROPS), strict=True):
                if packets:
                    found.append(SwitchDrops(switch=node.name, reason=reason, packets=packets))
            full = sum(sum(port.scheduler.dropped) for port in node.ports.values())
            if full:
                found.append(SwitchDrops(switch=node.name, reason="queue full", packets=full))
            if node.no_such_port:
                found.append(
                    SwitchDrops(switch=node.name, reason="no such port", packets=node.no_such_port)
                )
        return found

    # -- paths, ports -------------------------------------------------------------------------

    def _events(self) -> tuple[list[EvChange], list[PortEvent]]:
        changes, ports = [], []
        for host, event in self.world.events:
            match event:
                case EvChanged():
                    flow = self.world.flows.of_qp(host, event.qpn)
                    changes.append(
                        EvChange(
                            time_ns=event.time_ns,
                            flow=flow.name if flow is not None else "",
                            host=host,
                            ev=event.ev,
                            plane=event.plane,
                            uplink=ev_uplink(event.ev),
                            old=event.old,
                            new=event.new,
                            cause=event.cause,
                        )
                    )
                case PortChanged():
                    whose = "peer's port" if event.remote else "port"
                    state = "usable" if event.usable else "not usable"
                    text = f"{whose} {event.port} {state}"
                    ports.append(PortEvent(time_ns=event.time_ns, host=host, text=text))
                case QpChanged():
                    text = f"QP {event.qpn} {event.old} → {event.new} {event.reason}".rstrip()
                    ports.append(PortEvent(time_ns=event.time_ns, host=host, text=text))
        changes.sort(key=lambda change: change.time_ns)
        ports.sort(key=lambda event: event.time_ns)
        return changes, ports

    def _port_use(self) -> list[PortUse]:
        stretch, samples = self._settled(), self.world.busy_samples
        inside = [s for s in samples if stretch.from_ns <= s[0] <= stretch.to_ns]
        if len(inside) < 2:
            return []
        (from_ns, first), (to_ns, last) = inside[0], inside[-1]
        use = []
        sending = {flow.sender.name for flow in self.flows}
        for index, host in enumerate(self.world.hosts):
            for port, (start, end) in enumerate(zip(first[index], last[index], strict=True)):
                if host.name in sending:
                    share = round((end - start) / (to_ns - from_ns), 4)
                    use.append(PortUse(host=host.name, port=port, busy_share=share))
        return use

    def _maxflow(self) -> list[MaxFlowStretch]:
        found = []
        for stretch in self.timeline.stretches():
            dead = self.timeline.dead_links(stretch.from_ns)
            limit = self.maxflow.gbps(dead)
            measured = self.world.goodput.mean_gbps(stretch.from_ns, stretch.to_ns)
            found.append(
                MaxFlowStretch(
                    from_ns=stretch.from_ns,
                    to_ns=max(stretch.from_ns, stretch.to_ns),
                    dead_links=len(dead),
                    gbps=limit,
                    measured_gbps=measured,
                    share=share_of(measured, limit),
                )
            )
        return found


def _times(group: str, ordered: list[int]) -> CompletionTimes:
    return CompletionTimes(
        group=group,
        completed=len(ordered),
        median_ns=quantile(ordered, 50),
        p99_ns=quantile(ordered, 99),
        max_ns=ordered[-1],
    )


def _queues(node: SwitchNode) -> list[QueueBalance]:
    """Every queue that a packet entered or left: one that only gave out is uneven, too."""
    taken, given = node.counts(CLASS_ENQUEUED), node.counts(CLASS_DEQUEUED)
    return [
        QueueBalance(
            switch=node.name,
            port=port,
            traffic_class=name,
            enqueued=taken[port * QUEUES_PER_PORT + queue],
            dequeued=given[port * QUEUES_PER_PORT + queue],
            lost_in_stop=node.lost_in_stop.get((port, queue), 0),
        )
        for port in node.ports
        for queue, name in _CLASSES.items()
        if taken[port * QUEUES_PER_PORT + queue] or given[port * QUEUES_PER_PORT + queue]
    ]


def topology_summary(fabric: Fabric) -> TopologySummary:
    """The dimensions that a reader needs beside the figures."""
    spec = fabric.spec
    return TopologySummary(
        name=spec.name,
        hosts=fabric.nic_count,
        planes=spec.planes,
        t0s_per_plane=spec.t0s,
        t1s_per_plane=spec.t1s,
        nic_t0_gbps=fabric.nic_rate_bps / 1e9,
        t0_t1_gbps=fabric.uplink_rate_bps / 1e9,
        path_mtu=spec.path_mtu,
        base_rtt_ns=fabric.base_rtt_ns(),
        bdp_bytes=fabric.bdp_bytes,
    )
