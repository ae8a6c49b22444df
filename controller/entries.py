# SPDX-License-Identifier: Apache-2.0
"""Table entries as P4Runtime messages and back, and the difference between two sets of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2

from controller.tables import Match, TableEntry

T = TypeVar("T")
EntryKey = tuple[str, tuple[Match, ...]]


class EntryError(ValueError):
    """An entry does not fit the P4Info; the message names table and entry."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A match field or an action parameter; width in bits, `kind` empty for a parameter."""

    id: int
    name: str
    width: int
    kind: str = ""


@dataclass(frozen=True, slots=True)
class _Object:
    """A table with its match fields, or an action with its parameters."""

    id: int
    name: str
    values: tuple[_Value, ...]


_KINDS = {
    p4info_pb2.MatchField.EXACT: "exact",
    p4info_pb2.MatchField.LPM: "lpm",
}


class EntryCodec:
    """Translates between `TableEntry` and the messages of one P4Info, canonical bytes both ways.

    Tables with other keys than exact and LPM are left out: the controller has no entries for them.
    """

    def __init__(self, p4info: p4info_pb2.P4Info) -> None:
        tables = [
            _Object(
                t.preamble.id,
                t.preamble.name,
                tuple(
                    _Value(m.id, m.name, m.bitwidth, _KINDS[m.match_type]) for m in t.match_fields
                ),
            )
            for t in p4info.tables
            if not t.is_const_table and all(m.match_type in _KINDS for m in t.match_fields)
        ]
        actions = [
            _Object(
                a.preamble.id,
                a.preamble.name,
                tuple(_Value(p.id, p.name, p.bitwidth) for p in a.params),
            )
            for a in p4info.actions
        ]
        self._tables = {table.name: table for table in tables}
        self._actions = {action.name: action for action in actions}
        self._tables_by_id = {table.id: table for table in tables}
        self._actions_by_id = {action.id: action for action in actions}

    def knows(self, message: p4runtime_pb2.TableEntry) -> bool:
        """Whether `message` is of a table whose entries the controller writes."""
        return message.table_id in self._tables_by_id

    def encode(self, entry: TableEntry) -> p4runtime_pb2.TableEntry:
        """Raises EntryError when table, action, or the number or width of a value does not fit."""
        message = self.encode_key(entry)
        action = self._actions.get(entry.action)
        if action is None:
            raise _misfit(entry, f"the p4info has no action {entry.action}")
        message.action.action.action_id = action.id
        for spec, value in _paired(entry, "parameters", action.values, entry.params):
            message.action.action.params.add(param_id=spec.id, value=_bytes(entry, spec, value))
        return message

    def encode_key(self, entry: TableEntry) -> p4runtime_pb2.TableEntry:
        """The message with table and match only, as a DELETE takes it."""
        table = self._tables.get(entry.table)
        if table is None:
            raise _misfit(entry, "the p4info has no such table with exact and LPM keys")
        message = p4runtime_pb2.TableEntry(table_id=table.id)
        for spec, value in _paired(entry, "keys", table.values, entry.match):
            if isinstance(value, tuple) != (spec.kind == "lpm"):
                raise _misfit(entry, f"key {spec.name} is {spec.kind}")
            if not isinstance(value, tuple):
                message.match.add(field_id=spec.id).exact.value = _bytes(entry, spec, value)
            elif value[1] > 0:  # a prefix of length 0 is left out on the wire
                lpm = message.match.add(field_id=spec.id).lpm
                lpm.value, lpm.prefix_len = _bytes(entry, spec, value[0]), value[1]
        return message

    def decode(self, message: p4runtime_pb2.TableEntry) -> TableEntry:
        """What a switch answered; EntryError when it does not fit the P4Info."""
        table = self._tables_by_id[message.table_id]
        matches = {match.field_id: match for match in message.match}
        keys: list[Match] = []
        for spec in table.values:
            match = matches.get(spec.id)
            if spec.kind == "lpm":
                keys.append(
                    (int.from_bytes(match.lpm.value, "big"), match.lpm.prefix_len)
                    if match is not None
                    else (0, 0)
                )
            elif match is not None:
                keys.append(int.from_bytes(match.exact.value, "big"))
            else:
                raise EntryError(f"table {table.name}: an entry lacks its key {spec.name}")
        action = self._actions_by_id.get(message.action.action.action_id)
        if action is None:
            raise EntryError(f"table {table.name}: an entry has an action unknown to the p4info")
        given = {param.param_id: param.value for param in message.action.action.params}
        params = tuple(int.from_bytes(given.get(spec.id, b""), "big") for spec in action.values)
        return TableEntry(table.name, tuple(keys), action.name, params)


@dataclass(frozen=True, slots=True)
class Changes:
    """What turns the entries that are present into those that are meant."""

    insert: tuple[TableEntry, ...]
    modify: tuple[TableEntry, ...]
    delete: tuple[TableEntry, ...]
    unchanged: int

    @property
    def count(self) -> int:
        return len(self.insert) + len(self.modify) + len(self.delete)


def difference(meant: Iterable[TableEntry], present: Iterable[TableEntry]) -> Changes:
    """Changes from `present` to `meant`, in the order of each.

    Raises EntryError when two entries that are meant have the same table and match.
    """
    wanted: dict[EntryKey, TableEntry] = {}
    for entry in meant:
        if wanted.setdefault((entry.table, entry.match), entry) is not entry:
            raise _misfit(entry, "the table has two entries with this match")
    there = {(entry.table, entry.match): entry for entry in present}
    insert = tuple(entry for key, entry in wanted.items() if key not in there)
    modify = tuple(e for key, e in wanted.items() if key in there and there[key] != e)
    delete = tuple(entry for key, entry in there.items() if key not in wanted)
    return Changes(insert, modify, delete, len(wanted) - len(insert) - len(modify))


def _paired(
    entry: TableEntry, what: str, specs: Sequence[_Value], values: Sequence[T]
) -> Iterable[tuple[_Value, T]]:
    if len(specs) != len(values):
        raise _misfit(entry, f"takes {len(specs)} {what}, got {len(values)}")
    return zip(specs, values, strict=True)


def _bytes(entry: TableEntry, spec: _Value, value: int) -> bytes:
    """Canonical bytestring: the shortest that holds the value, one byte for zero."""
    if not 0 <= value < 1 << spec.width:
        raise _misfit(entry, f"{spec.name} = {value} does not fit in {spec.width} bits")
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def _misfit(entry: TableEntry, reason: str) -> EntryError:
    return EntryError(f"table {entry.table}, entry {entry}: {reason}")
