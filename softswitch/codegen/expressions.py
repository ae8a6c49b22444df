# SPDX-License-Identifier: Apache-2.0
"""JSON expressions (``docs/JSON_format.md``, "The type value object") to Python expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from softswitch.codegen import values
from softswitch.codegen.scope import Scope
from softswitch.codegen.values import Value
from softswitch.errors import ProgramError
from softswitch.model import Json

ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": values.add,
    "-": values.sub,
    "*": values.mul,
    "/": values.divide,
    "%": values.modulo,
    "&": values.bit_and,
    "|": values.bit_or,
    "^": values.bit_xor,
    "<<": values.shift_left,
    ">>": values.shift_right,
}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
BOOLEAN_COMPARISONS = {"==b": "==", "!=b": "!="}


def evaluate(expr: Json, scope: Scope, place: str, locals_: Sequence[Value] = ()) -> Value:
    """Code for a type-value object; ``locals_`` are the parameters of the action around it."""
    kind, value = expr.get("type"), expr.get("value")
    if kind == "expression":
        if "op" in value:
            return _operation(value, scope, place, locals_)
        return evaluate(value, scope, place, locals_)
    if kind == "field":
        return scope.read(value[0], value[1], place)
    if kind == "hexstr":
        return values.const(int(value, 16))
    if kind == "bool":
        return values.truth(value)
    if kind in ("local", "runtime_data"):
        return locals_[value]
    raise ProgramError(place, f"operand of type {kind!r} is not supported")


def _operation(node: Json, scope: Scope, place: str, locals_: Sequence[Value]) -> Value:
    op = node["op"]
    if op == "valid":
        header = node["right"]
        if header["type"] != "header":
            raise ProgramError(place, f"validity of {header['type']!r} is not supported")
        return values.as_bool(scope.read(header["value"], "$valid$", place))
    if op == "?":
        return values.choose(
            evaluate(node["cond"], scope, place, locals_),
            evaluate(node["left"], scope, place, locals_),
            evaluate(node["right"], scope, place, locals_),
        )
    right = evaluate(node["right"], scope, place, locals_)
    if op == "not":
        return values.negate(right)
    if op == "~":
        return values.invert(values.as_int(right))
    if op == "d2b":
        return values.as_bool(right)
    if op == "b2d":
        return values.as_int(right)
    left_node = node.get("left")
    if left_node is None:
        # Unary minus and plus: BMv2 takes the missing side as 0.
        left = values.const(0)
    else:
        left = evaluate(left_node, scope, place, locals_)
    return _binary(op, left, right, place)


def _binary(op: str, left: Value, right: Value, place: str) -> Value:
    if op == "and":
        return values.both(left, right)
    if op == "or":
        return values.either(left, right)
    if op in COMPARISONS:
        return values.compare(left, op, right)
    if op in BOOLEAN_COMPARISONS:
        return values.compare(left, BOOLEAN_COMPARISONS[op], right)
    left, right = values.as_int(left), values.as_int(right)
    if op in ARITHMETIC:
        return ARITHMETIC[op](left, right)
    width = right.constant
    if op in ("two_comp_mod", "usat_cast", "sat_cast") and width is not None:
        if op == "two_comp_mod":
            return values.cut(left, width, signed=True)
        if op == "usat_cast":
            return values.clamp(left, 0, (1 << width) - 1)
        return values.clamp(left, -(1 << (width - 1)), (1 << (width - 1)) - 1)
    raise ProgramError(place, f"operator {op!r} is not supported")
