# SPDX-License-Identifier: Apache-2.0
"""Action bodies: each primitive of ``targets/simple_switch`` as Python statements.

An index outside an array leaves everything as it was (BMv2's own behaviour in its checking
builds; its optimised builds do not look).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from softswitch.codegen import values
from softswitch.codegen.calculations import calculation_value
from softswitch.codegen.expressions import evaluate
from softswitch.codegen.scope import Scope, Writer, base_var, valid_var
from softswitch.codegen.values import Value
from softswitch.errors import ProgramError
from softswitch.model import Action, ArrayDef, Field, Header, Json

#: ``egress_spec`` of a packet to be dropped (simple_switch ``--drop-port``).
DROP_PORT = 511
#: Spans of ``random`` up to here keep a double's 53 bits far from visible rounding.
EXACT_SPAN = 1 << 40

Emit = Callable[["ActionCode", list[Json], str], None]


class ActionCode:
    """Writes one action's body; ``args`` are the values of its parameters."""

    def __init__(self, out: Writer, scope: Scope, action: Action, args: Sequence[Value]) -> None:
        self.out = out
        self.scope = scope
        self.action = action
        self.args = args
        self.exits = False

    def write(self) -> None:
        """The whole body, with jumps turned back into if and else."""
        self._range(0, len(self.action.primitives))

    def _range(self, first: int, end: int) -> None:
        i = first
        while i < end:
            primitive = self.action.primitives[i]
            place = f"{self.action.place}.primitives[{i}]"
            if primitive["op"] == "_jump_if_zero":
                i = self._conditional(i, end, place)
            elif primitive["op"] == "_jump":
                if _jump_target(primitive["parameters"][0], place) != i + 1:
                    raise ProgramError(place, "a jump that belongs to no if is not supported")
                i += 1
            else:
                self._primitive(primitive, place)
                i += 1

    def _conditional(self, at: int, end: int, place: str) -> int:
        condition, target = self.action.primitives[at]["parameters"]
        after = other = _jump_target(target, place)
        test = values.as_bool(self.evaluate(condition, place))
        if at < other <= end and self.action.primitives[other - 1]["op"] == "_jump":
            after = _jump_target(self.action.primitives[other - 1]["parameters"][0], place)
        has_else = after > other
        if not at < other <= after <= end:
            raise ProgramError(place, "a jump that belongs to no if is not supported")
        with self.out.block(f"if {test.text}:"):
            self._range(at + 1, other - 1 if has_else else other)
        if has_else:
            with self.out.block("else:"):
                self._range(other, after)
        return after

    def _primitive(self, primitive: Json, place: str) -> None:
        emit = PRIMITIVES.get(primitive["op"])
        if emit is None:
            raise ProgramError(place, f"primitive {primitive['op']!r} is not supported")
        emit(self, primitive["parameters"], place)

    def evaluate(self, operand: Json, place: str) -> Value:
        return evaluate(operand, self.scope, place, self.args)

    def target(self, operand: Json, place: str) -> Field:
        """The field that an operand names as the place to store to."""
        while operand["type"] == "expression" and "type" in operand["value"]:
            operand = operand["value"]
        if operand["type"] != "field":
            raise ProgramError(place, f"storing to a {operand['type']!r} is not supported")
        return self.scope.field(*operand["value"], place)

    def store(self, field: Field, value: Value, place: str) -> None:
        if field is self.scope.model.well_known("intrinsic_metadata.mcast_grp"):
            raise ProgramError(place, "multicast groups are not supported")
        self.put(field, value)

    def put(self, field: Field, value: Value) -> None:
        """The statement that stores a value cut to the field."""
        kept = values.cut(value, field.width, field.signed)
        if self.scope.write(field, kept):
            self.out.line(f"{field.var} = {kept.text}")

    def index(self, operand: Json, array: ArrayDef, place: str) -> tuple[str, Value]:
        """Text of an array index, and the condition that it lies within the array."""
        value = values.as_int(self.evaluate(operand, place))
        if not value.atom:
            self.out.line(f"_i = {value.text}")
            value = Value("_i", value.lo, value.hi, atom=True)
        above = values.compare(value, "<", values.const(array.size))
        below = values.compare(value, ">=", values.const(0))
        return value.text, values.both(below, above)

    def header(self, operand: Json, place: str) -> Header:
        if operand["type"] != "header":
            raise ProgramError(place, f"a {operand['type']!r} operand is not supported here")
        return self.scope.header(operand["value"], place)

    def guarded(self, condition: Value, write: Callable[[], None]) -> None:
        """What ``write`` writes, under the condition unless that always holds."""
        if condition.constant == 1:
            write()
        elif condition.constant is None:
            with self.out.block(f"if {condition.text}:"):
                write()


def _jump_target(operand: Json, place: str) -> int:
    value = operand["value"]
    if operand["type"] != "hexstr":
        raise ProgramError(place, "a computed jump is not supported")
    return int(value, 16)


def _array(arrays: dict[str, ArrayDef], operand: Json, place: str) -> ArrayDef:
    if operand.get("value") not in arrays:
        raise ProgramError(place, f"unknown array {operand.get('value')!r}")
    return arrays[operand["value"]]


def _assign(code: ActionCode, params: list[Json], place: str) -> None:
    code.store(code.target(params[0], place), code.evaluate(params[1], place), place)


def _add_to(code: ActionCode, params: list[Json], place: str) -> None:
    total = values.add(code.evaluate(params[0], place), code.evaluate(params[1], place))
    code.store(code.target(params[0], place), total, place)


def _subtract_from(code: ActionCode, params: list[Json], place: str) -> None:
    rest = values.sub(code.evaluate(params[0], place), code.evaluate(params[1], place))
    code.store(code.target(params[0], place), rest, place)


def _mark_to_drop(code: ActionCode, params: list[Json], place: str) -> None:
    spec = code.scope.model.well_known("standard_metadata.egress_spec")
    if spec is None:
        raise ProgramError(place, "the program has no standard_metadata.egress_spec")
    code.store(spec, values.const(DROP_PORT), place)


def _count(code: ActionCode, params: list[Json], place: str) -> None:
    array = _array(code.scope.model.counters, params[0], place)
    code.scope.usage.reads[code.scope.section].add("_length")
    index, within = code.index(params[1], array, place)

    def write() -> None:
        code.out.line(f"{array.var}__packets[{index}] += 1")
        code.out.line(f"{array.var}__bytes[{index}] += _length")

    code.guarded(within, write)


def _register_read(code: ActionCode, params: list[Json], place: str) -> None:
    array = _array(code.scope.model.registers, params[1], place)
    field = code.target(params[0], place)
    if not code.scope.is_read(field.var):
        return
    index, within = code.index(params[2], array, place)
    cell = values.variable(f"{array.var}__cells[{index}]", array.width)
    code.guarded(within, lambda: code.put(field, cell))


def _register_write(code: ActionCode, params: list[Json], place: str) -> None:
    array = _array(code.scope.model.registers, params[0], place)
    index, within = code.index(params[1], array, place)
    value = values.cut(code.evaluate(params[2], place), array.width, signed=False)
    code.guarded(within, lambda: code.out.line(f"{array.var}__cells[{index}] = {value.text}"))


def _execute_meter(code: ActionCode, params: list[Json], place: str) -> None:
    array = _array(code.scope.model.meters, params[0], place)
    field = code.target(params[2], place)
    code.scope.usage.reads[code.scope.section].add("_length")
    index, within = code.index(params[1], array, place)

    def write() -> None:
        code.scope.write(field)
        code.out.line(f"{field.var} = {array.var}__execute({index}, _length, now_us)")

    code.guarded(within, write)


def _random(code: ActionCode, params: list[Json], place: str) -> None:
    """``random(lo, hi)``: uniform, both ends included; nothing is stored when lo > hi."""
    field = code.target(params[0], place)
    if not code.scope.is_read(field.var):
        return
    lo = values.as_int(code.evaluate(params[1], place))
    hi = values.as_int(code.evaluate(params[2], place))
    span = values.add(values.sub(hi, lo), values.const(1))
    if span.hi is not None and span.hi <= EXACT_SPAN:
        draw = Value(f"int(_random() * {span.operand})", 0, span.hi - 1, atom=True)
        draw = values.add(lo, draw)
    else:
        draw = Value(f"_randint({lo.text}, {hi.text})", lo.lo, hi.hi, atom=True)
    code.guarded(values.compare(lo, "<=", hi), lambda: code.put(field, draw))


def _hash(code: ActionCode, params: list[Json], place: str) -> None:
    """``hash``: base + (H % max), a max of 0 counts as 1."""
    field = code.target(params[0], place)
    if not code.scope.is_read(field.var):
        return
    base = values.as_int(code.evaluate(params[1], place))
    size = values.as_int(code.evaluate(params[3], place))
    digest = calculation_value(code.scope, params[2]["value"], place)
    if size.constant is None:
        size = Value(f"max({size.text}, 1)", 1, size.hi, atom=True)
    elif size.constant == 0:
        size = values.const(1)
    rest = Value(f"{digest.operand} % {size.operand}", 0, None if size.hi is None else size.hi - 1)
    code.store(field, values.add(base, rest), place)


def _truncate(code: ActionCode, params: list[Json], place: str) -> None:
    length = values.as_int(code.evaluate(params[0], place))
    code.scope.usage.writes[code.scope.section].add("_cut")
    if length.atom:
        text = length.text
    else:
        code.out.line(f"_i = {length.text}")
        text = "_i"
    with code.out.block(f"if {text} < _cut:"):
        code.out.line(f"_cut = {text}")


def _grow(code: ActionCode, size: int) -> None:
    section = code.scope.section
    code.scope.usage.writes[section].add("_grown")
    code.out.line(f"_grown += {size}" if size >= 0 else f"_grown -= {-size}")


def _add_header(code: ActionCode, params: list[Json], place: str) -> None:
    header = code.header(params[0], place)
    invalid = values.negate(code.scope.read_valid(header))

    def write() -> None:
        code.out.line(f"{valid_var(header)} = 1")
        cleared = [f.var for f in header.fields if code.scope.write(f, values.const(0))]
        if header.name in code.scope.model.deparser:
            cleared.append(base_var(header))
        if cleared:
            code.out.line(" = ".join(cleared) + " = 0")
        _grow(code, header.size)

    code.guarded(invalid, write)
    code.scope.write_valid(header, 1)


def _remove_header(code: ActionCode, params: list[Json], place: str) -> None:
    header = code.header(params[0], place)
    valid = values.as_bool(code.scope.read_valid(header))

    def write() -> None:
        code.out.line(f"{valid_var(header)} = 0")
        _grow(code, -header.size)

    code.guarded(valid, write)
    code.scope.write_valid(header, 0)


def _assign_header(code: ActionCode, params: list[Json], place: str) -> None:
    """Copies validity; fields only from a valid header."""
    dst, src = code.header(params[0], place), code.header(params[1], place)
    valid = values.as_bool(code.scope.read_valid(src))
    copies = [code.scope.read(s.header, s.name, place) for s in src.fields]

    def write() -> None:
        code.out.line(f"{valid_var(dst)} = 1")
        if dst.name in code.scope.model.deparser:
            code.out.line(f"{base_var(dst)} = 0")
        for field, value in zip(dst.fields, copies, strict=True):
            code.put(field, value)

    code.guarded(valid, write)
    if valid.constant is None:
        with code.out.block("else:"):
            code.out.line(f"{valid_var(dst)} = 0")
    elif valid.constant == 0:
        code.out.line(f"{valid_var(dst)} = 0")
    code.scope.write_valid(dst)


def _exit(code: ActionCode, params: list[Json], place: str) -> None:
    """The pipeline ends after this action; what follows in the action still runs."""
    code.exits = True
    code.out.line("_exit = True")


def _log(code: ActionCode, params: list[Json], place: str) -> None:
    arguments = [values.as_int(code.evaluate(p, place)).text for p in params[1]["value"]]
    listed = "".join(f"{a}, " for a in arguments)
    code.out.line(f"_log({params[0]['value']!r}, ({listed}))")


def _nothing(code: ActionCode, params: list[Json], place: str) -> None:
    pass


PRIMITIVES: dict[str, Emit] = {
    "assign": _assign,
    "modify_field": _assign,
    "add_to_field": _add_to,
    "subtract_from_field": _subtract_from,
    "assign_header": _assign_header,
    "copy_header": _assign_header,
    "add_header": _add_header,
    "remove_header": _remove_header,
    "mark_to_drop": _mark_to_drop,
    "drop": _mark_to_drop,
    "count": _count,
    "register_read": _register_read,
    "register_write": _register_write,
    "execute_meter": _execute_meter,
    "modify_field_rng_uniform": _random,
    "modify_field_with_hash_based_offset": _hash,
    "truncate": _truncate,
    "exit": _exit,
    "log_msg": _log,
    "no_op": _nothing,
}
