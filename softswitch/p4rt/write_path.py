# SPDX-License-Identifier: Apache-2.0
"""Updates of a Write request, applied to the switch."""

from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from p4.v1 import p4runtime_pb2

from softswitch.errors import BadEntry, EntryExists, NoSuchEntry, TableFull
from softswitch.p4rt import resources
from softswitch.p4rt.entries import Key, decode_action, decode_key
from softswitch.p4rt.errors import RpcError, denied, invalid, not_found, unimplemented
from softswitch.p4rt.p4info import TableSpec
from softswitch.p4rt.pipeline import NO_NOTE, Note, Pipeline

Update = p4runtime_pb2.Update
TableEntry = p4runtime_pb2.TableEntry


def apply(pipeline: Pipeline, update: p4runtime_pb2.Update) -> None:
    """Apply one update; RpcError when it is refused, and then nothing has changed."""
    kind = update.entity.WhichOneof("entity")
    if kind is None:
        raise invalid("the update has no entity")
    if update.type not in (Update.INSERT, Update.MODIFY, Update.DELETE):
        raise invalid("the type of the update is not set")
    writer = _WRITERS.get(kind)
    if writer is None:
        raise unimplemented(f"entities of kind {kind} are not supported")
    writer(pipeline, update.type, getattr(update.entity, kind))


def _write_table_entry(pipeline: Pipeline, kind: int, entry: TableEntry) -> None:
    spec = pipeline.index.table(entry.table_id)
    if entry.is_default_action:
        _write_default(pipeline, spec, kind, entry)
        return
    key, priority = decode_key(spec, entry)
    if kind == Update.DELETE:
        if spec.is_const:
            raise denied(f"table {spec.name}: its entries are constant")
        with _table_errors():
            pipeline.switch.tables[spec.name].delete(key, priority)
        pipeline.notes.pop((spec.name, key, priority), None)
        return
    _check_attributes(spec, entry)
    if kind == Update.INSERT:
        _insert(pipeline, spec, entry, key, priority)
    else:
        _modify(pipeline, spec, entry, key, priority)


def _insert(
    pipeline: Pipeline, spec: TableSpec, entry: TableEntry, key: Key, priority: int
) -> None:
    if spec.is_const:
        raise denied(f"table {spec.name}: its entries are constant")
    if not spec.fields:
        raise invalid(f"table {spec.name}: a table without a key holds no entries")
    if not entry.HasField("action"):
        raise invalid(f"table {spec.name}: an entry needs an action")
    action, params = decode_action(pipeline.index, spec, entry.action, default=False)
    table = pipeline.switch.tables[spec.name]
    with _table_errors():
        table.insert(key, action, params, priority)
    try:
        resources.reset_direct_meter(pipeline, spec, key, priority)
        _write_direct(pipeline, spec, entry, key, priority)
    except RpcError:
        table.delete(key, priority)
        raise
    _annotate(pipeline, (spec.name, key, priority), entry)


def _modify(
    pipeline: Pipeline, spec: TableSpec, entry: TableEntry, key: Key, priority: int
) -> None:
    table = pipeline.switch.tables[spec.name]
    with _table_errors():
        table.get(key, priority)  # before anything else is looked at: NOT_FOUND
    has_action = entry.HasField("action")
    if spec.is_const and has_action:
        raise denied(f"table {spec.name}: the actions of its entries are constant")
    if has_action:
        action, params = decode_action(pipeline.index, spec, entry.action, default=False)
    _write_direct(pipeline, spec, entry, key, priority)
    if spec.direct_meter and not entry.HasField("meter_config"):
        resources.reset_direct_meter(pipeline, spec, key, priority)
    if has_action:
        with _table_errors():
            table.modify(key, action, params, priority)
    _annotate(pipeline, (spec.name, key, priority), entry)


def _write_default(pipeline: Pipeline, spec: TableSpec, kind: int, entry: TableEntry) -> None:
    where = f"table {spec.name}: the default entry"
    if kind != Update.MODIFY:
        raise invalid(f"{where} takes MODIFY only, got {Update.Type.Name(kind)}")
    if entry.match or entry.priority:
        raise invalid(f"{where} takes neither match fields nor a priority")
    _check_attributes(spec, entry)
    if entry.HasField("counter_data") or entry.HasField("meter_config"):
        raise unimplemented(f"{where} has no direct counter or meter")
    table = pipeline.switch.tables[spec.name]
    if spec.const_default or table.default_constant:
        raise denied(f"{where} is constant")
    if not entry.HasField("action"):
        table.reset_default()
        pipeline.notes.pop((spec.name, None, 0), None)
        return
    action, params = decode_action(pipeline.index, spec, entry.action, default=True)
    with _table_errors():
        table.set_default(action, params)
    _annotate(pipeline, (spec.name, None, 0), entry)


def _check_attributes(spec: TableSpec, entry: TableEntry) -> None:
    """Fields that an INSERT or MODIFY may not set here."""
    if entry.is_const:
        raise invalid(f"table {spec.name}: entries cannot be made constant")
    if entry.idle_timeout_ns or entry.HasField("time_since_last_hit"):
        raise invalid(f"table {spec.name}: idle timeouts are not supported")
    if entry.HasField("meter_counter_data"):
        raise unimplemented("meters have no counters by color")
    if entry.HasField("counter_data") and not spec.direct_counter:
        raise invalid(f"table {spec.name}: has no direct counter")
    if entry.HasField("meter_config") and not spec.direct_meter:
        raise invalid(f"table {spec.name}: has no direct meter")


def _write_direct(
    pipeline: Pipeline, spec: TableSpec, entry: TableEntry, key: Key, priority: int
) -> None:
    """Values of the entry's direct meter and counter, where the message has them."""
    table = pipeline.switch.tables[spec.name]
    if entry.HasField("counter_data"):
        values = resources.counter_values(entry.counter_data, f"table {spec.name}")
    if entry.HasField("meter_config"):
        meter = resources.direct_meter(pipeline, spec)
        resources.set_meter(meter, table.slot(key, priority), entry.meter_config)
    if entry.HasField("counter_data"):
        table.write_counter(key, *values, priority)


def _write_direct_counter(
    pipeline: Pipeline, kind: int, entry: p4runtime_pb2.DirectCounterEntry
) -> None:
    resources.require_modify(kind, "direct counter")
    spec = pipeline.index.table(entry.table_entry.table_id)
    if not spec.direct_counter:
        raise invalid(f"table {spec.name}: has no direct counter")
    key, priority = decode_key(spec, entry.table_entry)
    with _table_errors():
        pipeline.switch.tables[spec.name].get(key, priority)
    if entry.HasField("data"):
        values = resources.counter_values(entry.data, f"table {spec.name}")
        pipeline.switch.tables[spec.name].write_counter(key, *values, priority)


def _write_direct_meter(
    pipeline: Pipeline, kind: int, entry: p4runtime_pb2.DirectMeterEntry
) -> None:
    resources.require_modify(kind, "direct meter")
    if entry.HasField("counter_data"):
        raise unimplemented("meters have no counters by color")
    spec = pipeline.index.table(entry.table_entry.table_id)
    meter = resources.direct_meter(pipeline, spec)
    key, priority = decode_key(spec, entry.table_entry)
    with _table_errors():
        slot = pipeline.switch.tables[spec.name].slot(key, priority)
    resources.set_meter(meter, slot, entry.config if entry.HasField("config") else None)


def _annotate(pipeline: Pipeline, place: tuple[str, Key | None, int], entry: TableEntry) -> None:
    note = Note(entry.controller_metadata, entry.metadata)
    if note == NO_NOTE:
        pipeline.notes.pop(place, None)
    else:
        pipeline.notes[place] = note


@contextmanager
def _table_errors() -> Iterator[None]:
    """The switch's refusals as canonical codes."""
    try:
        yield
    except EntryExists as error:
        raise RpcError(grpc.StatusCode.ALREADY_EXISTS, f"table {error}") from None
    except NoSuchEntry as error:
        raise not_found(f"table {error}") from None
    except TableFull as error:
        raise RpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, f"table {error}") from None
    except BadEntry as error:
        raise invalid(f"table {error}") from None


_WRITERS = {
    "table_entry": _write_table_entry,
    "counter_entry": resources.write_counter,
    "direct_counter_entry": _write_direct_counter,
    "meter_entry": resources.write_meter,
    "direct_meter_entry": _write_direct_meter,
    "register_entry": resources.write_register,
}
