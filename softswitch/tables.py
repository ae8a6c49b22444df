# SPDX-License-Identifier: Apache-2.0
"""Match-action tables of one switch: control-plane writes, data-plane look-up structures.

A key is a tuple with one value a match field, in the table's order: exact ``int``; lpm
``(value, prefix_length)``; ternary ``(value, mask)``; range ``(low, high)``. A higher priority
wins, as in P4Runtime; it orders ternary and range tables and is 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from softswitch.codegen.controls import has_slot
from softswitch.errors import BadEntry, EntryExists, NoSuchEntry, TableFull
from softswitch.lookup import ExactLookup, Lookup, LpmLookup, OrderedLookup
from softswitch.model import Action, MatchField, TableDef

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One entry as the control plane sees it. ``action`` is the P4 full name."""

    key: Key
    action: str
    params: tuple[int, ...]
    priority: int = 0


class Table:
    """State of one P4 table.

    ``live.get(key)`` and ``find(key)`` give the data plane an entry's tuple (see
    ``codegen.controls.TableCode``); ``miss[0]`` is the default's. All three objects stay the
    same for the switch's life, since the generated functions hold on to them.
    """

    def __init__(self, definition: TableDef) -> None:
        self.definition = definition
        self.name = definition.name
        self.size = definition.size
        self.match_fields: tuple[MatchField, ...] = definition.key
        self.actions: dict[str, Action] = {a.name: a for a in definition.actions}
        self.constant = bool(definition.entries)
        self.default_constant = definition.default.constant
        self.prioritised = definition.kind in ("ternary", "range")
        self.packets: list[int] = []
        self.bytes: list[int] = []
        self.miss: list[tuple[Any, ...]] = [()]
        self._index = {a.name: i for i, a in enumerate(definition.actions)}
        self._entries: dict[tuple[Key, int], TableEntry] = {}
        self._slots: dict[tuple[Key, int], int] = {}
        self._free: list[int] = []
        self._lookup: Lookup = _lookup_for(definition)
        self.live = self._lookup.live
        self.find = self._lookup.finder(self.miss)
        self._load()

    def _load(self) -> None:
        default = self.definition.default
        self._default = TableEntry((), self._name(default.action_index), default.data)
        self.miss[0] = self._record(self._default, hit=False, slot=-1)
        for entry in self.definition.entries:
            item = TableEntry(
                entry.key,
                self._name(entry.action_index),
                entry.data,
                entry.priority if self.prioritised else 0,
            )
            self._add(item)

    def _name(self, index: int) -> str:
        return self.definition.actions[index].name

    # -- writes ------------------------------------------------------------------------------

    def insert(self, key: Sequence[Any], action: str, params: Sequence[int], priority: int = 0):
        """Add an entry. Raises :class:`EntryExists`, :class:`TableFull` or :class:`BadEntry`."""
        entry = self._checked(key, action, params, priority)
        if self.constant:
            raise BadEntry(f"{self.name}: the program's constant entries cannot be added to")
        if (entry.key, entry.priority) in self._entries:
            raise EntryExists(f"{self.name}: {self._show(entry.key)} is already there")
        if len(self._entries) >= self.size:
            raise TableFull(f"{self.name}: holds its {self.size} entries already")
        self._add(entry)

    def modify(self, key: Sequence[Any], action: str, params: Sequence[int], priority: int = 0):
        """Change an entry's action. Raises :class:`NoSuchEntry` or :class:`BadEntry`."""
        entry = self._checked(key, action, params, priority)
        place = (entry.key, entry.priority)
        self._must_exist(place)
        if self.constant:
            raise BadEntry(f"{self.name}: the program's constant entries cannot be changed")
        self._entries[place] = entry
        record = self._record(entry, hit=True, slot=self._slots.get(place, -1))
        self._lookup.put(entry.key, entry.priority, record)

    def delete(self, key: Sequence[Any], priority: int = 0) -> None:
        """Remove an entry. Raises :class:`NoSuchEntry` or :class:`BadEntry`."""
        place = (self._checked_key(key), self._checked_priority(priority))
        self._must_exist(place)
        if self.constant:
            raise BadEntry(f"{self.name}: the program's constant entries cannot be removed")
        del self._entries[place]
        slot = self._slots.pop(place, None)
        if slot is not None:
            self._free.append(slot)
        self._lookup.remove(*place)

    def set_default(self, action: str, params: Sequence[int]) -> None:
        """Change what a miss does. Raises :class:`BadEntry` when the program makes it const."""
        if self.default_constant:
            raise BadEntry(f"{self.name}: its default action is const")
        self._default = TableEntry((), action, self._checked_params(action, params))
        self.miss[0] = self._record(self._default, hit=False, slot=-1)
        self._lookup.forget()

    def reset_default(self) -> None:
        """Back to the program's own default action."""
        default = self.definition.default
        self._default = TableEntry((), self._name(default.action_index), default.data)
        self.miss[0] = self._record(self._default, hit=False, slot=-1)
        self._lookup.forget()

    def clear(self) -> None:
        """Back to the state after loading: constant entries and the program's default."""
        self._entries.clear()
        self._slots.clear()
        self._free.clear()
        self.packets.clear()
        self.bytes.clear()
        self._lookup.clear()
        self._load()

    # -- reads -------------------------------------------------------------------------------

    def get(self, key: Sequence[Any], priority: int = 0) -> TableEntry:
        """The entry with that key. Raises :class:`NoSuchEntry`."""
        place = (self._checked_key(key), self._checked_priority(priority))
        self._must_exist(place)
        return self._entries[place]

    def entries(self) -> list[TableEntry]:
        """All entries, in the order of their insertion; without the default."""
        return list(self._entries.values())

    @property
    def default(self) -> TableEntry:
        """What a miss does; its key is empty."""
        return self._default

    def __len__(self) -> int:
        return len(self._entries)

    def slot(self, key: Sequence[Any], priority: int = 0) -> int:
        """Index of the entry's direct counter or meter. Raises :class:`NoSuchEntry`, or
        :class:`BadEntry` when the table has neither."""
        place = (self._checked_key(key), self._checked_priority(priority))
        self._must_exist(place)
        if place not in self._slots:
            raise BadEntry(f"{self.name}: has no direct counter or meter")
        return self._slots[place]

    def read_counter(self, key: Sequence[Any], priority: int = 0) -> tuple[int, int]:
        """(packets, bytes) that an entry matched."""
        slot = self._counter_slot(key, priority)
        return self.packets[slot], self.bytes[slot]

    def write_counter(
        self, key: Sequence[Any], packets: int, count_bytes: int, priority: int = 0
    ) -> None:
        """Set an entry's direct counter."""
        slot = self._counter_slot(key, priority)
        self.packets[slot], self.bytes[slot] = packets, count_bytes

    def _counter_slot(self, key: Sequence[Any], priority: int) -> int:
        slot = self.slot(key, priority)
        if not self.definition.with_counters:
            raise BadEntry(f"{self.name}: has no direct counter")
        return slot

    # -- internals ---------------------------------------------------------------------------

    def _add(self, entry: TableEntry) -> None:
        place = (entry.key, entry.priority)
        slot = -1
        if has_slot(self.definition):
            slot = self._new_slot()
            self._slots[place] = slot
        self._entries[place] = entry
        self._lookup.put(entry.key, entry.priority, self._record(entry, hit=True, slot=slot))

    def _new_slot(self) -> int:
        if not self._free:
            self.packets.append(0)
            self.bytes.append(0)
            return len(self.packets) - 1
        slot = self._free.pop()
        self.packets[slot] = self.bytes[slot] = 0
        return slot

    def _record(self, entry: TableEntry, hit: bool, slot: int) -> tuple[Any, ...]:
        lead: tuple[Any, ...] = (self._index[entry.action],)
        if self.definition.by_hit:
            lead += (hit,)
        if has_slot(self.definition):
            lead += (slot,)
        return lead + entry.params

    def _must_exist(self, place: tuple[Key, int]) -> None:
        if place not in self._entries:
            raise NoSuchEntry(f"{self.name}: no entry {self._show(place[0])}")

    def _checked(
        self, key: Sequence[Any], action: str, params: Sequence[int], priority: int
    ) -> TableEntry:
        return TableEntry(
            self._checked_key(key),
            action,
            self._checked_params(action, params),
            self._checked_priority(priority),
        )

    def _checked_priority(self, priority: int) -> int:
        if not self.prioritised:
            if priority:
                raise BadEntry(f"{self.name}: {self.definition.kind} entries have no priority")
        elif not 0 < priority < 1 << 31:
            raise BadEntry(f"{self.name}: priority {priority} is not between 1 and 2^31 - 1")
        return priority

    def _checked_params(self, action: str, params: Sequence[int]) -> tuple[int, ...]:
        if action not in self.actions:
            raise BadEntry(f"{self.name}: {action!r} is none of its actions")
        wanted = self.actions[action].parameters
        if len(params) != len(wanted):
            raise BadEntry(
                f"{self.name}: {action} takes {len(wanted)} parameters, not {len(params)}"
            )
        for value, parameter in zip(params, wanted, strict=True):
            if not 0 <= value < 1 << parameter.width:
                raise BadEntry(
                    f"{self.name}: {action}: {parameter.name} = {value} does not fit in "
                    f"{parameter.width} bits"
                )
        return tuple(params)

    def _checked_key(self, key: Sequence[Any]) -> Key:
        if len(key) != len(self.match_fields):
            raise BadEntry(
                f"{self.name}: {len(self.match_fields)} match values are needed, not {len(key)}"
            )
        return tuple(self._checked_match(f, v) for f, v in zip(self.match_fields, key, strict=True))

    def _checked_match(self, field: MatchField, value: Any) -> Any:
        full = (1 << field.width) - 1
        pair = () if field.kind == "exact" else value
        problem = None
        if field.kind == "exact":
            if not (isinstance(value, int) and 0 <= value <= full):
                problem = f"does not fit in {field.width} bits"
        elif not (isinstance(pair, tuple) and len(pair) == 2 and 0 <= pair[0] <= full):
            problem = f"is no {field.kind} pair of {field.width} bits"
        elif field.kind == "lpm":
            if not 0 <= pair[1] <= field.width:
                problem = f"has no prefix length of 0 to {field.width}"
            elif pair[0] & (full >> pair[1]):
                problem = "has bits set after its prefix"
        elif field.kind == "ternary":
            if not 0 <= pair[1] <= full or pair[0] & ~pair[1]:
                problem = "has bits set outside its mask"
        elif not pair[0] <= pair[1] <= full:
            problem = "is no range from low to high"
        if problem:
            raise BadEntry(f"{self.name}: {field.name} = {value!r} {problem}")
        return value

    def _show(self, key: Key) -> str:
        def text(value: Any) -> str:
            if isinstance(value, tuple):
                return f"{value[0]:#x}/{value[1]:#x}"
            return f"{value:#x}"

        names = (f.name for f in self.match_fields)
        return "(" + ", ".join(f"{n}={text(v)}" for n, v in zip(names, key, strict=True)) + ")"


def _lookup_for(definition: TableDef) -> Lookup:
    if definition.kind == "exact":
        return ExactLookup(len(definition.key))
    if definition.kind == "lpm":
        return LpmLookup(definition.key)
    return OrderedLookup(definition.key)
