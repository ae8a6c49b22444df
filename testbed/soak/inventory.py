# SPDX-License-Identifier: Apache-2.0
"""Every table that holds something outstanding, by name, and what may be in it at rest.

`take` walks the objects of a world from its hosts, switches and links on, and looks at each list,
dict, set and queue that it meets. One that `RULES` does not name is a failure too, so that a new
table cannot be forgotten here. At rest means: nothing posted, no frame on its way, nothing broken.
"""

from __future__ import annotations

import enum
import random
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from endpoint.congestion import CongestionControl
from endpoint.memory import MemoryRegion
from endpoint.wire.build import ControlTemplate, DataTemplate
from endpoint.wire.dscp import DscpMap

ANY: Final = -1
"""Configuration, or as many as there are queue pairs, ports or paths: no limit, only counted."""

RULES: Final[dict[str, int]] = {
    # The NIC. Numbers at rest are checked by `testbed.soak.work`, which knows how many.
    "Nic._qps": ANY, "Nic._peers": ANY, "Nic._resting": ANY,
    "Nic._untold": 0, "Nic._active": 0, "Nic._is_active": 0, "Nic._urgent": 0,
    "Nic._completions": 0, "Nic._events": 0,
    "QpTimers._heap": 16, "QpTimers._entry": 0, "QpTimers._due": ANY, "QpTimers._changed": 0,
    "QpTimers._owners": ANY,
    "MemoryTable._regions": ANY,
    "EndpointDesk._open": 0, "EndpointDesk._routes": 256, "EndpointDesk.answers": 0,
    "Peer.queue_pairs": ANY, "Peer._asked": 1024, "Peer._answers": 256, "Peer._probes": 256,
    # A queue pair: sending.
    "QueuePair._receives_early": 0,
    "Requester._messages": 0, "Requester._unsent": 0, "Requester._again": 0,
    "Requester._later": 0,
    "LossDetector.current": 0, "LossDetector.uncovered": 0, "LossDetector._by_ev": 0,
    "LossDetector._by_time": 0, "LossDetector._moved": 0, "LossDetector._ev_acked": 256,
    "ProbeBook._probes": 4096, "ProbeBook._order": 0, "ProbeBook._early": 0,
    "ProbeBook._late": 4096,
    # Receiving.
    "Responder._receives": 0, "Responder._ends": 0, "Responder._lengths": 0,
    "Responder._ending": 0, "Responder._waiting": 0, "Responder._refused_evs": 0,
    # Paths.
    "EvSet._paths": ANY, "EvSet._on_plane": ANY, "EvSet._backup": ANY, "EvSet._held": 0,
    "EvSet._events": 0,
    "ProbeSchedule._heap": 16, "ProbeSchedule._entry": 0,
    "Rotation._planes": ANY, "Rotation._order": ANY,
    "Paths._data": 256, "Paths._probes": 256, "Paths._last_hop_trims": 32,
    "ControlOut._templates": 256,
    "ReversePaths._currents": ANY, "ReversePaths._usable": ANY, "ReversePaths._chosen": ANY,
    "ReversePaths._probes": 0, "ReversePaths._given_up": 1024, "_Current.candidates": ANY,
    "Route._macs": ANY,
    # The virtual world.
    "HostNode.ports": ANY, "HostNode._room": ANY, "HostNode._inbound": 0,
    "HostPort.control": 0, "HostPort.data": 0,
    "Direction._conditions": 0,
    "PortScheduler.capacities": ANY, "PortScheduler.dropped": ANY, "PortScheduler._queues": 0,
    "PortScheduler._last_departure": ANY,
    "Breaker._repairs": 0, "Breaker._cut_by": 0, "Breaker._stopped_by": 0,
    "Breaker._wires": ANY,
    "Breaker._switches": ANY, "SwitchNode.ports": ANY, "SwitchNode._past": ANY,
    "SwitchNode.lost_in_stop": ANY,  # a count for each port and class
}  # fmt: skip

NUMBERS: Final = {
    "LossDetector.inflight": 0,
    "Scoreboard._acked": 0,
    "Scoreboard._missing": 0,
    "ReceiveBitmap.bits": 0,
}
"""Plain numbers that stand for outstanding state, and what they are at rest."""

_LEAVES = (
    random.Random, enum.Enum, MemoryRegion, ControlTemplate, DataTemplate, DscpMap,
    CongestionControl,
)  # fmt: skip
_BACK = frozenset({"_services", "fabric", "config", "_node", "_loop", "loop", "_losses", "nic"})
_TABLES = (list, dict, set, deque)


@dataclass(frozen=True, slots=True)
class Row:
    """A table, over all its owners: how many owners, and most and sum of what they hold."""

    table: str
    owners: int
    most: int
    total: int
    limit: int | None

    @property
    def ok(self) -> bool:
        """Whether each owner holds no more than it may; a table without a rule is never right."""
        return self.limit is not None and (self.limit == ANY or self.most <= self.limit)


def take(*roots: object) -> list[Row]:
    """The tables of everything that can be reached from ``roots``, by name."""
    walk = _Walk()
    for root in roots:
        walk.look(root)
    return [
        Row(name, walk.owners[name], walk.most[name], walk.total[name], _limit(name))
        for name in sorted(walk.owners)
    ]


def problems(rows: list[Row]) -> list[str]:
    """What is wrong, a line a table."""
    return [
        f"{row.table}: not in the inventory"
        if row.limit is None
        else f"{row.table}: {row.most} in one of {row.owners}, at most {row.limit} at rest"
        for row in rows
        if not row.ok
    ]


def _limit(name: str) -> int | None:
    return NUMBERS[name] if name in NUMBERS else RULES.get(name)


class _Walk:
    def __init__(self) -> None:
        self.owners: Counter[str] = Counter()
        self.most: dict[str, int] = {}
        self.total: Counter[str] = Counter()
        self._seen: dict[int, object] = {}

    def look(self, start: object) -> None:
        """Everything reachable, without recursion: chains of objects may be long."""
        waiting = [start]
        while waiting:
            thing = waiting.pop()
            if id(thing) in self._seen or not _ours(thing):
                continue
            self._seen[id(thing)] = thing
            for attribute, value in _attributes(thing):
                waiting.extend(self._take(f"{type(thing).__name__}.{attribute}", value))

    def _take(self, name: str, value: object) -> Iterator[object]:
        if isinstance(value, _TABLES):
            self._count(name, _held(value))
            yield from _elements(value)
        else:
            if name in NUMBERS:
                self._count(name, int(value))  # type: ignore[call-overload]
            yield value

    def _count(self, name: str, size: int) -> None:
        self.owners[name] += 1
        self.most[name] = max(size, self.most.get(name, 0))
        self.total[name] += size


def _held(table: Any) -> int:
    """How many are in a table; of queues in a list or a dict, what is in the queues."""
    inner = list(table.values()) if isinstance(table, dict) else table
    if inner and all(isinstance(item, deque | set) for item in inner):
        return sum(len(item) for item in inner)
    return len(table)


def _elements(table: Any) -> Iterator[object]:
    for item in table.values() if isinstance(table, dict) else table:
        if isinstance(item, list | deque | set | tuple):
            yield from item
        else:
            yield item


def _ours(thing: object) -> bool:
    module = type(thing).__module__
    ours = module.startswith(("endpoint.", "testbed.virtual.", "softswitch.queues"))
    return ours and not isinstance(thing, _LEAVES)


def _attributes(thing: object) -> Iterator[tuple[str, Any]]:
    names = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    names += getattr(thing, "__dict__", {})
    for name in names:
        if name not in _BACK and hasattr(thing, name):
            yield name, getattr(thing, name)
