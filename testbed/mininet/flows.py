# SPDX-License-Identifier: Apache-2.0
"""The flows of a workload over real agents.

Both ends of a flow have their memory in files of the run's folder, which this process maps too:
it puts each message in place before it is posted, and compares every byte where it arrives. The
traffic itself (`testbed.virtual.traffic`, `testbed.virtual.ring`) is the same as in virtual time;
here are the queue pairs and regions that it acts on.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from endpoint.agent.client import AgentClient, connect_pair
from endpoint.agent.values import EvStatus, QpOptions, QpStatistics, Region, WriteWork
from endpoint.events import Completion, WorkOpcode
from testbed.scenario import EndpointOptions, RingAllReduce, Scenario, ScenarioError
from testbed.virtual.ring import RingTraffic
from testbed.virtual.traffic import Flow, FlowTraffic
from testbed.workload import DataPool, flow_plans, message_data, pairs, ring_plan
from topologies.fabric import Fabric


@dataclass(frozen=True, slots=True)
class HostEnd:
    """A host, as a flow's end."""

    name: str
    client: AgentClient


@dataclass(slots=True)
class MappedRegion:
    """A registered region whose file is mapped here as well."""

    region: Region
    buffer: memoryview

    @property
    def va(self) -> int:
        return self.region.va

    @property
    def rkey(self) -> int:
        return self.region.rkey


class RoundTrip:
    """What is known of a queue pair's round trip, from its newest statistics."""

    smoothed_ns = 0
    min_ns = 0


class SendingQp:
    """The sending end. Messages are staged in a ring of slots of its own region."""

    def __init__(self, end: HostEnd, qpn: int, staging: MappedRegion, slot_bytes: int) -> None:
        self.qpn = qpn
        self.rtt = RoundTrip()
        self.statistics: QpStatistics | None = None
        self._end = end
        self._staging = staging
        self._slot_bytes = slot_bytes
        self._slots = max(1, len(staging.buffer) // slot_bytes)

    def post_write(
        self,
        wr_id: int,
        data: memoryview,
        remote_va: int,
        rkey: int,
        imm: int | None = None,
        *,
        now_ns: int,
    ) -> None:
        """Put the bytes into the next slot and post them; `now_ns` is the caller's own."""
        offset = wr_id % self._slots * self._slot_bytes
        self._staging.buffer[offset : offset + len(data)] = data
        work = WriteWork(
            wr_id, self._staging.region.region_id, offset, len(data), remote_va, rkey, imm
        )
        self._end.client.post_writes(self.qpn, [work])

    def take(self, statistics: QpStatistics) -> None:
        """Newer statistics of this queue pair."""
        self.statistics = statistics
        self.rtt.smoothed_ns = statistics.smoothed_rtt_ns
        self.rtt.min_ns = statistics.min_rtt_ns

    def paths(self) -> Sequence[EvStatus]:
        """Every path, as its agent has it now."""
        return self._end.client.evs(self.qpn)


class ReceivingQp:
    """The receiving end."""

    def __init__(self, end: HostEnd, qpn: int) -> None:
        self.qpn = qpn
        self.statistics: QpStatistics | None = None
        self._end = end

    def post_recv(self, wr_id: int) -> None:
        self._end.client.post_receives(self.qpn, [wr_id])


def qp_options(options: EndpointOptions) -> QpOptions:
    """A scenario's endpoint options as an agent takes them."""
    return QpOptions(evs=options.evs, timeout=options.timeout, congestion=options.congestion)


_Handler = Callable[[Completion, int], None]


class Flows:
    """All flows of a scenario on a fabric, between hosts that have agents (`ends`, by name)."""

    def __init__(
        self, scenario: Scenario, fabric: Fabric, ends: dict[str, HostEnd], folder: Path
    ) -> None:
        self.flows: list[Flow] = []
        self.traffic: list[FlowTraffic] = []
        self.ring: RingTraffic | None = None
        self.completed_ns: dict[int, dict[int, int]] = {}
        """By flow and message: when the sender's completion came."""
        self._scenario = scenario
        self._ends = ends
        self._names = [host.name for host in fabric.hosts]
        self._path_mtu = fabric.spec.path_mtu
        self._folder = folder
        self._by_qp: dict[tuple[str, int], Flow] = {}
        self._sent: dict[tuple[str, int], _Handler] = {}
        self._received: dict[tuple[str, int], _Handler] = {}

    def open(self, seed: int) -> None:
        """Make queue pairs and regions, and connect them."""
        workload = self._scenario.workload
        if isinstance(workload, RingAllReduce):
            self._open_ring(workload, seed)
            return
        data = message_data(workload, seed)
        for plan in flow_plans(workload, self._names, seed):
            slots = FlowTraffic.slots_for(plan)
            flow = self._open(
                plan.group,
                plan.source,
                plan.destination,
                slots * plan.message_bytes,
                2 * plan.in_flight * plan.message_bytes,
                plan.message_bytes,
            )
            traffic = FlowTraffic(plan, flow, data, slots)
            self.traffic.append(traffic)
            self._wait(flow, traffic.sent, traffic.received)

    def _open_ring(self, workload: RingAllReduce, seed: int) -> None:
        plan = ring_plan(workload, len(self._names))
        size = RingTraffic.region_bytes(plan)
        for group, source, target in pairs(workload, self._names, seed):
            self._open(group, source, target, size, size, plan.chunk_bytes)
        self.ring = RingTraffic(plan, self.flows, DataPool(seed, workload.buffer_bytes))
        after = self.ring.hosts[1:] + self.ring.hosts[:1]
        for sender, receiver in zip(self.ring.hosts, after, strict=True):
            self._wait(sender.right, sender.sent, receiver.received)

    def _open(
        self,
        group: str,
        source: int,
        target: int,
        region_bytes: int,
        staging_bytes: int,
        slot_bytes: int,
    ) -> Flow:
        index = len(self.flows)
        sender, receiver = self._ends[self._names[source]], self._ends[self._names[target]]
        options = qp_options(self._scenario.endpoint)
        near, far = connect_pair(sender.client, receiver.client, options)
        staging = self._map(sender, f"flow{index}.source", staging_bytes, remote_write=False)
        region = self._map(receiver, f"flow{index}.target", region_bytes, remote_write=True)
        flow = Flow(
            index=index,
            name=f"{sender.name}→{receiver.name}",
            group=group,
            sender=sender,
            receiver=receiver,
            sender_qp=SendingQp(sender, near.qpn, staging, slot_bytes),
            receiver_qp=ReceivingQp(receiver, far.qpn),
            region=region,
        )
        self.flows.append(flow)
        self.completed_ns[index] = {}
        self._by_qp[sender.name, near.qpn] = flow
        self._by_qp[receiver.name, far.qpn] = flow
        return flow

    def _map(self, end: HostEnd, name: str, length: int, *, remote_write: bool) -> MappedRegion:
        path = self._folder / name
        with path.open("wb+") as file:
            file.truncate(length)
            view = memoryview(mmap.mmap(file.fileno(), length))
        region = end.client.register_memory(
            length, file=str(path), create=True, remote_write=remote_write
        )
        return MappedRegion(region, view)

    def _wait(self, flow: Flow, sent: _Handler, received: _Handler) -> None:
        self._sent[flow.sender.name, flow.sender_qp.qpn] = sent
        self._received[flow.receiver.name, flow.receiver_qp.qpn] = received

    # -- what a run asks ----------------------------------------------------------------------

    def completion(self, host: str, completion: Completion, now_ns: int) -> None:
        """A host's completion, at its time of the run: verify, and go on."""
        key = (host, completion.qpn)
        if completion.opcode is WorkOpcode.RECV_WRITE_IMM:
            self._received[key](completion, now_ns)
            return
        self.completed_ns[self._by_qp[key].index][completion.wr_id] = now_ns
        self._sent[key](completion, now_ns)

    @property
    def done(self) -> bool:
        """Whether nothing is open and nothing more will be posted."""
        if self.ring is not None:
            return self.ring.done
        return all(traffic.done for traffic in self.traffic)

    def close(self) -> None:
        """Destroy all queue pairs: nothing more is sent, probes of dead paths included."""
        for flow in self.flows:
            for end, qpn in (
                (flow.sender, flow.sender_qp.qpn),
                (flow.receiver, flow.receiver_qp.qpn),
            ):
                end.client.destroy_qp(qpn)

    def finish(self) -> None:
        """Last comparison of everything that still lies where it was written."""
        for traffic in self.traffic:
            traffic.finish()

    def packets(self, flow: Flow) -> list[int]:
        """Packets of each message that was posted, in order."""
        mtu = self._path_mtu
        if self.ring is not None:
            return [_packets(self.ring.plan.chunk_bytes, mtu)] * flow.posted
        plan = self.traffic[flow.index].plan
        return [_packets(plan.length(number), mtu) for number in range(flow.posted)]

    def of_qp(self, host: str, qpn: int) -> Flow | None:
        """The flow that a queue pair of a host belongs to, at either end."""
        return self._by_qp.get((host, qpn))

    def uplink_in_use(self, source: str, destination: str, plane: int) -> int:
        """An uplink that the flow from one host to another sends over in a plane now.

        ScenarioError when the workload has no such flow, or it uses no path there.
        """
        for flow in self.flows:
            if (flow.sender.name, flow.receiver.name) == (source, destination):
                for path in sending(flow).paths():
                    if path.plane == plane and path.in_use:
                        return path.uplink
        raise ScenarioError(
            f"{self._scenario.source}: faults: no flow {source}→{destination} has a path "
            f"in use in plane {plane}"
        )


def _packets(length: int, mtu: int) -> int:
    return max(1, -(-length // mtu))


def sending(flow: Flow) -> SendingQp:
    """The sending end of a flow that was opened here."""
    qp = flow.sender_qp
    assert isinstance(qp, SendingQp)
    return qp


def receiving(flow: Flow) -> ReceivingQp:
    """The receiving end of a flow that was opened here."""
    qp = flow.receiver_qp
    assert isinstance(qp, ReceivingQp)
    return qp


def hosts_of(scenario: Scenario, names: Sequence[str], seed: int | None = None) -> list[str]:
    """Hosts that take part in a scenario's workload, in order of their index."""
    chosen = scenario.seed if seed is None else seed
    ends = pairs(scenario.workload, names, chosen)
    return [names[i] for i in sorted({end for _, a, b in ends for end in (a, b)})]
