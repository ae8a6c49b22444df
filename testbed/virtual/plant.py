# SPDX-License-Identifier: Apache-2.0
"""A fabric in virtual time, with an endpoint at every host and nothing to do yet.

Every component has a random generator of its own, derived from the seed and the component's
name, so that what one of them draws never depends on what another did.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from controller.queues import port_queues
from endpoint.nic import Nic, NicConfig
from endpoint.wire.pcap import PcapWriter
from softswitch.program import Program
from softswitch.queues import PortScheduler
from testbed.losses import Losses
from testbed.measure import Bins
from testbed.virtual.breakage import Wire
from testbed.virtual.host import HostNode
from testbed.virtual.link import Direction
from testbed.virtual.loop import EventLoop
from testbed.virtual.provisioning import DirectProvisioning, Provisioning
from testbed.virtual.switch import SwitchNode
from topologies.fabric import Fabric, Link


class Plant:
    """Hosts (in order of their index), switches and wires. ``program`` is what every switch runs.

    ``losses`` is told of every lost frame; goodput is counted in bins of ``bin_ns``. Tables are
    written directly unless another ``provisioning`` is given.
    """

    def __init__(
        self,
        fabric: Fabric,
        program: Program,
        seed: int,
        losses: Losses,
        bin_ns: int,
        provisioning: Provisioning | None = None,
    ) -> None:
        self.fabric = fabric
        self.seed = seed
        self.loop = EventLoop()
        self.losses = losses
        self.goodput = Bins(fabric.spec.planes, bin_ns)
        self.hosts = [self._host(host.name, host.index) for host in fabric.hosts]
        way = provisioning or DirectProvisioning(fabric)
        self.switches = {
            node.name: self._switch(node.name, program, way) for node in fabric.switches()
        }
        self.wires = self._wires()
        self.captures = ExitStack()

    def rng(self, name: str) -> random.Random:
        """The generator of one component."""
        return random.Random(f"{self.seed}/{name}")

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

    def capture(self, link: str, folder: Path) -> Path:
        """Write the frames of a link, both directions, to ``folder/<link>.pcap`` as they are sent.

        Frames that a fault swallows on the link are in it: they were sent.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{link}.pcap"
        writer = PcapWriter(self.captures.enter_context(path.open("wb")))
        for direction in self.wires[link].directions:
            direction.tap(writer.write)
        return path

    @property
    def packet_hops(self) -> int:
        """Frames that switches have taken in, over the whole run."""
        return sum(node.hops for node in self.switches.values())
