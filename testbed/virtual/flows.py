# SPDX-License-Identifier: Apache-2.0
"""All traffic of a run: QPs opened and connected, completions handed to who waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from endpoint.events import Completion, WorkOpcode
from testbed.losses import FlowKey
from testbed.scenario import RingAllReduce, Scenario, ScenarioError
from testbed.virtual.connect import connect
from testbed.virtual.host import HostNode
from testbed.virtual.loop import EventLoop
from testbed.virtual.ring import RingHost, RingTraffic
from testbed.virtual.traffic import Flow, FlowTraffic
from testbed.workload import DataPool, flow_plans, message_data, pairs, ring_plan
from topologies.fabric import Fabric
from topologies.sids import ev_plane, ev_uplink

_Handler = Callable[[Completion, int], None]


class FlowBook:
    """The flows of a scenario over these hosts (in order of their index)."""

    def __init__(
        self,
        loop: EventLoop,
        fabric: Fabric,
        scenario: Scenario,
        hosts: Sequence[HostNode],
        seed: int,
    ) -> None:
        self.flows: list[Flow] = []
        self.by_wire: dict[FlowKey, Flow] = {}
        self._by_qp: dict[tuple[str, int], Flow] = {}
        self.ring: RingTraffic | None = None
        self._loop = loop
        self._fabric = fabric
        self._scenario = scenario
        self._hosts = hosts
        self._traffic: list[FlowTraffic] = []
        self._sent: dict[tuple[str, int], _Handler] = {}
        self._received: dict[tuple[str, int], _Handler] = {}
        if isinstance(scenario.workload, RingAllReduce):
            self._build_ring(scenario.workload, seed)
        else:
            self._build_flows(seed)
        for host in hosts:
            host.on_progress = self._progressed

    def _build_flows(self, seed: int) -> None:
        workload = self._scenario.workload
        assert not isinstance(workload, RingAllReduce)
        names = [host.name for host in self._hosts]
        plans = flow_plans(workload, names, seed)
        data = message_data(workload, seed)
        for item in plans:
            slots = FlowTraffic.slots_for(item)
            flow = self._open(item.group, item.source, item.destination, slots * item.message_bytes)
            traffic = FlowTraffic(item, flow, data, slots)
            self._traffic.append(traffic)
            self._wait(flow, traffic.sent, traffic.received)

    def _build_ring(self, workload: RingAllReduce, seed: int) -> None:
        names = [host.name for host in self._hosts]
        item = ring_plan(workload, len(names))
        for group, source, target in pairs(workload, names, seed):
            self._open(group, source, target, RingTraffic.region_bytes(item))
        self.ring = RingTraffic(item, self.flows, DataPool(seed, workload.buffer_bytes))
        for sender, receiver in zip(
            self.ring.hosts, self.ring.hosts[1:] + self.ring.hosts[:1], strict=True
        ):
            self._wait(sender.right, sender.sent, receiver.received)

    def _open(self, group: str, source: int, target: int, region_bytes: int) -> Flow:
        flow = connect(
            self._scenario.endpoint,
            index=len(self.flows),
            group=group,
            sender=self._hosts[source],
            receiver=self._hosts[target],
            region_bytes=region_bytes,
        )
        self.flows.append(flow)
        self.by_wire[self._fabric.host_at(target).address, flow.receiver_qp.qpn] = flow
        self._by_qp[flow.sender.name, flow.sender_qp.qpn] = flow
        self._by_qp[flow.receiver.name, flow.receiver_qp.qpn] = flow
        return flow

    def _wait(self, flow: Flow, sent: _Handler, received: _Handler) -> None:
        self._sent[flow.sender.name, flow.sender_qp.qpn] = sent
        self._received[flow.receiver.name, flow.receiver_qp.qpn] = received

    def _progressed(self, host: HostNode, now: int) -> None:
        for completion in host.nic.poll_completions():
            book = self._received if completion.opcode is WorkOpcode.RECV_WRITE_IMM else self._sent
            book[host.name, completion.qpn](completion, now)

    # -- what a run asks ----------------------------------------------------------------------

    def start(self) -> None:
        """Schedule the first posts."""
        if self.ring is not None:
            for ring_host in self.ring.hosts:
                self._loop.at(0, self._start_ring_host, ring_host)
        for traffic in self._traffic:
            self._loop.at(traffic.plan.start_ns, self._start_flow, traffic)

    def _start_ring_host(self, now: int, ring_host: RingHost) -> None:
        ring_host.start(now)
        ring_host.right.sender.pump(now)

    def _start_flow(self, now: int, traffic: FlowTraffic) -> None:
        traffic.start(now)
        traffic.flow.sender.pump(now)

    @property
    def done(self) -> bool:
        """Whether nothing is open and nothing more will be posted."""
        if self.ring is not None:
            return self.ring.done
        return all(traffic.done for traffic in self._traffic)

    def finish(self) -> None:
        """Last comparison of everything that still lies where it was written."""
        for traffic in self._traffic:
            traffic.finish()

    def srtt_ns(self, key: FlowKey) -> int:
        """The sender's smoothed round trip of the flow that a frame belongs to."""
        return self.by_wire[key].srtt_ns

    def uplink_in_use(self, source: str, destination: str, plane: int) -> int:
        """An uplink that the flow from one host to another sends over in a plane now.

        `ScenarioError` when the workload has no such flow, or it uses no path there.
        """
        for flow in self.flows:
            if (flow.sender.name, flow.receiver.name) == (source, destination):
                for ev in flow.sender_qp.evs.active():
                    if ev_plane(ev) == plane:
                        return ev_uplink(ev)
        raise ScenarioError(
            f"{self._scenario.source}: faults: no flow {source}→{destination} has a path "
            f"in use in plane {plane}"
        )

    def of_qp(self, host: str, qpn: int) -> Flow | None:
        """The flow that a QP of a host belongs to, at either end."""
        return self._by_qp.get((host, qpn))
