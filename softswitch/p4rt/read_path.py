# SPDX-License-Identifier: Apache-2.0
"""Entities that one request of a Read selects."""

from collections.abc import Iterable, Iterator

from p4.v1 import p4runtime_pb2

from softswitch.errors import NoSuchEntry
from softswitch.p4rt import resources
from softswitch.p4rt.entries import decode_key, encode_action, encode_key
from softswitch.p4rt.errors import invalid, not_found, unimplemented
from softswitch.p4rt.p4info import TableSpec
from softswitch.p4rt.pipeline import NO_NOTE, Pipeline
from softswitch.tables import TableEntry

Entity = p4runtime_pb2.Entity


def select(pipeline: Pipeline, request: p4runtime_pb2.Entity) -> list[p4runtime_pb2.Entity]:
    """Entities that match `request`; RpcError when it is malformed or names what is not there."""
    kind = request.WhichOneof("entity")
    if kind is None:
        raise invalid("the request has no entity")
    reader = _READERS.get(kind)
    if reader is None:
        raise unimplemented(f"entities of kind {kind} are not supported")
    return list(reader(pipeline, getattr(request, kind)))


def _read_table_entries(
    pipeline: Pipeline, request: p4runtime_pb2.TableEntry
) -> Iterator[p4runtime_pb2.Entity]:
    if request.HasField("time_since_last_hit"):
        raise invalid("idle timeouts are not supported")
    if request.HasField("meter_counter_data"):
        raise unimplemented("meters have no counters by color")
    if not request.table_id:
        for spec in pipeline.index.tables.values():
            yield from _read_table(pipeline, spec, request)
        return
    yield from _read_table(pipeline, pipeline.index.table(request.table_id), request)


def _read_table(
    pipeline: Pipeline, spec: TableSpec, request: p4runtime_pb2.TableEntry
) -> Iterator[p4runtime_pb2.Entity]:
    table = pipeline.switch.tables[spec.name]
    entries: Iterable[TableEntry]
    if request.is_default_action:
        entries = [table.default]
    elif request.match:
        key, priority = decode_key(spec, request)
        try:
            entries = [table.get(key, priority)]
        except NoSuchEntry:
            raise not_found(f"table {spec.name}: has no such entry") from None
    else:
        entries = table.entries()
    action_id = request.action.action.action_id
    for entry in entries:
        entity = Entity()
        _encode(pipeline, spec, entry, request, entity.table_entry)
        found = entity.table_entry
        if (
            action_id in (0, found.action.action.action_id)
            and request.priority in (0, found.priority)
            and request.controller_metadata in (0, found.controller_metadata)
            and request.metadata in (b"", found.metadata)
        ):
            yield entity


def _encode(
    pipeline: Pipeline,
    spec: TableSpec,
    entry: TableEntry,
    request: p4runtime_pb2.TableEntry,
    into: p4runtime_pb2.TableEntry,
) -> None:
    """`entry` as a message, with the direct resources that `request` asks for."""
    into.table_id = spec.id
    encode_action(pipeline.index.actions_by_name, entry.action, entry.params, into)
    if request.is_default_action:
        into.is_default_action = True
        note = pipeline.notes.get((spec.name, None, 0), NO_NOTE)
    else:
        encode_key(spec, entry.key, into)
        into.priority = entry.priority
        into.is_const = spec.is_const
        note = pipeline.notes.get((spec.name, entry.key, entry.priority), NO_NOTE)
        _encode_direct(pipeline, spec, entry, request, into)
    into.controller_metadata = note.controller_metadata
    into.metadata = note.metadata


def _encode_direct(
    pipeline: Pipeline,
    spec: TableSpec,
    entry: TableEntry,
    request: p4runtime_pb2.TableEntry,
    into: p4runtime_pb2.TableEntry,
) -> None:
    table = pipeline.switch.tables[spec.name]
    if request.HasField("counter_data") and spec.direct_counter:
        into.counter_data.SetInParent()
        values = table.read_counter(entry.key, entry.priority)
        resources.fill_counter(into.counter_data, *values)
    if request.HasField("meter_config") and spec.direct_meter:
        slot = table.slot(entry.key, entry.priority)
        resources.fill_meter(resources.direct_meter(pipeline, spec), slot, into.meter_config)


def _direct_tables(pipeline: Pipeline, request, attribute: str) -> Iterable[TableSpec]:
    """The table that a direct entry's request names, or all that have the resource."""
    table_id = request.table_entry.table_id
    if not table_id:
        return [t for t in pipeline.index.tables.values() if getattr(t, attribute)]
    spec = pipeline.index.table(table_id)
    if not getattr(spec, attribute):
        raise invalid(f"table {spec.name}: has no {attribute.replace('_', ' ')}")
    return [spec]


def _found_with(
    pipeline: Pipeline, request, resource: str, part: str
) -> Iterator[p4runtime_pb2.TableEntry]:
    """Entries that a direct entry's request selects, each with `part` of its direct resource."""
    wanted = p4runtime_pb2.TableEntry()
    wanted.CopyFrom(request.table_entry)
    getattr(wanted, part).SetInParent()
    for spec in _direct_tables(pipeline, request, resource):
        for entity in _read_table(pipeline, spec, wanted):
            yield entity.table_entry


def _read_direct_counters(
    pipeline: Pipeline, request: p4runtime_pb2.DirectCounterEntry
) -> Iterator[p4runtime_pb2.Entity]:
    for found in _found_with(pipeline, request, "direct_counter", "counter_data"):
        entity = Entity()
        entity.direct_counter_entry.data.CopyFrom(found.counter_data)
        _copy_key(found, entity.direct_counter_entry.table_entry)
        yield entity


def _read_direct_meters(
    pipeline: Pipeline, request: p4runtime_pb2.DirectMeterEntry
) -> Iterator[p4runtime_pb2.Entity]:
    if request.HasField("counter_data"):
        raise unimplemented("meters have no counters by color")
    for found in _found_with(pipeline, request, "direct_meter", "meter_config"):
        entity = Entity()
        if found.HasField("meter_config"):
            entity.direct_meter_entry.config.CopyFrom(found.meter_config)
        _copy_key(found, entity.direct_meter_entry.table_entry)
        yield entity


def _copy_key(found: p4runtime_pb2.TableEntry, into: p4runtime_pb2.TableEntry) -> None:
    into.table_id = found.table_id
    into.match.extend(found.match)
    into.priority = found.priority


def _nothing_of_id(field: str):
    """Reader of a kind of which no program here has any: empty for a wildcard."""

    def read(_pipeline: Pipeline, request) -> list[p4runtime_pb2.Entity]:
        if getattr(request, field):
            raise not_found(f"no object with id {getattr(request, field)} in the p4info")
        return []

    return read


def _replication_entries(
    _pipeline: Pipeline, _request: p4runtime_pb2.PacketReplicationEngineEntry
) -> list[p4runtime_pb2.Entity]:
    return []  # multicast groups and clone sessions cannot be written, so there are none


_READERS = {
    "table_entry": _read_table_entries,
    "counter_entry": resources.read_counters,
    "direct_counter_entry": _read_direct_counters,
    "meter_entry": resources.read_meters,
    "direct_meter_entry": _read_direct_meters,
    "register_entry": resources.read_registers,
    "action_profile_member": _nothing_of_id("action_profile_id"),
    "action_profile_group": _nothing_of_id("action_profile_id"),
    "value_set_entry": _nothing_of_id("value_set_id"),
    "digest_entry": _nothing_of_id("digest_id"),
    "packet_replication_engine_entry": _replication_entries,
}
