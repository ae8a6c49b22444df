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
        if self.scope.write(field):
            self.out.line(f"{field.var} = {values.cut(value, field.width, field.signed).text}")

    def index(self, operand: Json, array: ArrayDef, place: str) -> tuple[str, bool]:
        """Text of an array index, and whether it must be checked against the array's size."""
        value = values.as_int(self.evaluate(operand, place))
        text = value.text
        if not value.atom:
            self.out.line(f"_i = {value.text}")
            text = "_i"
        return text, not value.within(0, array.size - 1)

    def header(self, operand: Json, place: str) -> Header:
        if operand["type"] != "header":
            raise ProgramError(place, f"a {operand['type']!r} operand is not supported here")
        return self.scope.header(operand["value"], place)

    def guarded(self, index: str, check: bool, array: ArrayDef, lines: Sequence[str]) -> None:
        if not check:
            for line in lines:
                self.out.line(line)
            return
        with self.out.block(f"if 0 <= {index} < {array.size}:"):
            for line in lines:
                self.out.line(line)


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
    index, check = code.index(params[1], array, place)
    lines = [f"{array.var}__packets[{index}] += 1", f"{array.var}__bytes[{index}] += _length"]
    code.guarded(index, check, array, lines)


def _register_read(code: ActionCode, params: list[Json], place: str) -> None:
    array = _array(code.scope.model.registers, params[1], place)
    field = code.target(params[0], place)
    if not code.scope.write(field):
        return
    index, check = code.index(params[2], array, place)
    cell = values.variable(f"{array.var}__cells[{index}]", array.width)
    value = values.cut(cell, field.width, field.signed)
    code.guarded(index, check, array, [f"{field.var} = {value.text}"])


def _register_write(code: ActionCode, params: list[Json], place: str) -> None:
    array = _array(code.scope.model.registers, params[0], place)
    index, check = code.index(params[1], array, place)
    value = values.cut(code.evaluate(params[2], place), array.width, signed=False)
    code.guarded(index, check, array, [f"{array.var}__cells[{index}] = {value.text}"])


def _execute_meter(code: ActionCode, params: list[Json], place: str) -> None:
    array = _array(code.scope.model.meters, params[0], place)
    field = code.target(params[2], place)
    code.scope.write(field)
    code.scope.usage.reads[code.scope.section].add("_length")
    index, check = code.index(params[1], array, place)
    line = f"{field.var} = {array.var}__execute({index}, _length, now_us)"
    code.guarded(index, check, array, [line])


def _random(code: ActionCode, params: list[Json], place: str) -> None:
    """``random(lo, hi)``: uniform, both ends included; nothing is stored when lo > hi."""
    field = code.target(params[0], place)
    if not code.scope.write(field):
        return
    lo = values.as_int(code.evaluate(params[1], place))
    hi = values.as_int(code.evaluate(params[2], place))
    span = values.add(values.sub(hi, lo), values.const(1))
    if span.hi is not None and span.hi <= EXACT_SPAN:
        draw = Value(f"int(_random() * {span.operand})", 0, span.hi - 1, atom=True)
        draw = values.add(lo, draw)
    else:
        draw = Value(f"_randint({lo.text}, {hi.text})", lo.lo, hi.hi, atom=True)
    line = f"{field.var} = {values.cut(draw, field.width, field.signed).text}"
    ordered = values.compare(lo, "<=", hi)
    if ordered.constant == 1:
        code.out.line(line)
    elif ordered.constant is None:
        with code.out.block(f"if {ordered.text}:"):
            code.out.line(line)


def _hash(code: ActionCode, params: list[Json], place: str) -> None:
    """``hash``: base + (H % max), a max of 0 counts as 1."""
    field = code.target(params[0], place)
    if not code.scope.write(field):
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
    code.scope.read_valid(header)
    code.scope.write_valid(header)
    names = [valid_var(header)]
    cleared = [f.var for f in header.fields if code.scope.is_used(f.var)]
    with code.out.block(f"if not {names[0]}:"):
        code.out.line(f"{names[0]} = 1")
        if header.name in code.scope.model.deparser:
            cleared.append(base_var(header))
        if cleared:
            code.out.line(" = ".join(cleared) + " = 0")
        for field in header.fields:
            code.scope.usage.writes[code.scope.section].add(field.var)
        _grow(code, header.size)


def _remove_header(code: ActionCode, params: list[Json], place: str) -> None:
    header = code.header(params[0], place)
    code.scope.read_valid(header)
    code.scope.write_valid(header)
    with code.out.block(f"if {valid_var(header)}:"):
        code.out.line(f"{valid_var(header)} = 0")
        _grow(code, -header.size)


def _assign_header(code: ActionCode, params: list[Json], place: str) -> None:
    """Copies validity; fields only from a valid header."""
    dst, src = code.header(params[0], place), code.header(params[1], place)
    valid = code.scope.read_valid(src)
    code.scope.write_valid(dst)
    with code.out.block(f"if {valid.text}:"):
        code.out.line(f"{valid_var(dst)} = 1")
        if dst.name in code.scope.model.deparser:
            code.out.line(f"{base_var(dst)} = 0")
        for to, source in zip(dst.fields, src.fields, strict=True):
            value = code.scope.read(source.header, source.name, place)
            if code.scope.write(to):
                code.out.line(f"{to.var} = {value.text}")
    with code.out.block("else:"):
        code.out.line(f"{valid_var(dst)} = 0")


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
