# SPDX-License-Identifier: Apache-2.0
"""Looks at queues and flows at regular times of a run, and remembers what it saw."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from softswitch.queues import DATA
from testbed.measure import quantile
from testbed.sampled import FlowTrace, QueueDepth, Trace
from testbed.scenario import Scenario, ScenarioError
from testbed.virtual.loop import EventLoop
from testbed.virtual.switch import SwitchNode, SwitchPort
from testbed.virtual.traffic import Flow
from topologies.fabric import Fabric

_UNSIGNED_SHORT, _SIGNED_LONG = "H", "q"


class QueueSamples:
    """Packets that waited in the data queue of one switch port."""

    __slots__ = ("depths", "port", "switch", "threshold")

    def __init__(self, switch: str, port: SwitchPort, threshold: int) -> None:
        self.switch = switch
        self.port = port
        self.threshold = threshold
        """Packets at which this port trims."""
        self.depths = array(_UNSIGNED_SHORT)


class FlowSamples:
    """Window, bytes in flight and latest round trip (ns, 0 before the first) of one sender."""

    __slots__ = ("flow", "inflight", "rtt", "window")

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.window = array(_SIGNED_LONG)
        self.inflight = array(_SIGNED_LONG)
        self.rtt = array(_SIGNED_LONG)


class Sampler:
    """Samples every ``period_ns``, from 0 on until it is stopped."""

    def __init__(
        self,
        loop: EventLoop,
        period_ns: int,
        queues: Sequence[QueueSamples],
        flows: Sequence[FlowSamples],
    ) -> None:
        self.period_ns = period_ns
        self.queues = queues
        self.flows = flows
        self._loop = loop
        self._stopped = False

    def start(self) -> None:
        """Take the first sample now; nothing happens when there is nothing to look at."""
        if self.queues or self.flows:
            self._loop.at(self._loop.now, self._take)

    def stop(self) -> None:
        """Take no more samples."""
        self._stopped = True

    def _take(self, now: int, _: None) -> None:
        if self._stopped:
            return
        for queue in self.queues:
            queue.depths.append(queue.port.scheduler.depth(DATA))
        for seen in self.flows:
            qp = seen.flow.sender_qp
            seen.window.append(int(qp.requester.congestion.window))
            seen.inflight.append(qp.requester.board.inflight)
            seen.rtt.append(qp.rtt.latest_ns)
        self._loop.at(now + self.period_ns, self._take)


def make_sampler(
    scenario: Scenario,
    fabric: Fabric,
    loop: EventLoop,
    switches: Mapping[str, SwitchNode],
    flows: Sequence[Flow],
) -> Sampler:
    """What a scenario asks to be sampled; `ScenarioError` for a flow that it does not have."""
    measure = scenario.measure
    queues: list[QueueSamples] = []
    if measure.queues or scenario.expect.queue_p99_below is not None:
        queues = _all_queues(fabric, switches)
    wanted = [FlowSamples(flow) for flow in _chosen(scenario, flows)]
    return Sampler(loop, measure.sample, queues, wanted)


def _all_queues(fabric: Fabric, switches: Mapping[str, SwitchNode]) -> list[QueueSamples]:
    limits = fabric.thresholds_packets()
    found = []
    for node in fabric.switches():
        for number, port in switches[node.name].ports.items():
            last_hop = node.tier == 0 and number <= fabric.spec.nics_per_t0
            trim_at = limits.trim_last_hop if last_hop else limits.trim
            found.append(QueueSamples(node.name, port, trim_at))
    return found


def _chosen(scenario: Scenario, flows: Sequence[Flow]) -> list[Flow]:
    names = {f"{flow.sender.name}-{flow.receiver.name}" for flow in flows}
    wanted = set(scenario.measure.trace)
    unknown = sorted(wanted - names - {"all"})
    if unknown:
        raise ScenarioError(
            f"{scenario.source}: measure.trace: no flow {unknown[0]!r} "
            "(write it like h5-h1, or all)"
        )
    return [
        flow
        for flow in flows
        if "all" in wanted or f"{flow.sender.name}-{flow.receiver.name}" in wanted
    ]


def queue_depths(sampler: Sampler, from_ns: int, to_ns: int) -> list[QueueDepth]:
    """The sampled queues between two times, in the order of the fabric's switches and ports."""
    first, last = -(-from_ns // sampler.period_ns), to_ns // sampler.period_ns + 1
    found = []
    for queue in sampler.queues:
        depths = sorted(queue.depths[first:last])
        found.append(
            QueueDepth(
                switch=queue.switch,
                port=queue.port.number,
                trim_at=queue.threshold,
                samples=len(depths),
                median=quantile(depths, 50) if depths else 0,
                p99=quantile(depths, 99) if depths else 0,
                most=depths[-1] if depths else 0,
            )
        )
    return found


def trace(sampler: Sampler) -> Trace | None:
    """The sampled flows; None when there were none."""
    if not sampler.flows:
        return None
    return Trace(
        sample_ns=sampler.period_ns,
        flows=[
            FlowTrace(
                flow=seen.flow.name,
                window_bytes=seen.window.tolist(),
                inflight_bytes=seen.inflight.tolist(),
                rtt_ns=seen.rtt.tolist(),
            )
            for seen in sampler.flows
        ],
    )
