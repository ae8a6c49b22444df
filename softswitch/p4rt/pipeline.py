# SPDX-License-Identifier: Apache-2.0
"""A forwarding pipeline config, and the switch that runs it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from p4.v1 import p4runtime_pb2

from softswitch.errors import ProgramError
from softswitch.p4rt.entries import Key
from softswitch.p4rt.errors import invalid
from softswitch.p4rt.p4info import ArraySpec, P4InfoIndex, TableSpec, build_index
from softswitch.program import Program, load_program
from softswitch.switch import Switch
from softswitch.tables import Table

# A controller pushes one program to many devices at once: it is compiled for the first only.
_COMPILING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Note:
    """What a controller attached to an entry for itself; the switch only gives it back."""

    controller_metadata: int
    metadata: bytes


NO_NOTE = Note(0, b"")


@dataclass(slots=True)
class Pipeline:
    """`config` as it was pushed, its index, the switch, and the controllers' notes on entries.

    Notes are by table name, key and priority; the default entry's key is None.
    """

    config: p4runtime_pb2.ForwardingPipelineConfig
    index: P4InfoIndex
    switch: Switch
    notes: dict[tuple[str, Key | None, int], Note] = field(default_factory=dict)


def load_pipeline(
    config: p4runtime_pb2.ForwardingPipelineConfig, make_switch: Callable[[Program], Switch]
) -> Pipeline:
    """Verify `config` and build its switch, empty as the program starts.

    Raises RpcError: INVALID_ARGUMENT when the BMv2 JSON cannot be run or is not of the P4Info's
    program, UNIMPLEMENTED for objects that the switch has no counterpart of.
    """
    index = build_index(config.p4info)
    if not config.p4_device_config:
        raise invalid("the config has no p4_device_config (BMv2 JSON)")
    try:
        with _COMPILING:
            program = load_program(config.p4_device_config)
    except ProgramError as error:
        raise invalid(f"p4_device_config: {error}") from None
    switch = make_switch(program)
    _check_same_program(index, switch)
    return Pipeline(config, index, switch)


def _check_same_program(index: P4InfoIndex, switch: Switch) -> None:
    """P4Info and JSON of two compilations fit together only by luck: compare what is shared."""
    for spec in index.tables.values():
        table = switch.tables.get(spec.name)
        if table is None:
            raise invalid(f"p4info has table {spec.name}, the BMv2 JSON has not")
        _check_table(index, spec, table)
    for kind, specs, arrays in (
        ("counter", index.counters, switch.counters),
        ("meter", index.meters, switch.meters),
        ("register", index.registers, switch.registers),
    ):
        for array_spec in specs.values():
            _check_array(kind, array_spec, arrays.get(array_spec.name))


def _check_table(index: P4InfoIndex, spec: TableSpec, table: Table) -> None:
    json_widths = [match.width for match in table.match_fields]
    if [match.width for match in spec.fields] != json_widths:
        raise invalid(f"table {spec.name}: the match fields of p4info and BMv2 JSON differ")
    for action_id in spec.actions:
        action = index.actions[action_id]
        known = table.actions.get(action.name)
        widths = [param.width for param in action.params]
        if known is None or widths != [param.width for param in known.parameters]:
            raise invalid(f"table {spec.name}: action {action.name} is another in the BMv2 JSON")


def _check_array(kind: str, spec: ArraySpec, array) -> None:
    if array is None:
        raise invalid(f"p4info has {kind} {spec.name}, the BMv2 JSON has not")
    if array.size != spec.size:
        raise invalid(f"{kind} {spec.name}: p4info and BMv2 JSON differ in size")
