# SPDX-License-Identifier: Apache-2.0
"""What a BMv2 JSON says, as plain values; expressions stay JSON until code is generated.

Names and meanings follow BMv2's ``docs/JSON_format.md``. Every value that can be refused later
carries its ``place``, the path of the element in the JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = Any


@dataclass(frozen=True, slots=True)
class Field:
    """A header or metadata field. ``shift`` counts bits from the header's least significant."""

    header: str
    name: str
    width: int
    signed: bool
    shift: int
    var: str

    @property
    def mask(self) -> int:
        return (1 << self.width) - 1


@dataclass(frozen=True, slots=True)
class Header:
    """A header instance (``metadata`` false) or a struct of metadata."""

    name: str
    var: str
    metadata: bool
    fields: tuple[Field, ...]

    @property
    def bits(self) -> int:
        return sum(f.width for f in self.fields)

    @property
    def size(self) -> int:
        """Bytes on the wire."""
        return self.bits // 8


@dataclass(frozen=True, slots=True)
class Transition:
    """``value`` and ``mask`` None: the default."""

    value: int | None
    mask: int | None
    next_state: str | None


@dataclass(frozen=True, slots=True)
class ParseState:
    name: str
    place: str
    ops: tuple[Json, ...]
    key: tuple[Json, ...]
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    width: int


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    id: int
    place: str
    parameters: tuple[Parameter, ...]
    primitives: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class MatchField:
    """``kind``: exact, lpm, ternary, range; ``valid`` matches a header's validity bit."""

    name: str
    kind: str
    width: int
    target: Json
    mask: int | None


@dataclass(frozen=True, slots=True)
class DefaultEntry:
    action_index: int
    data: tuple[int, ...]
    constant: bool


@dataclass(frozen=True, slots=True)
class ConstEntry:
    key: tuple[Any, ...]
    action_index: int
    data: tuple[int, ...]
    priority: int


@dataclass(frozen=True, slots=True)
class TableDef:
    """``next_nodes`` is by action index; ``hit_next``/``miss_next`` are set with ``by_hit``."""

    name: str
    var: str
    place: str
    kind: str
    size: int
    key: tuple[MatchField, ...]
    actions: tuple[Action, ...]
    next_nodes: tuple[str | None, ...]
    by_hit: bool
    hit_next: str | None
    miss_next: str | None
    default: DefaultEntry
    entries: tuple[ConstEntry, ...]
    with_counters: bool
    direct_meter: str | None


@dataclass(frozen=True, slots=True)
class Conditional:
    name: str
    place: str
    expression: Json
    true_next: str | None
    false_next: str | None


@dataclass(frozen=True, slots=True)
class ActionCall:
    name: str
    place: str
    action: Action
    next_node: str | None


Node = TableDef | Conditional | ActionCall


@dataclass(frozen=True, slots=True)
class Pipeline:
    name: str
    init: str | None
    nodes: dict[str, Node]


@dataclass(frozen=True, slots=True)
class ArrayDef:
    """A counter, register or meter array. ``width``: bits of a register cell, else 0."""

    name: str
    var: str
    size: int
    width: int = 0
    direct_table: str | None = None
    meter_unit: str = ""
    rate_count: int = 0
    result_target: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Calculation:
    name: str
    place: str
    algorithm: str
    inputs: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Checksum:
    name: str
    place: str
    target: tuple[str, str]
    calculation: str
    condition: Json | None
    verify: bool
    update: bool


@dataclass(slots=True)
class ProgramModel:
    """A whole program."""

    headers: dict[str, Header]
    errors: dict[str, int]
    init_state: str | None
    states: dict[str, ParseState]
    ingress: Pipeline
    egress: Pipeline
    deparser: tuple[str, ...]
    actions: dict[int, Action]
    counters: dict[str, ArrayDef]
    registers: dict[str, ArrayDef]
    meters: dict[str, ArrayDef]
    calculations: dict[str, Calculation]
    checksums: tuple[Checksum, ...]
    aliases: dict[str, tuple[str, str]] = field(default_factory=dict)

    def field_of(self, header: str, name: str) -> Field | None:
        definition = self.headers.get(header)
        if definition is None:
            return None
        return next((f for f in definition.fields if f.name == name), None)

    def well_known(self, name: str) -> Field | None:
        """The field that plays a role BMv2 knows by name (``standard_metadata.egress_spec``,
        ``intrinsic_metadata.priority``), or None when the program has none."""
        header, field_name = self.aliases.get(name) or name.split(".", 1)
        return self.field_of(header, field_name)

    @property
    def tables(self) -> dict[str, TableDef]:
        return {
            name: node
            for pipeline in (self.ingress, self.egress)
            for name, node in pipeline.nodes.items()
            if isinstance(node, TableDef)
        }
