# SPDX-License-Identifier: Apache-2.0
"""Headers back to bytes: untouched ones as slices of the received frame, the others from their
first bits and the fields that the program may have changed."""

from __future__ import annotations

from softswitch.codegen.scope import Scope, Writer, base_var, start_var, valid_var
from softswitch.model import Header

#: Value of ``_cut`` while nothing is truncated, in bytes.
NO_CUT = 1 << 30


def deparse(out: Writer, scope: Scope, cut: bool) -> None:
    """Statements that leave the outgoing frame in ``_data``; ``cut``: honour ``truncate``."""
    order = [scope.model.headers[name] for name in scope.model.deparser]
    scope.section = "deparser"
    first = True
    for header in order:
        valid = valid_var(header)
        scope.note_read(valid)
        piece = _piece(scope, header)
        if first:
            out.line(f"_head = {piece} if {valid} else b''")
        else:
            with out.block(f"if {valid}:"):
                out.line(f"_head += {piece}")
        first = False
    if first:
        out.line("_head = b''")
    if not cut:
        out.line("_data = _head + frame[_offset:]")
        return
    scope.note_read("_length")
    with out.block(f"if _cut < {NO_CUT} and _cut < len(_head) + _length - _offset:"):
        out.line("_data = (_head + frame[_offset:_offset + _cut])[:_cut]")
    with out.block("else:"):
        out.line("_data = _head + frame[_offset:]")


def _piece(scope: Scope, header: Header) -> str:
    """The bytes of one valid header."""
    if not scope.rebuilt(header):
        start = start_var(header)
        return f"frame[{start}:{start} + {header.size}]"
    kept = (1 << header.bits) - 1
    terms = []
    for field in header.fields:
        if not scope.is_written(field.var):
            continue
        scope.note_read(field.var)
        kept &= ~(field.mask << field.shift)
        value = f"({field.var} & {field.mask:#x})" if field.signed else field.var
        terms.append(f"{value} << {field.shift}" if field.shift else value)
    if kept:
        terms.insert(0, f"{base_var(header)} & {kept:#x}")
    return f"({' | '.join(terms)}).to_bytes({header.size})"
