# SPDX-License-Identifier: Apache-2.0
"""A compiled program: JSON in, Python functions out, once per digest."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable
from types import CodeType
from typing import Any

from softswitch.codegen.generator import generate, names_for_module
from softswitch.loader import load_model
from softswitch.model import ProgramModel

Ingress = Callable[[int, bytes, int], list[tuple[int, int, Any]]]
Egress = Callable[..., bytes | None]


class Program:
    """A program ready to be bound to any number of switches.

    ``digest``: SHA-256 of the JSON, hexadecimal. ``source``: the generated Python, which
    debuggers and tracebacks show under ``filename``. ``stamps_packets``: whether egress reads
    queueing metadata, which the traffic manager then writes on packets.
    """

    def __init__(self, json_bytes: bytes, digest: str) -> None:
        self.json_bytes = json_bytes
        self.digest = digest
        self.model: ProgramModel = load_model(json_bytes)
        self.source = generate(self.model)
        self.filename = f"<softswitch {digest[:12]}>"
        self.stamps_packets = "_packet.enq_us" in self.source
        lines = self.source.splitlines(keepends=True)
        linecache.cache[self.filename] = (len(self.source), None, lines, self.filename)
        code: CodeType = compile(self.source, self.filename, "exec")
        namespace: dict[str, Any] = names_for_module()
        exec(code, namespace)
        self._bind: Callable[[Any], tuple[Ingress, Egress]] = namespace["bind"]

    def bind(self, state: Any) -> tuple[Ingress, Egress]:
        """The two functions of one switch, bound to its state (a :class:`~.switch.Switch`)."""
        return self._bind(state)

    def __repr__(self) -> str:
        return f"<Program {self.digest[:12]}>"


_PROGRAMS: dict[str, Program] = {}


def load_program(json_bytes: bytes) -> Program:
    """Compile a BMv2 JSON, or return the program compiled from the same bytes before.

    Raises :class:`softswitch.errors.ProgramError` naming the construct and its place in the
    JSON when the program cannot be run.
    """
    digest = hashlib.sha256(json_bytes).hexdigest()
    program = _PROGRAMS.get(digest)
    if program is None:
        program = _PROGRAMS[digest] = Program(json_bytes, digest)
    return program
