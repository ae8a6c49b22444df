# SPDX-License-Identifier: Apache-2.0
"""What is known about variables at the place where code is being written.

Straight code is full of copies that the compiler made (``tmp = port``). Reading ``tmp`` then
gives ``port`` itself, as long as neither was stored to again, and the copy is left out when
nobody reads it any more. Facts found inside a block end with it, and a store inside a block
ends what was known before about that variable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from softswitch.codegen.values import Value

#: Expressions up to here are computed again rather than kept in a variable.
CHEAP_LENGTH = 60
_NAME = re.compile(r"[A-Za-z_]\w*")
_CALL_OR_INDEX = re.compile(r"\w\(|\[")


def names_in(text: str) -> set[str]:
    """Identifiers in an expression (keywords among them, which does no harm)."""
    return set(_NAME.findall(text))


def is_cheap(value: Value) -> bool:
    """Whether reading a variable may become this expression."""
    if _CALL_OR_INDEX.search(value.text) or len(value.text) > CHEAP_LENGTH:
        return False
    return value.atom or value.boolean or value.origin is not None


@dataclass(slots=True)
class _Level:
    known: dict[str, Value]
    assigned: set[str]
    written: set[str] = field(default_factory=set)


class Facts:
    """A stack with one level for each open block."""

    def __init__(self) -> None:
        self._levels = [_Level({}, set())]

    def enter(self) -> None:
        top = self._levels[-1]
        self._levels.append(_Level(dict(top.known), set(top.assigned)))

    def leave(self) -> None:
        inner = self._levels.pop()
        top = self._levels[-1]
        for name in inner.written:
            self._end(name)
        top.written |= inner.written

    def stored(self, name: str, value: Value | None = None) -> None:
        """A store to a variable; ``value`` when it is worth remembering."""
        self._end(name)
        top = self._levels[-1]
        top.written.add(name)
        top.assigned.add(name)
        if value is not None and name not in names_in(value.text):
            top.known[name] = value

    def narrowed(self, name: str, value: Value) -> None:
        """The variable was just stored to and lies within the value's range."""
        self._levels[-1].known[name] = Value(name, value.lo, value.hi, atom=True)

    def known(self, name: str) -> Value | None:
        return self._levels[-1].known.get(name)

    def is_assigned(self, name: str) -> bool:
        """Whether every path to this place has stored to the variable."""
        return name in self._levels[-1].assigned

    def _end(self, name: str) -> None:
        known = self._levels[-1].known
        known.pop(name, None)
        for other in [n for n, v in known.items() if name in names_in(v.text)]:
            del known[other]
