# SPDX-License-Identifier: Apache-2.0
"""Paths that an operator chose for a queue pair, instead of all that the fabric has.

Inside the engine a path is still named by a 32-bit EV with its plane in bits 10:8
(`topologies.sids`). What packets carry may be something else: in the formats STEV and UDP the EV
on the wire is the operator's, and the way back from it is `engine_ev`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from endpoint.routes import Route
from endpoint.wire.envelope import PathAddresses
from topologies import Fabric
from topologies.sids import ev_plane


@dataclass(frozen=True, slots=True)
class PlannedPath:
    """One path. `ev` names it in the engine, `wire_ev` in packets (32 bits each).

    `route` and `segment` (16 bytes) are the outer destination and segment 0 of an SRH; with
    `route` None packets have no outer header, and switches choose the way by `wire_ev`.
    """

    ev: int
    wire_ev: int
    route: bytes | None = None
    segment: bytes | None = None


class PathPlan(Protocol):
    """Makes the paths of a queue pair when its peer is known."""

    def paths(self, fabric: Fabric, src: int, dst: int) -> Iterable[PlannedPath]:
        """The paths from NIC `src` to NIC `dst` (0-based). ValueError when there is none."""


class PlannedRoute(Route):
    """A `Route` that knows planned paths; for any other EV it is that of the fabric.

    `plain`: frames have no outer header, also those on EVs that are not in the plan.
    """

    def __init__(self, fabric: Fabric, src: int, dst: int, plan: PathPlan) -> None:
        super().__init__(fabric, src, dst)
        self._fabric = fabric
        self._planned: dict[int, PlannedPath] = {}
        self._by_wire: dict[int, int] = {}
        self.plain = False
        for path in plan.paths(fabric, src, dst):
            self.add(path)
        if not self._planned:
            raise ValueError("the EV profile has no path that this queue pair can use")

    def add(self, path: PlannedPath) -> None:
        """One more path."""
        self._planned[path.ev] = path
        self._by_wire[path.wire_ev] = path.ev
        self.plain = path.route is None

    def evs_by_plane(self) -> dict[int, list[int]]:
        """Engine EVs, by plane, in the order of the plan."""
        planes: dict[int, list[int]] = {}
        for ev in self._planned:
            planes.setdefault(ev_plane(ev), []).append(ev)
        return dict(sorted(planes.items()))

    def engine_ev(self, wire_ev: int) -> int:
        """The engine's EV for one that a packet echoed; the same when it is not in the plan."""
        return self._by_wire.get(wire_ev, wire_ev)

    def addresses(self, ev: int) -> PathAddresses:
        """What a frame on this EV carries."""
        fabric_path = super().addresses(ev)
        path = self._planned.get(ev)
        if path is None:
            if not self.plain:
                return fabric_path
            return fabric_path._replace(route=None)
        return fabric_path._replace(route=path.route, segment=path.segment, ev=path.wire_ev)
