# SPDX-License-Identifier: Apache-2.0
"""Calculations (hashes) as expressions; checksum verification and update as statements."""

from __future__ import annotations

from softswitch.codegen import values
from softswitch.codegen.expressions import evaluate
from softswitch.codegen.scope import Scope, Writer
from softswitch.codegen.values import Value
from softswitch.errors import ProgramError
from softswitch.hashing import ALGORITHMS
from softswitch.model import Json


def calculation_value(scope: Scope, name: str, place: str) -> Value:
    """A call that computes the named calculation over the current field values."""
    calculation = scope.model.calculations.get(name)
    if calculation is None:
        raise ProgramError(place, f"unknown calculation {name!r}")
    if calculation.algorithm not in ALGORITHMS:
        raise ProgramError(
            calculation.place, f"algorithm {calculation.algorithm!r} is not supported"
        )
    parts: list[str] = []
    for i, item in enumerate(calculation.inputs):
        parts += _parts(scope, item, f"{calculation.place}.input[{i}]")
    width = ALGORITHMS[calculation.algorithm][1]
    text = f"_{calculation.algorithm.lower()}(_gather({', '.join(parts)}))"
    return Value(text, 0, (1 << width) - 1, atom=True)


def _parts(scope: Scope, item: Json, place: str) -> list[str]:
    kind, value = item["type"], item["value"]
    if kind == "hexstr":
        return [f"(1, {int(value, 16):#x}, {item['bitwidth']})"]
    if kind == "field":
        header = scope.header(value[0], place)
        field = scope.field(value[0], value[1], place)
        valid = scope.read_valid(header).text
        return [f"({valid}, {scope.read(*value, place).text}, {field.width})"]
    if kind == "header":
        header = scope.header(value, place)
        valid = scope.read_valid(header).text
        return [
            f"({valid}, {scope.read(f.header, f.name, place).text}, {f.width})"
            for f in header.fields
        ]
    raise ProgramError(place, f"calculation input of type {kind!r} is not supported")


def verify_checksums(out: Writer, scope: Scope) -> None:
    """After the parser: ``checksum_error`` is 1 when any checksum is wrong. A checksum whose
    header is not valid is not looked at."""
    flag = scope.model.well_known("standard_metadata.checksum_error")
    for checksum in scope.model.checksums:
        if not checksum.verify or flag is None or not scope.is_read(flag.var):
            continue
        header = scope.header(checksum.target[0], checksum.place)
        condition = scope.read_valid(header)
        if checksum.condition is not None:
            extra = evaluate(checksum.condition, scope, checksum.place)
            condition = values.both(condition, extra)
        stored = scope.read(*checksum.target, checksum.place)
        computed = calculation_value(scope, checksum.calculation, checksum.place)
        wrong = values.both(condition, values.compare(computed, "!=", stored))
        if wrong.constant == 0:
            continue
        with out.block(f"if {wrong.text}:"):
            scope.write(flag)
            out.line(f"{flag.var} = 1")


def update_checksums(out: Writer, scope: Scope) -> None:
    """Before the headers are put together again."""
    for checksum in scope.model.checksums:
        if not checksum.update:
            continue
        condition = values.truth(True)
        if checksum.condition is not None:
            condition = values.as_bool(evaluate(checksum.condition, scope, checksum.place))
        if condition.constant == 0:
            continue
        field = scope.field(*checksum.target, checksum.place)
        computed = calculation_value(scope, checksum.calculation, checksum.place)
        text = f"{field.var} = {values.cut(computed, field.width, False).text}"
        if condition.constant is None:
            with out.block(f"if {condition.text}:"):
                scope.write(field)
                out.line(text)
        else:
            scope.write(field)
            out.line(text)
