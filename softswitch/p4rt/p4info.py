# SPDX-License-Identifier: Apache-2.0
"""Index of a P4Info message: what the service needs to know of each object, by its id."""

from dataclasses import dataclass, field

from p4.config.v1 import p4info_pb2

from softswitch.p4rt.errors import invalid, not_found, unimplemented

_KINDS = {
    p4info_pb2.MatchField.EXACT: "exact",
    p4info_pb2.MatchField.LPM: "lpm",
    p4info_pb2.MatchField.TERNARY: "ternary",
    p4info_pb2.MatchField.RANGE: "range",
    p4info_pb2.MatchField.OPTIONAL: "optional",
}
_WITH_PRIORITY = {"ternary", "range", "optional"}

# Kinds of P4Info objects that no program loaded here may use.
_REFUSED = ("action_profiles", "value_sets", "digests", "externs")


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A match field or an action parameter; `kind` is empty for a parameter. Width in bits."""

    id: int
    name: str
    width: int
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    id: int
    name: str
    params: tuple[FieldSpec, ...]


@dataclass(frozen=True, slots=True)
class ActionScope:
    """Where a table allows an action: as the action of an entry, as the default, or both."""

    entry: bool
    default: bool


@dataclass(frozen=True, slots=True)
class TableSpec:
    id: int
    name: str
    fields: tuple[FieldSpec, ...]
    actions: dict[int, ActionScope]
    size: int
    is_const: bool
    const_default: bool
    direct_counter: int = 0
    direct_meter: int = 0

    @property
    def has_priority(self) -> bool:
        return any(match.kind in _WITH_PRIORITY for match in self.fields)


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An indexed counter, meter or register; `width` in bits, of registers only."""

    id: int
    name: str
    size: int
    width: int = 0


@dataclass(frozen=True, slots=True)
class DirectSpec:
    """A direct counter or direct meter and the id of its table."""

    id: int
    name: str
    table: int


@dataclass(slots=True)
class P4InfoIndex:
    """Objects of one P4Info by id, and actions by name (the switch answers with names)."""

    message: p4info_pb2.P4Info
    tables: dict[int, TableSpec] = field(default_factory=dict)
    actions: dict[int, ActionSpec] = field(default_factory=dict)
    actions_by_name: dict[str, ActionSpec] = field(default_factory=dict)
    counters: dict[int, ArraySpec] = field(default_factory=dict)
    meters: dict[int, ArraySpec] = field(default_factory=dict)
    registers: dict[int, ArraySpec] = field(default_factory=dict)
    direct_counters: dict[int, DirectSpec] = field(default_factory=dict)
    direct_meters: dict[int, DirectSpec] = field(default_factory=dict)

    def table(self, table_id: int) -> TableSpec:
        """Raises NOT_FOUND when the P4Info has no such table."""
        spec = self.tables.get(table_id)
        if spec is None:
            raise not_found(f"no table with id {table_id} in the p4info")
        return spec

    def array(self, kind: str, object_id: int) -> ArraySpec:
        """The counter, meter or register (`kind`) with this id; NOT_FOUND when there is none."""
        spec = {"counter": self.counters, "meter": self.meters, "register": self.registers}[
            kind
        ].get(object_id)
        if spec is None:
            raise not_found(f"no {kind} with id {object_id} in the p4info")
        return spec


def build_index(message: p4info_pb2.P4Info) -> P4InfoIndex:
    """Index `message`.

    Raises RpcError: UNIMPLEMENTED for an object the switch has no counterpart of,
    INVALID_ARGUMENT for a P4Info that contradicts itself.
    """
    for kind in _REFUSED:
        for item in getattr(message, kind):
            name = item.preamble.name if kind != "externs" else item.extern_type_name
            raise unimplemented(f"p4info: {kind[:-1].replace('_', ' ')} {name} is not supported")
    index = P4InfoIndex(message)
    for action in message.actions:
        spec = ActionSpec(
            action.preamble.id,
            action.preamble.name,
            tuple(FieldSpec(p.id, p.name, p.bitwidth) for p in action.params),
        )
        _add(index.actions, spec)
        index.actions_by_name[spec.name] = spec
    for kind in ("counter", "meter"):
        for item in getattr(message, f"{kind}s"):
            array = ArraySpec(item.preamble.id, item.preamble.name, item.size)
            _add(index.counters if kind == "counter" else index.meters, array)
        for item in getattr(message, f"direct_{kind}s"):
            direct = DirectSpec(item.preamble.id, item.preamble.name, item.direct_table_id)
            _add(index.direct_counters if kind == "counter" else index.direct_meters, direct)
    for register in message.registers:
        _add(index.registers, _register(register))
    for table in message.tables:
        _add(index.tables, _table(table, index))
    return index


def _add(where: dict, spec) -> None:
    if spec.id in where:
        raise invalid(f"p4info: id {spec.id} of {spec.name} is used twice")
    where[spec.id] = spec


def _register(register: p4info_pb2.Register) -> ArraySpec:
    name = register.preamble.name
    bits = register.type_spec.bitstring
    if register.type_spec.WhichOneof("type_spec") != "bitstring" or not bits.HasField("bit"):
        raise unimplemented(f"p4info: register {name} does not hold bit<W> values")
    return ArraySpec(register.preamble.id, name, register.size, bits.bit.bitwidth)


def _table(table: p4info_pb2.Table, index: P4InfoIndex) -> TableSpec:
    name = table.preamble.name
    if table.implementation_id:
        raise unimplemented(f"p4info: table {name} has an action profile")
    actions = {}
    for ref in table.action_refs:
        if ref.id not in index.actions:
            raise invalid(f"p4info: table {name} refers to an unknown action {ref.id}")
        actions[ref.id] = ActionScope(
            entry=ref.scope != p4info_pb2.ActionRef.DEFAULT_ONLY,
            default=ref.scope != p4info_pb2.ActionRef.TABLE_ONLY,
        )
    direct = set(table.direct_resource_ids)
    return TableSpec(
        id=table.preamble.id,
        name=name,
        fields=tuple(_match_field(name, match) for match in table.match_fields),
        actions=actions,
        size=table.size,
        is_const=table.is_const_table,
        const_default=table.const_default_action_id != 0,
        direct_counter=next((i for i in direct if i in index.direct_counters), 0),
        direct_meter=next((i for i in direct if i in index.direct_meters), 0),
    )


def _match_field(table: str, match: p4info_pb2.MatchField) -> FieldSpec:
    kind = _KINDS.get(match.match_type)
    if kind is None:
        raise unimplemented(f"p4info: table {table}: match kind of {match.name} is not supported")
    return FieldSpec(match.id, match.name, match.bitwidth, kind)
