# SPDX-License-Identifier: Apache-2.0
"""Data-plane look-up structures behind a table.

``live`` maps a packet's key to an entry's record. For exact tables it holds the entries
themselves; for the other kinds it remembers answers, and a key that is not there goes to the
finder. Data-plane keys are the value itself for one match field, else a tuple of values.

Tables may be written from another thread than the one that forwards: a finder that started
before a write takes its answer back out of ``live``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from softswitch.model import MatchField

Record = tuple[Any, ...]
Finder = Callable[[Any], Record]
#: Answers remembered before all are forgotten; keys come from packets.
MEMORY = 1 << 16


class Lookup:
    """Common part: the memory of answers."""

    def __init__(self) -> None:
        self.live: dict[Any, Record] = {}
        self.generation = 0

    def forget(self) -> None:
        """Drop remembered answers after a change."""
        self.generation += 1
        self.live.clear()

    def finder(self, miss: list[Record]) -> Finder:
        """A function from data-plane key to record that remembers its answers in ``live``."""
        live, search = self.live, self.search

        def find(key: Any) -> Record:
            generation = self.generation
            record = search(key)
            if record is None:
                record = miss[0]
            if len(live) >= MEMORY:
                live.clear()
            live[key] = record
            if self.generation != generation:
                live.pop(key, None)
            return record

        return find

    def search(self, key: Any) -> Record | None:
        raise NotImplementedError

    def put(self, key: tuple[Any, ...], priority: int, record: Record) -> None:
        raise NotImplementedError

    def remove(self, key: tuple[Any, ...], priority: int) -> None:
        raise NotImplementedError

    def clear(self) -> None:
        raise NotImplementedError


class ExactLookup(Lookup):
    """One dictionary, the entries themselves."""

    def __init__(self, fields: int) -> None:
        super().__init__()
        self.single = fields == 1

    def forget(self) -> None:
        self.generation += 1

    def _key(self, key: tuple[Any, ...]) -> Any:
        return key[0] if self.single else key

    def search(self, key: Any) -> Record | None:
        return self.live.get(key)

    def finder(self, miss: list[Record]) -> Finder:
        return lambda key: self.live.get(key) or miss[0]

    def put(self, key: tuple[Any, ...], priority: int, record: Record) -> None:
        self.live[self._key(key)] = record

    def remove(self, key: tuple[Any, ...], priority: int) -> None:
        del self.live[self._key(key)]

    def clear(self) -> None:
        self.live.clear()


class LpmLookup(Lookup):
    """One dictionary a prefix length, tried from the longest; other fields match exactly."""

    def __init__(self, fields: tuple[MatchField, ...]) -> None:
        super().__init__()
        self.position = next(i for i, f in enumerate(fields) if f.kind == "lpm")
        self.width = fields[self.position].width
        self.single = len(fields) == 1
        self.by_length: dict[int, dict[Any, Record]] = {}
        self.ordered: list[tuple[int, dict[Any, Record]]] = []

    def _split(self, key: tuple[Any, ...]) -> tuple[int, Any]:
        value, length = key[self.position]
        shortened = value >> (self.width - length)
        if self.single:
            return length, shortened
        return length, (*key[: self.position], shortened, *key[self.position + 1 :])

    def search(self, key: Any) -> Record | None:
        position = self.position
        for shift, entries in self.ordered:
            if self.single:
                record = entries.get(key >> shift)
            else:
                shortened = key[position] >> shift
                record = entries.get((*key[:position], shortened, *key[position + 1 :]))
            if record is not None:
                return record
        return None

    def put(self, key: tuple[Any, ...], priority: int, record: Record) -> None:
        length, short = self._split(key)
        if length not in self.by_length:
            self.by_length[length] = {}
            self._order()
        self.by_length[length][short] = record
        self.forget()

    def remove(self, key: tuple[Any, ...], priority: int) -> None:
        length, short = self._split(key)
        del self.by_length[length][short]
        if not self.by_length[length]:
            del self.by_length[length]
            self._order()
        self.forget()

    def _order(self) -> None:
        lengths = sorted(self.by_length, reverse=True)
        self.ordered = [(self.width - n, self.by_length[n]) for n in lengths]

    def clear(self) -> None:
        self.by_length.clear()
        self.ordered = []
        self.forget()


class OrderedLookup(Lookup):
    """Ternary and range: entries by falling priority, the first that matches wins; among equal
    priorities the one inserted first."""

    def __init__(self, fields: tuple[MatchField, ...]) -> None:
        super().__init__()
        self.fields = fields
        self.entries: dict[tuple[tuple[Any, ...], int], Record] = {}
        self.ordered: list[tuple[tuple[tuple[bool, int, int], ...], Record]] = []

    def _conditions(self, key: tuple[Any, ...]) -> tuple[tuple[bool, int, int], ...]:
        """(is a range, mask or low, value or high) for each field."""
        conditions = []
        for field, match in zip(self.fields, key, strict=True):
            full = (1 << field.width) - 1
            if field.kind == "exact":
                conditions.append((False, full, match))
            elif field.kind == "lpm":
                mask = full ^ (full >> match[1])
                conditions.append((False, mask, match[0]))
            elif field.kind == "ternary":
                conditions.append((False, match[1], match[0]))
            else:
                conditions.append((True, match[0], match[1]))
        return tuple(conditions)

    def search(self, key: Any) -> Record | None:
        values = (key,) if len(self.fields) == 1 else key
        for conditions, record in self.ordered:
            for value, (is_range, a, b) in zip(values, conditions, strict=True):
                if not (a <= value <= b if is_range else value & a == b):
                    break
            else:
                return record
        return None

    def put(self, key: tuple[Any, ...], priority: int, record: Record) -> None:
        self.entries[key, priority] = record
        self._order()

    def remove(self, key: tuple[Any, ...], priority: int) -> None:
        del self.entries[key, priority]
        self._order()

    def _order(self) -> None:
        ranked = sorted(self.entries.items(), key=lambda item: -item[0][1])
        self.ordered = [(self._conditions(key), record) for (key, _), record in ranked]
        self.forget()

    def clear(self) -> None:
        self.entries.clear()
        self.ordered = []
        self.forget()
