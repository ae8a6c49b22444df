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
from softswitch.codegen.facts import Facts, is_cheap, names_in
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
    #: Read where not every path has stored before.
    uninitialised: dict[str, set[str]] = field(default_factory=lambda: {s: set() for s in SECTIONS})

    def read_in(self, *sections: str) -> set[str]:
        return set().union(*(self.reads[s] for s in sections or SECTIONS))

    def written_in(self, *sections: str) -> set[str]:
        return set().union(*(self.writes[s] for s in sections or SECTIONS))


class Scope:
    """Reads and writes of fields in one pass. ``previous`` is the usage of the pass before;
    None in the first pass, which takes everything to be used."""

    def __init__(self, model: ProgramModel, previous: Usage | None) -> None:
        self.facts = Facts()
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
        return self._known(found.var) or values.variable(found.var, found.width, found.signed)

    def read_valid(self, header: Header) -> Value:
        if header.metadata:
            return values.const(1)
        name = valid_var(header)
        return self._known(name) or values.variable(name, 1)

    def _known(self, var: str) -> Value | None:
        """What the variable is known to hold; records what is read instead of it."""
        value = self.facts.known(var)
        for name in (var,) if value is None else names_in(value.text):
            self.note_read(name)
        return value

    def note_read(self, name: str) -> None:
        self.usage.reads[self.section].add(name)
        if not self.facts.is_assigned(name):
            self.usage.uninitialised[self.section].add(name)

    def write(self, found: Field, value: Value | None = None) -> bool:
        """Record a store, of ``value`` (already cut to the field) where it is known before;
        False when nobody reads the field and the store can be left out."""
        self.usage.writes[self.section].add(found.var)
        self.assume(found, value)
        return self.is_read(found.var)

    def assume(self, found: Field, value: Value | None) -> None:
        """From here on the field holds the value."""
        self.facts.stored(found.var, value if value is not None and is_cheap(value) else None)
        if value is not None and self.facts.known(found.var) is None:
            self.facts.narrowed(found.var, value)

    def write_valid(self, header: Header, value: int | None = None) -> None:
        name = valid_var(header)
        self.usage.writes[self.section].add(name)
        self.facts.stored(name, None if value is None else values.const(value))

    def is_read(self, var: str, *sections: str) -> bool:
        return self.previous is None or var in self.previous.read_in(*sections)

    def is_written(self, var: str, *sections: str) -> bool:
        return self.previous is None or var in self.previous.written_in(*sections)

    def starts_unset(self, var: str, *sections: str) -> bool:
        """Whether the variable may be read before anything was stored to it."""
        if self.previous is None:
            return True
        return any(var in self.previous.uninitialised[s] for s in sections)

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
    """Indented lines of Python; a block is a level of ``facts``."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def block(self, text: str) -> Indent:
        self.line(text)
        return Indent(self)


class Indent:
    """``with writer.block("if x:"):`` – adds ``pass`` to an empty block."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def __enter__(self) -> None:
        self.writer.facts.enter()
        self.writer.depth += 1
        self.start = len(self.writer.lines)

    def __exit__(self, *_: object) -> None:
        if len(self.writer.lines) == self.start:
            self.writer.line("pass")
        self.writer.depth -= 1
        self.writer.facts.leave()
