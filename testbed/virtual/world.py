# SPDX-License-Identifier: Apache-2.0
"""The virtual world: a whole fabric with its endpoints, built from a scenario, run to its end.

Every component has a random generator of its own, derived from the seed and the component's
name, so that what one of them draws never depends on what another did.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from controller.queues import port_queues
from endpoint.events import Event
from endpoint.nic import Nic, NicConfig
from endpoint.wire.pcap import PcapWriter
from softswitch.program import Program
from softswitch.queues import PortScheduler
from testbed.faults import Occurrence, plan
from testbed.losses import FlowKey, Losses
from testbed.measure import Bins
from testbed.scenario import Scenario
from testbed.virtual.breakage import Breaker, Wire
from testbed.virtual.flows import FlowBook
from testbed.virtual.host import HostNode
from testbed.virtual.link import Direction
from testbed.virtual.loop import EventLoop
from testbed.virtual.provisioning import DirectProvisioning, Provisioning
from testbed.virtual.switch import SwitchNode
from topologies.fabric import Fabric, Link

Progress = Callable[[int, int], None]
"""Called now and then with the world's time and the scenario's duration, in ns."""

_CHUNK_NS = 5_000
_DRAIN_NS = 2_000_000


class VirtualWorld:
    """One run of one scenario. ``program`` is what every switch runs.

    Tables are written directly unless another ``provisioning`` is given.
    """

    def __init__(
        self,
        scenario: Scenario,
        fabric: Fabric,
        program: Program,
        seed: int,
        provisioning: Provisioning | None = None,
    ) -> None:
        self.scenario = scenario
        self.fabric = fabric
        self.seed = seed
        self.loop = EventLoop()
        self.losses = Losses(self._srtt_ns)
        self.goodput = Bins(fabric.spec.planes, scenario.measure.bin)
        self.flow_goodput = Bins(0, scenario.measure.bin)
        self.busy_samples: list[tuple[int, list[list[int]]]] = []
        """Now and then: the time, and the ns that each port of each host has been sending."""
        self.hosts = [self._host(host.name, host.index) for host in fabric.hosts]
        way = provisioning or DirectProvisioning(fabric)
        self.switches = {
            node.name: self._switch(node.name, program, way) for node in fabric.switches()
        }
        self.wires = self._wires()
        self.flows = FlowBook(self.loop, fabric, scenario, self.hosts, seed)
        self.occurrences = self._plan_faults()
        for flow in self.flows.flows:
            stats = flow.receiver_qp.stats
            flow.receiver.expect(flow.receiver_qp.qpn, stats, self.flow_goodput.add_row())
        self.events: list[tuple[str, Event]] = []
        """What the endpoints reported, each with its host."""
        self.ended_ns = 0
        self._captures = ExitStack()

    def rng(self, name: str) -> random.Random:
        """The generator of one component."""
        return random.Random(f"{self.seed}/{name}")

    def _srtt_ns(self, key: FlowKey) -> int:
        return self.flows.srtt_ns(key)

    # -- building -----------------------------------------------------------------------------

    def _host(self, name: str, index: int) -> HostNode:
        nic = Nic(NicConfig(fabric=self.fabric, host_index=index), self.rng(name))
        return HostNode(
            self.loop,
            name,
            nic,
            self.fabric.spec.planes,
            goodput=self.goodput,
            losses=self.losses,
        )

    def _switch(self, name: str, program: Program, provisioning: Provisioning) -> SwitchNode:
        node = SwitchNode(self.loop, name, program, rng=self.rng(name), provisioning=provisioning)
        for number in self.fabric.ports(name):
            queues = port_queues(self.fabric, name, number)
            node.add_port(number, PortScheduler(capacities=queues.capacity))
        return node

    def _wires(self) -> dict[str, Wire]:
        hosts = {host.name: host for host in self.hosts}
        wires = {}
        for link in self.fabric.links():
            host = hosts.get(link.a)
            near = host.ports[link.a_port] if host else self.switches[link.a].ports[link.a_port]
            far = self.switches[link.b].ports[link.b_port]
            near.direction = self._direction(link, f"{link.a}→{link.b}", far.receive)
            far.direction = self._direction(link, f"{link.b}→{link.a}", near.receive)
            wires[link.name] = Wire(
                link.name,
                (link.a, link.b),
                (near.direction, far.direction),
                host,
                link.a_port,
            )
        return wires

    def _direction(self, link: Link, name: str, sink: Callable[[int, bytes], None]) -> Direction:
        return Direction(
            self.loop,
            name,
            link.name,
            rate_bps=link.rate_bps,
            delay_ns=link.delay_ns,
            sink=sink,
            losses=self.losses,
            rng=self.rng(name),
        )

    def _plan_faults(self) -> list[Occurrence]:
        self.breaker = Breaker(
            self.loop,
            self.fabric,
            self.wires,
            self.switches,
            self.losses,
            self.scenario.endpoint.carrier_delay,
            self.flows.uplink_in_use,
        )
        nic_links = {
            (wire.host.name, wire.host_port): wire.name
            for wire in self.wires.values()
            if wire.host is not None
        }
        return plan(self.scenario.faults, nic_links)

    def capture(self, link: str, folder: Path) -> Path:
        """Write the frames of a link, both directions, to ``folder/<link>.pcap`` as they are sent.

        Frames that a fault swallows on the link are in it: they were sent.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{link}.pcap"
        writer = PcapWriter(self._captures.enter_context(path.open("wb")))
        for direction in self.wires[link].directions:
            direction.tap(writer.write)
        return path

    # -- running ------------------------------------------------------------------------------

    def run(self, progress: Progress | None = None) -> None:
        """Run until all is done, at the latest for the scenario's duration.

        Then the endpoints fall silent and what is in flight lands, so that queues can be
        compared at rest.
        """
        loop, duration = self.loop, self.scenario.duration
        for occurrence in self.occurrences:
            loop.at(occurrence.begin_ns, self._begin, occurrence)
            if occurrence.end_ns is not None:
                loop.at(occurrence.end_ns, self._end, occurrence)
        last_change = max((o.end_ns or o.begin_ns for o in self.occurrences), default=0)
        self.flows.start()
        with self._captures:
            while loop.now < duration:
                # Where nothing happens for long (far hosts, long timers) there is one long step.
                step = max(loop.now + _CHUNK_NS, loop.heap[0][0] if loop.heap else duration)
                loop.run(min(step, duration))
                self._sample()
                if progress is not None:
                    progress(loop.now, duration)
                if loop.now >= last_change and self.flows.done:
                    break
            self.ended_ns = loop.now
            self._drain()
        self.flows.finish()

    def _drain(self) -> None:
        for host in self.hosts:
            host.quiet = True
        while self.loop.heap and self.loop.now < self.ended_ns + _DRAIN_NS:
            self.loop.run(self.loop.now + _CHUNK_NS)
        self._sample()

    def _begin(self, now: int, occurrence: Occurrence) -> None:
        self.losses.begin(occurrence.index, now)
        occurrence.begin(self.breaker)

    def _end(self, _: int, occurrence: Occurrence) -> None:
        occurrence.end(self.breaker)

    def _sample(self) -> None:
        busy = [[port.busy_ns for port in host.ports] for host in self.hosts]
        self.busy_samples.append((self.loop.now, busy))
        for host in self.hosts:
            self.events.extend((host.name, event) for event in host.nic.events())

    @property
    def packet_hops(self) -> int:
        """Frames that switches have taken in, over the whole run."""
        return sum(node.hops for node in self.switches.values())
