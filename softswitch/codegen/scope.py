# SPDX-License-Identifier: Apache-2.0
"""Names in the generated code, and who reads and writes them.

Variables of the generated code are P4 names with dots turned into underscores. What the
generator adds has a double underscore (``ipv6__valid``, ``fib__get``), which no P4 name keeps,
or a leading one; parameters of an action start with ``arg_``.

Code is generated several times: each pass records the fields that are read and written in each
section, and the next pass leaves out stores to what nobody reads and extracts only what is
used, until nothing changes any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from softswitch.codegen import values
from softswitch.codegen.values import Value
from softswitch.errors import ProgramError
from softswitch.model import Field, Header, ProgramModel

#: Sections of the generated code in the order a packet meets them.
SECTIONS = ("parser", "ingress", "egress", "deparser")
VALID = "$valid$"


@dataclass(slots=True)
class Usage:
    """Python variables read and written by section, and helpers that the code calls."""

    reads: dict[str, set[str]] = field(default_factory=lambda: {s: set() for s in SECTIONS})
    writes: dict[str, set[str]] = field(default_factory=lambda: {s: set() for s in SECTIONS})

    def read_in(self, *sections: str) -> set[str]:
        return set().union(*(self.reads[s] for s in sections or SECTIONS))

    def written_in(self, *sections: str) -> set[str]:
        return set().union(*(self.writes[s] for s in sections or SECTIONS))


class Scope:
    """Reads and writes of fields in one pass. ``previous`` is the usage of the pass before;
    None in the first pass, which takes everything to be used."""

    def __init__(self, model: ProgramModel, previous: Usage | None) -> None:
        self.model = model
        self.previous = previous
        self.usage = Usage()
        self.section = "parser"

    def header(self, name: str, place: str) -> Header:
        header = self.model.headers.get(name)
        if header is None:
            raise ProgramError(place, f"unknown header {name!r}")
        return header

    def field(self, header: str, name: str, place: str) -> Field:
        found = self.model.field_of(header, name)
        if found is None:
            raise ProgramError(place, f"unknown field {header}.{name}")
        return found

    def read(self, header: str, name: str, place: str) -> Value:
        """The variable that holds a field, or a header's validity."""
        if name == VALID:
            return self.read_valid(self.header(header, place))
        found = self.field(header, name, place)
        self.usage.reads[self.section].add(found.var)
        return values.variable(found.var, found.width, found.signed)

    def read_valid(self, header: Header) -> Value:
        if header.metadata:
            return values.const(1)
        name = valid_var(header)
        self.usage.reads[self.section].add(name)
        return values.variable(name, 1)

    def write(self, found: Field) -> bool:
        """Record a store; False when nobody reads the field and the store can be left out."""
        self.usage.writes[self.section].add(found.var)
        return self.is_read(found.var)

    def write_valid(self, header: Header) -> None:
        self.usage.writes[self.section].add(valid_var(header))

    def is_read(self, var: str, *sections: str) -> bool:
        return self.previous is None or var in self.previous.read_in(*sections)

    def is_written(self, var: str, *sections: str) -> bool:
        return self.previous is None or var in self.previous.written_in(*sections)

    def is_used(self, var: str) -> bool:
        return self.is_read(var) or self.is_written(var)

    def header_is_sent(self, header: Header) -> bool:
        return header.name in self.model.deparser

    def rebuilt(self, header: Header) -> bool:
        """Whether the program may change a header that is sent."""
        if header.name not in self.model.deparser:
            return False
        if self.is_written(valid_var(header), "ingress", "egress"):
            return True
        return any(self.is_written(f.var) for f in header.fields)


def valid_var(header: Header) -> str:
    """Name of the variable that is 1 while the header is valid."""
    return f"{header.var}__valid"


def base_var(header: Header) -> str:
    """Name of the variable that holds the header's bytes as one integer."""
    return f"{header.var}__bits"


def start_var(header: Header) -> str:
    """Name of the variable that holds the header's offset in the received frame."""
    return f"{header.var}__start"


class Writer:
    """Indented lines of Python."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def indent(self) -> Indent:
        return Indent(self)

    def block(self, text: str) -> Indent:
        self.line(text)
        return Indent(self)


class Indent:
    """``with writer.block("if x:"):`` – adds ``pass`` to an empty block."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def __enter__(self) -> None:
        self.writer.depth += 1
        self.start = len(self.writer.lines)

    def __exit__(self, *_: object) -> None:
        if len(self.writer.lines) == self.start:
            self.writer.line("pass")
        self.writer.depth -= 1
