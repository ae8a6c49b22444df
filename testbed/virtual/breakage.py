# SPDX-License-Identifier: Apache-2.0
"""Breaks and mends the virtual fabric: the verbs of `testbed.faults.FaultTarget`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testbed.losses import Losses
from testbed.virtual.host import HostNode
from testbed.virtual.link import Condition, Direction
from testbed.virtual.loop import EventLoop
from testbed.virtual.switch import SwitchNode
from topologies.fabric import Fabric


@dataclass(frozen=True, slots=True)
class Wire:
    """Both directions of a link, and the host port on its lower end, if it has one."""

    name: str
    ends: tuple[str, str]
    directions: tuple[Direction, Direction]
    host: HostNode | None
    host_port: int


class Breaker:
    """Carries out faults, and lets hosts know of their carrier after ``carrier_delay_ns``.

    ``uplink_in_use`` gives an uplink that the flow between two hosts uses in a plane.
    """

    def __init__(
        self,
        loop: EventLoop,
        fabric: Fabric,
        wires: dict[str, Wire],
        switches: dict[str, SwitchNode],
        losses: Losses,
        carrier_delay_ns: int,
        uplink_in_use: Callable[[str, str, int], int],
    ) -> None:
        self._loop = loop
        self._fabric = fabric
        self._wires = wires
        self._switches = switches
        self._losses = losses
        self._carrier_delay_ns = carrier_delay_ns
        self._uplink_in_use = uplink_in_use
        self._cut_by: dict[str, set[int]] = {}
        self._stopped_by: dict[str, set[int]] = {}
        self._repairs: dict[int, list[Callable[[], None]]] = {}

    # -- the verbs ----------------------------------------------------------------------------

    def cut_link(self, link: str, occurrence: int) -> None:
        self._cut(self._wires[link], occurrence, "link down")

    def silence_link(self, link: str, occurrence: int) -> None:
        self._spoil(self._wires[link], Condition(occurrence, "link silent"))

    def thin_link(self, link: str, share: float, occurrence: int) -> None:
        self._spoil(self._wires[link], Condition(occurrence, "link lossy", share))

    def thin_path(
        self,
        source: str,
        destination: str,
        plane: int,
        uplink: int | None,
        share: float,
        occurrence: int,
    ) -> None:
        if uplink is None:
            uplink = self._uplink_in_use(source, destination, plane)
        src, dst = self._fabric.host(source), self._fabric.host(destination)
        address = self._fabric.path_template(src.index, dst.index).address(plane, uplink)
        name = self._fabric.link_at(source, plane).name
        outward = self._wires[name].directions[0]
        outward.add(Condition(occurrence, "path lossy", share, address))
        self._on_mend(occurrence, lambda: outward.remove(occurrence))

    def stop_switch(self, switch: str, occurrence: int) -> None:
        for wire in self._wires_of(switch):
            self._cut(wire, occurrence, "switch stopped")
        node, stoppers = self._switches[switch], self._stopped_by.setdefault(switch, set())
        if not stoppers:
            node.stop(self._loop.now, self._losses, occurrence)
        stoppers.add(occurrence)

        def repair() -> None:
            stoppers.discard(occurrence)
            if not stoppers:
                node.start()

        self._on_mend(occurrence, repair)

    def silence_switch(self, switch: str, occurrence: int) -> None:
        for wire in self._wires_of(switch):
            self._spoil(wire, Condition(occurrence, "switch silent"))

    def mend(self, occurrence: int) -> None:
        for repair in self._repairs.pop(occurrence, ()):
            repair()

    # -- how ----------------------------------------------------------------------------------

    def _wires_of(self, switch: str) -> list[Wire]:
        return [wire for wire in self._wires.values() if switch in wire.ends]

    def _on_mend(self, occurrence: int, repair: Callable[[], None]) -> None:
        # Tables come back before the links do: repairs run in the opposite order of the damage.
        self._repairs.setdefault(occurrence, []).insert(0, repair)

    def _spoil(self, wire: Wire, condition: Condition) -> None:
        for direction in wire.directions:
            direction.add(condition)

        def repair() -> None:
            for direction in wire.directions:
                direction.remove(condition.occurrence)

        self._on_mend(condition.occurrence, repair)

    def _cut(self, wire: Wire, occurrence: int, cause: str) -> None:
        self._spoil(wire, Condition(occurrence, cause))
        cutters = self._cut_by.setdefault(wire.name, set())
        cutters.add(occurrence)
        if len(cutters) == 1:
            self._tell_later(wire)

        def repair() -> None:
            cutters.discard(occurrence)
            if not cutters:
                self._tell_later(wire)

        self._on_mend(occurrence, repair)

    def _tell_later(self, wire: Wire) -> None:
        if wire.host is not None:
            self._loop.at(self._loop.now + self._carrier_delay_ns, self._tell, wire)

    def _tell(self, now: int, wire: Wire) -> None:
        """The NIC looks at its carrier; what it saw last may be true still."""
        host = wire.host
        assert host is not None
        cutters = self._cut_by[wire.name]
        noticed = host.ports[wire.host_port].down_by is not None
        if cutters and not noticed:
            host.carrier_lost(now, wire.host_port, min(cutters))
        elif noticed and not cutters:
            host.carrier_back(now, wire.host_port)
