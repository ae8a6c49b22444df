# SPDX-License-Identifier: Apache-2.0
"""RECONCILE_AND_COMMIT: the forwarding state of one pipeline carried into another."""

from p4.v1 import p4runtime_pb2

from softswitch.p4rt import read_path, write_path
from softswitch.p4rt.errors import RpcError, invalid
from softswitch.p4rt.pipeline import Pipeline

_KINDS = ("counter_entry", "meter_entry", "register_entry")


def reconcile(old: Pipeline, new: Pipeline) -> Pipeline:
    """`new` with the state of `old`; the switch itself when the program is the same one.

    Everything is carried as the P4Runtime entities a controller would write, so ids must mean the
    same in both P4Infos. Raises INVALID_ARGUMENT for the first entity that has no place in `new`;
    `old` is not touched.
    """
    if new.switch.program is old.switch.program:
        return Pipeline(new.config, new.index, old.switch, old.notes)
    for entity in _state(old):
        update = p4runtime_pb2.Update(entity=entity)
        plain = entity.WhichOneof("entity") == "table_entry"
        is_insert = plain and not entity.table_entry.is_default_action
        update.type = update.INSERT if is_insert else update.MODIFY
        try:
            write_path.apply(new, update)
        except RpcError as error:
            raise invalid(f"the forwarding state cannot be kept: {error.message}") from None
    return new


def _state(old: Pipeline) -> list[p4runtime_pb2.Entity]:
    entities: list[p4runtime_pb2.Entity] = []
    for spec in old.index.tables.values():
        table = old.switch.tables[spec.name]
        request = p4runtime_pb2.Entity()
        request.table_entry.table_id = spec.id
        if spec.direct_counter:
            request.table_entry.counter_data.SetInParent()
        if spec.direct_meter:
            request.table_entry.meter_config.SetInParent()
        if not spec.is_const:
            entities += read_path.select(old, request)
        if not (spec.const_default or table.default_constant):
            default = p4runtime_pb2.Entity()
            default.table_entry.table_id = spec.id
            default.table_entry.is_default_action = True
            entities += read_path.select(old, default)
    for kind in _KINDS:
        request = p4runtime_pb2.Entity()
        getattr(request, kind).SetInParent()
        entities += read_path.select(old, request)
    return entities
