# SPDX-License-Identifier: Apache-2.0
"""P4Runtime table entries to and from the switch's keys, action names and parameter values.

A key is a tuple in the table's field order: exact int; lpm (value, prefix length); ternary and
optional (value, mask); range (low, high). Don't-care fields are absent on the wire.
"""

from collections.abc import Mapping, Sequence

from p4.v1 import p4runtime_pb2

from softswitch.p4rt import bytestring
from softswitch.p4rt.errors import denied, invalid, out_of_range
from softswitch.p4rt.p4info import ActionSpec, FieldSpec, P4InfoIndex, TableSpec

Key = tuple[int | tuple[int, int], ...]


def decode_value(data: bytes, width: int, where: str) -> int:
    """Value of a bytestring; an error naming `where`: INVALID_ARGUMENT when it is empty,
    OUT_OF_RANGE when it is too wide (P4Runtime specification, "Bytestrings")."""
    try:
        return bytestring.decode(data, width)
    except bytestring.TooWideError as error:
        raise out_of_range(f"{where}: {error}") from None
    except bytestring.BytestringError as error:
        raise invalid(f"{where}: {error}") from None


def decode_key(table: TableSpec, entry: p4runtime_pb2.TableEntry) -> tuple[Key, int]:
    """Key and priority of `entry`; INVALID_ARGUMENT naming table and field when malformed."""
    given: dict[int, p4runtime_pb2.FieldMatch] = {}
    known = {field.id for field in table.fields}
    for match in entry.match:
        if match.field_id not in known:
            raise invalid(f"table {table.name}: no match field with id {match.field_id}")
        if match.field_id in given:
            raise invalid(f"table {table.name}: match field {match.field_id} is given twice")
        given[match.field_id] = match
    if table.has_priority and entry.priority <= 0:
        raise invalid(f"table {table.name}: entries need a priority above 0")
    if not table.has_priority and entry.priority != 0:
        raise invalid(f"table {table.name}: entries take no priority, got {entry.priority}")
    key = tuple(_decode_match(table, field, given.get(field.id)) for field in table.fields)
    return key, entry.priority


def _decode_match(
    table: TableSpec, field: FieldSpec, match: p4runtime_pb2.FieldMatch | None
) -> int | tuple[int, int]:
    where = f"table {table.name}: field {field.name}"
    full = (1 << field.width) - 1
    if match is None:
        if field.kind == "exact":
            raise invalid(f"{where}: an exact match cannot be left out")
        return (0, full) if field.kind == "range" else (0, 0)
    kind = match.WhichOneof("field_match_type")
    if kind != field.kind:
        raise invalid(f"{where}: takes {field.kind}, got {kind}")
    part = getattr(match, kind)
    if kind == "exact":
        return decode_value(part.value, field.width, where)
    if kind == "optional":
        return decode_value(part.value, field.width, where), full
    if kind == "lpm":
        return _decode_lpm(part, field, where)
    if kind == "ternary":
        value = decode_value(part.value, field.width, where)
        mask = decode_value(part.mask, field.width, f"{where} mask")
        if mask == 0:
            raise invalid(f"{where}: a mask of zero is a don't-care match, leave it out")
        if value & ~mask:
            raise invalid(f"{where}: value 0x{value:x} has bits outside its mask 0x{mask:x}")
        return value, mask
    low = decode_value(part.low, field.width, f"{where} low")
    high = decode_value(part.high, field.width, f"{where} high")
    if low > high:
        raise invalid(f"{where}: range {low}..{high} is empty")
    if (low, high) == (0, full):
        raise invalid(f"{where}: the full range is a don't-care match, leave it out")
    return low, high


def _decode_lpm(lpm: p4runtime_pb2.FieldMatch.LPM, field: FieldSpec, where: str) -> tuple[int, int]:
    value = decode_value(lpm.value, field.width, where)
    if lpm.prefix_len == 0:
        raise invalid(f"{where}: a prefix of length 0 is a don't-care match, leave it out")
    if not 0 < lpm.prefix_len <= field.width:
        raise invalid(f"{where}: prefix length {lpm.prefix_len} is outside 1..{field.width}")
    if value & (1 << field.width - lpm.prefix_len) - 1:
        raise invalid(f"{where}: value 0x{value:x} has bits beyond its prefix /{lpm.prefix_len}")
    return value, lpm.prefix_len


def encode_key(table: TableSpec, key: Key, into: p4runtime_pb2.TableEntry) -> None:
    """Append the match fields of `key` to `into`, canonical, don't-care fields left out."""
    for field, part in zip(table.fields, key, strict=True):
        full = (1 << field.width) - 1
        if field.kind == "exact":
            into.match.add(field_id=field.id).exact.value = bytestring.encode(part)
            continue
        first, second = part
        if (first, second) == (0, full) if field.kind == "range" else second == 0:
            continue
        match = into.match.add(field_id=field.id)
        value = bytestring.encode(first)
        if field.kind == "lpm":
            match.lpm.value, match.lpm.prefix_len = value, second
        elif field.kind == "optional":
            match.optional.value = value
        elif field.kind == "ternary":
            match.ternary.value, match.ternary.mask = value, bytestring.encode(second)
        else:
            match.range.low, match.range.high = value, bytestring.encode(second)


def decode_action(
    index: P4InfoIndex, table: TableSpec, action: p4runtime_pb2.TableAction, *, default: bool
) -> tuple[str, tuple[int, ...]]:
    """Action name and parameter values.

    Raises INVALID_ARGUMENT for an action the table does not have or malformed parameters,
    PERMISSION_DENIED for an action used outside its scope (`default`: as default action).
    """
    kind = action.WhichOneof("type")
    if kind != "action":
        raise invalid(f"table {table.name}: takes a direct action, got {kind}")
    scope = table.actions.get(action.action.action_id)
    if scope is None:
        raise invalid(f"table {table.name}: has no action with id {action.action.action_id}")
    spec = index.actions[action.action.action_id]
    if not (scope.default if default else scope.entry):
        use = "the default action" if default else "an entry's action"
        raise denied(f"table {table.name}: action {spec.name} cannot be {use}")
    return spec.name, _decode_params(table, spec, action.action.params)


def _decode_params(
    table: TableSpec, action: ActionSpec, params: Sequence[p4runtime_pb2.Action.Param]
) -> tuple[int, ...]:
    where = f"table {table.name}: action {action.name}"
    given: dict[int, bytes] = {}
    known = {param.id for param in action.params}
    for param in params:
        if param.param_id not in known:
            raise invalid(f"{where}: no parameter with id {param.param_id}")
        if param.param_id in given:
            raise invalid(f"{where}: parameter {param.param_id} is given twice")
        given[param.param_id] = param.value
    values = []
    for spec in action.params:
        if spec.id not in given:
            raise invalid(f"{where}: parameter {spec.name} is missing")
        place = f"{where}: parameter {spec.name}"
        values.append(decode_value(given[spec.id], spec.width, place))
    return tuple(values)


def encode_action(
    actions_by_name: Mapping[str, ActionSpec],
    name: str,
    params: Sequence[int],
    into: p4runtime_pb2.TableEntry,
) -> None:
    """Set the action of `into`."""
    spec = actions_by_name[name]
    into.action.action.action_id = spec.id
    for param, value in zip(spec.params, params, strict=True):
        into.action.action.params.add(param_id=param.id, value=bytestring.encode(value))
