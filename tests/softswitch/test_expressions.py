# SPDX-License-Identifier: Apache-2.0
"""Any expression of the BMv2 JSON computes what BMv2's rules say, and its range is right."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from softswitch.codegen.expressions import evaluate
from softswitch.codegen.generator import names_for_module
from softswitch.codegen.scope import Scope
from softswitch.codegen.values import as_int, cut, variable
from softswitch.model import ProgramModel

WIDTHS = (1, 3, 8, 16, 32, 64)


def scope():
    model = ProgramModel({}, {}, None, {}, None, None, (), {}, {}, {}, {}, {}, ())
    return Scope(model, None)


locals_ = st.integers(0, len(WIDTHS) - 1).map(lambda i: {"type": "local", "value": i})
constants = st.integers(-5, 300).map(lambda v: {"type": "hexstr", "value": hex(v)})
shifts = st.integers(0, 70).map(lambda v: {"type": "hexstr", "value": hex(v)})
widths = st.integers(2, 40).map(lambda v: {"type": "hexstr", "value": hex(v)})


def node(op, left, right, **more):
    return {"type": "expression", "value": {"op": op, "left": left, "right": right, **more}}


def grow(children):
    numbers, truths = children
    arithmetic = st.builds(node, st.sampled_from(["+", "-", "*", "&", "|", "^"]), numbers, numbers)
    shifted = st.builds(node, st.sampled_from(["<<", ">>"]), numbers, shifts)
    inverted = st.builds(lambda n: node("~", None, n), numbers)
    casts = st.builds(
        node, st.sampled_from(["two_comp_mod", "usat_cast", "sat_cast"]), numbers, widths
    )
    numeric_truth = st.builds(lambda b: node("b2d", None, b), truths)
    chosen = st.builds(lambda c, a, b: node("?", a, b, cond=c), truths, numbers, numbers)
    compared = st.builds(
        node, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), numbers, numbers
    )
    joined = st.builds(node, st.sampled_from(["and", "or", "==b", "!=b"]), truths, truths)
    negated = st.builds(lambda b: node("not", None, b), truths)
    tested = st.builds(lambda n: node("d2b", None, n), numbers)
    return (
        numbers | arithmetic | shifted | inverted | casts | numeric_truth | chosen,
        truths | compared | joined | negated | tested,
    )


def strategies(depth):
    numbers = locals_ | constants
    truths = st.booleans().map(lambda b: {"type": "bool", "value": b})
    for _ in range(depth):
        numbers, truths = grow((numbers, truths))
    return numbers, truths


NUMBERS, TRUTHS = strategies(4)


def plain(expr, values):
    """The expression by BMv2's rules: whole numbers without a limit."""
    if expr["type"] == "local":
        return values[expr["value"]]
    if expr["type"] == "hexstr":
        return int(expr["value"], 16)
    if expr["type"] == "bool":
        return expr["value"]
    op = expr["value"]["op"]
    right = plain(expr["value"]["right"], values)
    if op in ("~", "not", "b2d", "d2b"):
        return {"~": -right - 1, "not": not right, "b2d": int(right), "d2b": right != 0}[op]
    left = plain(expr["value"]["left"], values)
    if op == "?":
        return left if plain(expr["value"]["cond"], values) else right
    if op in ("<<", ">>"):
        return left * 2**right if op == "<<" else left // 2**right
    if op == "two_comp_mod":
        rest = left % 2**right
        return rest - 2**right if rest >= 2 ** (right - 1) else rest
    if op == "usat_cast":
        return min(max(left, 0), 2**right - 1)
    if op == "sat_cast":
        return min(max(left, -(2 ** (right - 1))), 2 ** (right - 1) - 1)
    return {
        "+": left + right, "-": left - right, "*": left * right, "&": left & right,
        "|": left | right, "^": left ^ right, "==": left == right, "!=": left != right,
        "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right,
        "and": left and right, "or": left or right, "==b": left == right, "!=b": left != right,
    }[op]  # fmt: skip


def check(expr, seed):
    rng = random.Random(seed)
    names = [variable(f"v{i}", width) for i, width in enumerate(WIDTHS)]
    value = evaluate(expr, scope(), "$", names)
    number = as_int(value)
    stored = cut(value, 16, signed=False)
    signed = cut(value, 16, signed=True)
    module = names_for_module()
    for _ in range(4):
        values = [rng.choice((0, (1 << w) - 1, rng.getrandbits(w))) for w in WIDTHS]
        given_names = module | {f"v{i}": v for i, v in enumerate(values)}
        wanted = plain(expr, values)
        assert eval(value.text, given_names) == wanted
        assert eval(number.text, given_names) == int(wanted)
        assert number.lo is None or number.lo <= wanted
        assert number.hi is None or wanted <= number.hi
        assert eval(stored.text, given_names) == int(wanted) % 65536
        assert eval(signed.text, given_names) == (int(wanted) + 32768) % 65536 - 32768


@settings(max_examples=400, deadline=None)
@given(NUMBERS, st.integers(0, 2**32))
def test_numbers(expr, seed):
    check(expr, seed)


@settings(max_examples=300, deadline=None)
@given(TRUTHS, st.integers(0, 2**32))
def test_truths(expr, seed):
    check(expr, seed)


def test_division_by_zero_gives_zero():
    names = [variable("a", 8), variable("b", 8)]
    for op, wanted in (("/", 3), ("%", 1)):
        expr = node(op, {"type": "local", "value": 0}, {"type": "local", "value": 1})
        text = evaluate(expr, scope(), "$", names).text
        module = names_for_module()
        assert eval(text, module | {"a": 10, "b": 3}) == wanted
        assert eval(text, module | {"a": 10, "b": 0}) == 0


def test_needless_cuts_and_checks_are_left_out():
    names = [variable("a", 8), variable("b", 8)]
    a, b = ({"type": "local", "value": i} for i in range(2))
    mask = {"type": "hexstr", "value": "0xff"}
    texts = {
        "a": node("&", a, mask),
        "a & b": node("&", node("&", a, b), mask),
        "(a + b) & 255": node("&", node("+", a, b), mask),
        "True": node("<", a, {"type": "hexstr", "value": "0x100"}),
        "0xff00": node("<<", mask, {"type": "hexstr", "value": "0x8"}),
    }
    for text, expr in texts.items():
        assert evaluate(expr, scope(), "$", names).text == text
