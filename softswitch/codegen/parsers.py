# SPDX-License-Identifier: Apache-2.0
"""The parser: states as straight code, one path after another.

A parser error ends parsing, is kept in ``parser_error``, and the ingress pipeline runs all the
same with the headers extracted so far (``simple_switch``). At the end of every path the headers
that it did not extract are marked invalid and their fields are zero; BMv2 leaves there what an
earlier packet held.
"""

from __future__ import annotations

from dataclasses import dataclass

from softswitch.codegen import values
from softswitch.codegen.actions import ActionCode
from softswitch.codegen.calculations import verify_checksums
from softswitch.codegen.expressions import evaluate
from softswitch.codegen.scope import Scope, Writer, base_var, start_var, valid_var
from softswitch.codegen.values import Value
from softswitch.errors import ProgramError
from softswitch.model import Action, Field, Header, Json, ParseState

MAX_LINES = 20_000
#: Validity in the parser comes from extraction alone.
VALIDITY_PRIMITIVES = ("add_header", "remove_header", "assign_header", "copy_header")


@dataclass(frozen=True, slots=True)
class Offset:
    """Position in the frame: a variable (or none) plus a constant, in bytes."""

    base: str
    constant: int

    def plus(self, count: int) -> Offset:
        return Offset(self.base, self.constant + count)

    def at(self, count: int) -> str:
        total = self.constant + count
        if not self.base:
            return str(total)
        return f"{self.base} + {total}" if total else self.base


class ParserCode:
    """Writes the parser. ``_offset`` is where the payload begins when it is done; ``early``:
    ingress deparses, nothing of a header that was not extracted travels on."""

    def __init__(self, out: Writer, scope: Scope, early: bool) -> None:
        self.out = out
        self.scope = scope
        self.early = early
        self.advances = 0
        self.error = scope.model.well_known("standard_metadata.parser_error")

    def write(self) -> None:
        self.scope.section = "parser"
        no_error = values.const(self.scope.model.errors.get("NoError", 0))
        if self.error is not None and self.scope.write(self.error, no_error):
            self.out.line(f"{self.error.var} = {no_error.text}")
        init = self.scope.model.init_state
        if init is None:
            self._finish(Offset("", 0), frozenset())
        else:
            with self.out.block("while True:"):
                self._state(init, Offset("", 0), frozenset(), ())
        verify_checksums(self.out, self.scope)

    def _state(
        self, name: str | None, at: Offset, done: frozenset[str], path: tuple[str, ...]
    ) -> None:
        """One state and everything after it; ends with ``break`` on every path."""
        if name is None:
            self._finish(at, done)
            self.out.line("break")
            return
        state = self.scope.model.states.get(name)
        if state is None:
            raise ProgramError("$.parsers[0]", f"unknown state {name!r}")
        if name in path:
            raise ProgramError(state.place, f"a parser loop (through {name}) is not supported")
        if len(self.out.lines) > MAX_LINES:
            raise ProgramError(state.place, "the parser has too many paths")
        self.out.line(f"# state {name}")
        for i, op in enumerate(state.ops):
            at, done = self._op(op, at, done, f"{state.place}.parser_ops[{i}]")
        self._transitions(state, at, done, (*path, name))

    def _op(
        self, op: Json, at: Offset, done: frozenset[str], place: str
    ) -> tuple[Offset, frozenset[str]]:
        kind, params = op["op"], op["parameters"]
        if kind == "extract":
            return self._extract(params[0], at, done, place)
        if kind == "set":
            self._set(params, at, done, place)
        elif kind == "verify":
            good = values.as_bool(evaluate(params[0], self.scope, place))
            code = values.as_int(evaluate(params[1], self.scope, place))
            self._fail_if(values.negate(good), code, at, done)
        elif kind == "advance":
            return self._advance(params[0], at, done, place), done
        elif kind == "shift":
            count = int(params[0])
            self._need(at.plus(count), at, done)
            return at.plus(count), done
        elif kind == "primitive":
            if params[0]["op"] in VALIDITY_PRIMITIVES:
                raise ProgramError(place, f"{params[0]['op']!r} in a parser is not supported")
            action = Action("parser", -1, place, (), (params[0],))
            ActionCode(self.out, self.scope, action, ()).write()
        else:
            raise ProgramError(place, f"parser operation {kind!r} is not supported")
        return at, done

    def _extract(
        self, param: Json, at: Offset, done: frozenset[str], place: str
    ) -> tuple[Offset, frozenset[str]]:
        if param["type"] != "regular":
            raise ProgramError(place, f"extraction to a {param['type']!r} is not supported")
        header = self.scope.header(param["value"], place)
        self._need(at.plus(header.size), at, done)
        self._fields(header, at)
        self.out.line(f"{valid_var(header)} = 1")
        self.scope.write_valid(header, 1)
        return at.plus(header.size), done | {header.name}

    def _fields(self, header: Header, at: Offset) -> None:
        """Extract what is used: the whole header as one integer where it is put together again
        or where single fields would be slower, else the fields from their bytes."""
        scope, base = self.scope, base_var(header)
        needed = [f for f in header.fields if scope.is_used(f.var)]
        rebuilt = scope.rebuilt(header)
        whole = rebuilt or sum(not _in_one_byte(header, f) for f in needed) > 1
        if whole:
            end = at.plus(header.size)
            self.out.line(f"{base} = _from_bytes(frame[{at.at(0)}:{end.at(0)}])")
        if not rebuilt and scope.header_is_sent(header):
            self.out.line(f"{start_var(header)} = {at.at(0)}")
        for field in needed:
            self.out.line(f"{field.var} = {_extraction(header, field, at, whole)}")
            self.out.facts.stored(field.var)

    def _set(self, params: list[Json], at: Offset, done: frozenset[str], place: str) -> None:
        if params[0]["type"] != "field":
            raise ProgramError(place, f"storing to a {params[0]['type']!r} is not supported")
        field = self.scope.field(*params[0]["value"], place)
        if params[1]["type"] == "lookahead":
            value = self._lookahead(params[1]["value"], at, done)
        else:
            value = evaluate(params[1], self.scope, place)
        kept = values.cut(value, field.width, field.signed)
        if self.scope.write(field, kept):
            self.out.line(f"{field.var} = {kept.text}")

    def _lookahead(self, value: Json, at: Offset, done: frozenset[str]) -> Value:
        bit, width = value
        first, last = bit // 8, (bit + width + 7) // 8
        self._need(at.plus(last), at, done)
        spare = last * 8 - bit - width
        whole = f"_from_bytes(frame[{at.at(first)}:{at.at(last)}])"
        taken = Value(whole, 0, (1 << (last - first) * 8) - 1, atom=True)
        shifted = values.shift_right(taken, values.const(spare))
        return values.bit_and(shifted, values.const((1 << width) - 1))

    def _advance(self, param: Json, at: Offset, done: frozenset[str], place: str) -> Offset:
        amount = values.as_int(evaluate(param, self.scope, place))
        invalid = values.const(self.scope.model.errors.get("ParserInvalidArgument", 0))
        if amount.constant is not None:
            if amount.constant % 8:
                raise ProgramError(place, "an advance by no whole number of bytes")
            self._need(at.plus(amount.constant // 8), at, done)
            return at.plus(amount.constant // 8)
        self.advances += 1
        name = f"_advanced_{self.advances}"
        self.out.line(f"{name} = {amount.text}")
        bits = Value(name, 0, amount.hi, atom=True)
        odd = values.compare(values.bit_and(bits, values.const(7)), "!=", values.const(0))
        self._fail_if(odd, invalid, at, done)
        self.out.line(f"{name} = {at.at(0)} + ({name} >> 3)")
        moved = Offset(name, 0)
        self._need(moved, at, done)
        return moved

    def _need(self, end: Offset, at: Offset, done: frozenset[str]) -> None:
        """PacketTooShort unless the frame reaches up to ``end``."""
        if not end.base and end.constant == 0:
            return
        self.scope.usage.reads["parser"].add("_length")
        short = Value(f"_length < {end.at(0)}", 0, 1, boolean=True)
        code = values.const(self.scope.model.errors.get("PacketTooShort", 0))
        self._fail_if(short, code, at, done)

    def _fail_if(self, bad: Value, code: Value, at: Offset, done: frozenset[str]) -> None:
        if bad.constant == 0:
            return
        with self.out.block(f"if {bad.text}:"):
            if self.error is not None and self.scope.write(self.error, code):
                self.out.line(f"{self.error.var} = {code.text}")
            self._finish(at, done)
            self.out.line("break")

    def _finish(self, at: Offset, done: frozenset[str]) -> None:
        """Invalid headers, their fields, and the payload's offset, at the end of a path."""
        cleared: list[str] = []
        for header in self.scope.model.headers.values():
            if header.metadata or header.name in done:
                continue
            if self.scope.is_read(valid_var(header)):
                cleared.append(valid_var(header))
            later = ("ingress", "egress") if self.early else ("ingress", "egress", "deparser")
            cleared += [f.var for f in header.fields if self.scope.is_read(f.var, *later)]
            if not self.early and header.name in self.scope.model.deparser:
                rebuilt = self.scope.rebuilt(header)
                cleared.append(base_var(header) if rebuilt else start_var(header))
        for name in cleared:
            self.out.facts.stored(name)
        if cleared:
            self.out.line(" = ".join([*cleared, "0"]))
        self.out.line(f"_offset = {at.at(0)}")

    def _transitions(
        self, state: ParseState, at: Offset, done: frozenset[str], path: tuple[str, ...]
    ) -> None:
        keys = [self._key(k, at, done, f"{state.place}.transition_key") for k in state.key]
        default: str | None = None
        for transition in state.transitions:
            if transition.value is None:
                default = transition.next_state
                break
            test = _match(keys, transition.value, transition.mask)
            if test.constant == 0:
                continue
            with self.out.block(f"if {test.text}:"):
                self._state(transition.next_state, at, done, path)
        self._state(default, at, done, path)

    def _key(self, item: Json, at: Offset, done: frozenset[str], place: str) -> tuple[Value, int]:
        """A part of a state's key and its width in bytes."""
        if item["type"] == "field":
            field = self.scope.field(*item["value"], place)
            return self.scope.read(*item["value"], place), (field.width + 7) // 8
        if item["type"] == "lookahead":
            self.advances += 1
            name = f"_ahead_{self.advances}"
            value = self._lookahead(item["value"], at, done)
            self.out.line(f"{name} = {value.text}")
            return Value(name, value.lo, value.hi, atom=True), (item["value"][1] + 7) // 8
        raise ProgramError(place, f"a {item['type']!r} in a transition key is not supported")


def _match(keys: list[tuple[Value, int]], value: int, mask: int | None) -> Value:
    """Equality of all parts; value and mask are the parts' bytes one after another."""
    test = values.truth(True)
    for key, size in reversed(keys):
        ones = (1 << 8 * size) - 1
        wanted, covered = value & ones, ones if mask is None else mask & ones
        value >>= 8 * size
        mask = None if mask is None else mask >> 8 * size
        if covered == 0:
            continue
        masked = values.bit_and(key, values.const(covered))
        part = values.compare(masked, "==", values.const(wanted & covered))
        test = values.both(part, test)
    return test


def _in_one_byte(header: Header, field: Field) -> bool:
    first = header.bits - field.shift - field.width
    return first // 8 == (first + field.width - 1) // 8


def _extraction(header: Header, field: Field, at: Offset, whole: bool) -> str:
    first = header.bits - field.shift - field.width
    byte, last = first // 8, (first + field.width - 1) // 8 + 1
    spare = last * 8 - first - field.width
    if last - byte == 1:
        taken = Value(f"frame[{at.at(byte)}]", 0, 255, atom=True)
    elif whole:
        taken = Value(base_var(header), 0, (1 << header.bits) - 1, atom=True)
        spare = field.shift
    else:
        text = f"_from_bytes(frame[{at.at(byte)}:{at.at(last)}])"
        taken = Value(text, 0, (1 << (last - byte) * 8) - 1, atom=True)
    shifted = values.shift_right(taken, values.const(spare))
    value = values.bit_and(shifted, values.const(field.mask))
    if field.signed:
        value = values.cut(value, field.width, signed=True)
    return value.text
