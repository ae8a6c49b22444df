# SPDX-License-Identifier: Apache-2.0
"""Python expressions under construction, with the range of values they can take.

BMv2 computes with integers of any size and cuts a value to a field's width only when it is
stored. Python integers do the same. The range (``lo`` to ``hi``, None where unbounded) shows
where the cut changes nothing and can be left out; a range of one value is a folded constant.
"""

from __future__ import annotations

from dataclasses import dataclass

#: No field is wider, so a left shift this far leaves nothing of any value in any field.
MAX_SHIFT = 4096


@dataclass(frozen=True, slots=True)
class Value:
    """``text`` is a complete expression; ``atom`` when it needs no parentheses inside another.
    ``origin`` is the condition that became a number, ``inverse`` the text of the opposite."""

    text: str
    lo: int | None
    hi: int | None
    boolean: bool = False
    atom: bool = False
    origin: Value | None = None
    inverse: str = ""

    @property
    def constant(self) -> int | None:
        return self.lo if self.lo is not None and self.lo == self.hi else None

    @property
    def operand(self) -> str:
        return self.text if self.atom else f"({self.text})"

    def within(self, lo: int, hi: int) -> bool:
        return self.lo is not None and self.hi is not None and lo <= self.lo and self.hi <= hi

    @property
    def natural(self) -> bool:
        return self.lo is not None and self.lo >= 0


def const(value: int) -> Value:
    text = str(value) if -10 < value < 256 else hex(value)
    return Value(text, value, value, atom=value >= 0)


def truth(value: bool) -> Value:
    return Value(str(value), int(value), int(value), boolean=True, atom=True)


def variable(name: str, width: int, signed: bool = False) -> Value:
    if signed:
        return Value(name, -(1 << (width - 1)), (1 << (width - 1)) - 1, atom=True)
    return Value(name, 0, (1 << width) - 1, atom=True)


def as_bool(value: Value) -> Value:
    if value.boolean:
        return value
    if value.origin is not None:
        return value.origin
    if value.constant is not None:
        return truth(value.constant != 0)
    if value.atom and value.within(0, 1):
        return Value(value.text, 0, 1, boolean=True, atom=True)
    return Value(f"{value.operand} != 0", 0, 1, boolean=True)


def as_int(value: Value) -> Value:
    if not value.boolean:
        return value
    if value.constant is not None:
        return const(value.constant)
    return Value(f"1 if {value.text} else 0", 0, 1, origin=value)


def cut(value: Value, width: int, signed: bool) -> Value:
    """The value as a field of that width holds it: modulo 2**width, two's complement."""
    value = as_int(value)
    full = (1 << width) - 1
    if not signed:
        if value.within(0, full):
            return value
        if value.constant is not None:
            return const(value.constant & full)
        return Value(f"{value.operand} & {const(full).text}", 0, full)
    half = 1 << (width - 1)
    if value.within(-half, half - 1):
        return value
    if value.constant is not None:
        return const(((value.constant + half) & full) - half)
    text = f"(({value.operand} + {const(half).text}) & {const(full).text}) - {const(half).text}"
    return Value(text, -half, half - 1)


def clamp(value: Value, lo: int, hi: int) -> Value:
    """Saturation to lo..hi."""
    if value.within(lo, hi):
        return value
    if value.constant is not None:
        return const(min(max(value.constant, lo), hi))
    return Value(f"min(max({value.text}, {const(lo).text}), {const(hi).text})", lo, hi, atom=True)


def _ones(bound: int) -> int:
    return (1 << bound.bit_length()) - 1


def add(a: Value, b: Value) -> Value:
    if a.constant == 0:
        return b
    if b.constant == 0:
        return a
    lo = None if a.lo is None or b.lo is None else a.lo + b.lo
    hi = None if a.hi is None or b.hi is None else a.hi + b.hi
    return _binary(a, "+", b, lo, hi)


def sub(a: Value, b: Value) -> Value:
    if b.constant == 0:
        return a
    lo = None if a.lo is None or b.hi is None else a.lo - b.hi
    hi = None if a.hi is None or b.lo is None else a.hi - b.lo
    return _binary(a, "-", b, lo, hi)


def mul(a: Value, b: Value) -> Value:
    if a.constant == 1:
        return b
    if b.constant == 1:
        return a
    if None in (a.lo, a.hi, b.lo, b.hi):
        lo = 0 if a.natural and b.natural else None
        return _binary(a, "*", b, lo, None)
    corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]  # type: ignore[operator]
    return _binary(a, "*", b, min(corners), max(corners))


def bit_and(a: Value, b: Value) -> Value:
    for value, mask in ((a, b), (b, a)):
        m = mask.constant
        if m is not None and m >= 0 and m & (m + 1) == 0 and value.within(0, m):
            return value
    bounds = [v.hi for v in (a, b) if v.natural and v.hi is not None]
    if bounds:
        return _binary(a, "&", b, 0, min(bounds))
    lo = 0 if a.natural or b.natural else None
    return _binary(a, "&", b, lo, None)


def bit_or(a: Value, b: Value) -> Value:
    return _merge(a, "|", b)


def bit_xor(a: Value, b: Value) -> Value:
    return _merge(a, "^", b)


def _merge(a: Value, op: str, b: Value) -> Value:
    if a.constant == 0:
        return b
    if b.constant == 0:
        return a
    if a.natural and b.natural:
        hi = None if a.hi is None or b.hi is None else _ones(max(a.hi, b.hi))
        return _binary(a, op, b, 0, hi)
    return _binary(a, op, b, None, None)


def invert(a: Value) -> Value:
    if a.constant is not None:
        return const(~a.constant)
    lo = None if a.hi is None else ~a.hi
    hi = None if a.lo is None else ~a.lo
    return Value(f"~{a.operand}", lo, hi)


def shift_left(a: Value, b: Value) -> Value:
    if a.constant == 0 or b.constant == 0:
        return a
    if b.constant is not None:
        amount = min(b.constant, MAX_SHIFT)
        lo = None if a.lo is None else a.lo << amount
        hi = None if a.hi is None else a.hi << amount
        return _binary(a, "<<", const(amount), lo, hi)
    if b.hi is None or b.hi > MAX_SHIFT:
        b = Value(f"min({b.text}, {MAX_SHIFT})", 0, MAX_SHIFT, atom=True)
    return _binary(a, "<<", b, 0 if a.natural else None, None)


def shift_right(a: Value, b: Value) -> Value:
    if b.constant == 0:
        return a
    if b.constant is not None:
        lo = None if a.lo is None else a.lo >> b.constant
        hi = None if a.hi is None else a.hi >> b.constant
        return _binary(a, ">>", b, lo, hi)
    lo = None if a.lo is None else min(a.lo, 0)
    hi = None if a.hi is None else max(a.hi, 0)
    return _binary(a, ">>", b, lo, hi)


def divide(a: Value, b: Value) -> Value:
    """Quotient; 0 for a divisor of 0, where BMv2 would abort."""
    if b.constant:
        return _binary(a, "//", b, 0, None if a.hi is None else a.hi // b.constant)
    return Value(f"divide({a.text}, {b.text})", 0, a.hi, atom=True)


def modulo(a: Value, b: Value) -> Value:
    """Remainder; 0 for a divisor of 0, where BMv2 would abort."""
    if b.constant:
        return _binary(a, "%", b, 0, b.constant - 1)
    return Value(f"modulo({a.text}, {b.text})", 0, b.hi, atom=True)


_FOLD = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def _binary(a: Value, op: str, b: Value, lo: int | None, hi: int | None) -> Value:
    if a.constant is not None and b.constant is not None:
        return const(_FOLD[op](a.constant, b.constant))
    return Value(f"{a.operand} {op} {b.operand}", lo, hi)


#: Whether the comparison is settled when all of a's range lies below, or above, all of b's.
_BELOW = {"<": True, "<=": True, ">": False, ">=": False, "==": False, "!=": True}
_ABOVE = {"<": False, "<=": False, ">": True, ">=": True, "==": False, "!=": True}


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def compare(a: Value, op: str, b: Value) -> Value:
    if a.constant is not None and b.constant is not None:
        return truth(_FOLD[op](a.constant, b.constant))
    if a.hi is not None and b.lo is not None:
        if a.hi < b.lo:
            return truth(_BELOW[op])
        if a.hi == b.lo and op in ("<=", ">"):
            return truth(op == "<=")
    if a.lo is not None and b.hi is not None:
        if a.lo > b.hi:
            return truth(_ABOVE[op])
        if a.lo == b.hi and op in (">=", "<"):
            return truth(op == ">=")
    for flag, number in ((a, b), (b, a)):
        if op in ("==", "!=") and flag.within(0, 1) and number.constant in (0, 1):
            return as_bool(flag) if (op == "==") == (number.constant == 1) else negate(flag)
    left, right = as_int(a).operand, as_int(b).operand
    inverse = f"{left} {_OPPOSITE[op]} {right}"
    return Value(f"{left} {op} {right}", 0, 1, boolean=True, inverse=inverse)


def both(a: Value, b: Value) -> Value:
    a, b = as_bool(a), as_bool(b)
    for x, y in ((a, b), (b, a)):
        if x.constant is not None:
            return y if x.constant else truth(False)
    return Value(f"{a.operand} and {b.operand}", 0, 1, boolean=True)


def either(a: Value, b: Value) -> Value:
    a, b = as_bool(a), as_bool(b)
    for x, y in ((a, b), (b, a)):
        if x.constant is not None:
            return truth(True) if x.constant else y
    return Value(f"{a.operand} or {b.operand}", 0, 1, boolean=True)


def negate(a: Value) -> Value:
    a = as_bool(a)
    if a.constant is not None:
        return truth(not a.constant)
    return Value(a.inverse or f"not {a.operand}", 0, 1, boolean=True, inverse=a.text)


def choose(condition: Value, a: Value, b: Value) -> Value:
    condition = as_bool(condition)
    if condition.constant is not None:
        return a if condition.constant else b
    if not (a.boolean and b.boolean):
        a, b = as_int(a), as_int(b)
    lo = None if a.lo is None or b.lo is None else min(a.lo, b.lo)
    hi = None if a.hi is None or b.hi is None else max(a.hi, b.hi)
    boolean = a.boolean and b.boolean
    text = f"{a.operand} if {condition.operand} else {b.operand}"
    return Value(text, lo, hi, boolean)
