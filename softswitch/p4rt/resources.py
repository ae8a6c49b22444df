# SPDX-License-Identifier: Apache-2.0
"""Counters, meters and registers, read and written by index, and the direct ones of entries."""

from collections.abc import Callable, Iterable, Iterator

from p4.v1 import p4runtime_pb2

from softswitch.externs import CounterArray, MeterArray, MeterRate, RegisterArray
from softswitch.p4rt import bytestring
from softswitch.p4rt.entries import Key, decode_value
from softswitch.p4rt.errors import invalid, out_of_range, unimplemented
from softswitch.p4rt.p4info import ArraySpec, TableSpec
from softswitch.p4rt.pipeline import Pipeline

Update = p4runtime_pb2.Update
_INT64_MAX = (1 << 63) - 1


def require_modify(kind: int, what: str) -> None:
    """Indexed and direct resources exist as long as the program: they are only modified."""
    if kind != Update.MODIFY:
        raise invalid(f"{what} entries take MODIFY only, got {Update.Type.Name(kind)}")


def _indices(spec: ArraySpec, message, what: str) -> Iterable[int]:
    """The index that `message` names, or all."""
    if not message.HasField("index"):
        return range(spec.size)
    index = message.index.index
    if index < 0:
        raise invalid(f"{what} {spec.name}: index {index} is negative")
    if index >= spec.size:
        raise out_of_range(f"{what} {spec.name}: index {index} is outside 0..{spec.size - 1}")
    return (index,)


def _read(pipeline: Pipeline, kind: str, request, fill: Callable) -> Iterator[p4runtime_pb2.Entity]:
    """Cells of the array that `request` names, or of all of its `kind` for id 0.

    `fill(entry, array, index)` sets the value of each cell's message.
    """
    object_id = getattr(request, f"{kind}_id")
    specs = getattr(pipeline.index, f"{kind}s").values()
    arrays = getattr(pipeline.switch, f"{kind}s")
    for spec in [pipeline.index.array(kind, object_id)] if object_id else specs:
        for index in _indices(spec, request, kind):
            entity = p4runtime_pb2.Entity()
            entry = getattr(entity, f"{kind}_entry")
            setattr(entry, f"{kind}_id", spec.id)
            entry.index.index = index
            fill(entry, arrays[spec.name], index)
            yield entity


def counter_values(data: p4runtime_pb2.CounterData, where: str) -> tuple[int, int]:
    """Packets and bytes; INVALID_ARGUMENT when one is negative."""
    if data.packet_count < 0 or data.byte_count < 0:
        raise invalid(f"{where}: counter values cannot be negative")
    return data.packet_count, data.byte_count


def fill_counter(data: p4runtime_pb2.CounterData, packets: int, count_bytes: int) -> None:
    """Counters wrap at 2^64 in the switch and at 2^63 on the wire (int64)."""
    data.packet_count = packets & _INT64_MAX
    data.byte_count = count_bytes & _INT64_MAX


def write_counter(pipeline: Pipeline, kind: int, entry: p4runtime_pb2.CounterEntry) -> None:
    require_modify(kind, "counter")
    spec = pipeline.index.array("counter", entry.counter_id)
    indices = _indices(spec, entry, "counter")
    if not entry.HasField("data"):
        return
    packets, count_bytes = counter_values(entry.data, f"counter {spec.name}")
    for index in indices:
        pipeline.switch.counters[spec.name].write(index, packets, count_bytes)


def read_counters(
    pipeline: Pipeline, request: p4runtime_pb2.CounterEntry
) -> Iterator[p4runtime_pb2.Entity]:
    def fill(entry: p4runtime_pb2.CounterEntry, counter: CounterArray, index: int) -> None:
        fill_counter(entry.data, *counter.read(index))

    return _read(pipeline, "counter", request, fill)


def write_register(pipeline: Pipeline, kind: int, entry: p4runtime_pb2.RegisterEntry) -> None:
    require_modify(kind, "register")
    spec = pipeline.index.array("register", entry.register_id)
    indices = _indices(spec, entry, "register")
    data = entry.data.WhichOneof("data")
    if data != "bitstring":
        raise invalid(f"register {spec.name}: takes a bitstring, got {data}")
    value = decode_value(entry.data.bitstring, spec.width, f"register {spec.name}")
    for index in indices:
        pipeline.switch.registers[spec.name].write(index, value)


def read_registers(
    pipeline: Pipeline, request: p4runtime_pb2.RegisterEntry
) -> Iterator[p4runtime_pb2.Entity]:
    def fill(entry: p4runtime_pb2.RegisterEntry, register: RegisterArray, index: int) -> None:
        entry.data.bitstring = bytestring.encode(register.read(index))

    return _read(pipeline, "register", request, fill)


def write_meter(pipeline: Pipeline, kind: int, entry: p4runtime_pb2.MeterEntry) -> None:
    require_modify(kind, "meter")
    _refuse_color_counters(entry)
    spec = pipeline.index.array("meter", entry.meter_id)
    meter = pipeline.switch.meters[spec.name]
    for index in _indices(spec, entry, "meter"):
        set_meter(meter, index, entry.config if entry.HasField("config") else None)


def read_meters(
    pipeline: Pipeline, request: p4runtime_pb2.MeterEntry
) -> Iterator[p4runtime_pb2.Entity]:
    _refuse_color_counters(request)

    def fill(entry: p4runtime_pb2.MeterEntry, meter: MeterArray, index: int) -> None:
        fill_meter(meter, index, entry.config)

    return _read(pipeline, "meter", request, fill)


def direct_meter(pipeline: Pipeline, table: TableSpec) -> MeterArray:
    """The direct meter of `table`; INVALID_ARGUMENT when it has none."""
    if not table.direct_meter:
        raise invalid(f"table {table.name}: has no direct meter")
    return pipeline.switch.meters[pipeline.index.direct_meters[table.direct_meter].name]


def set_meter(meter: MeterArray, index: int, config: p4runtime_pb2.MeterConfig | None) -> None:
    """Configure one cell, or let it answer green again without `config`.

    Rates are bytes or packets per second, bursts bytes or packets, as the program declares.
    """
    if config is None:
        meter.reset(index)
        return
    if config.eburst:
        raise invalid(f"meter {meter.name}: eburst is for single-rate meters")
    if min(config.cir, config.cburst, config.pir, config.pburst) < 0:
        raise invalid(f"meter {meter.name}: rates and bursts cannot be negative")
    rates = [MeterRate(config.cir, config.cburst), MeterRate(config.pir, config.pburst)]
    try:
        meter.set_rates(index, rates)
    except ValueError as error:
        raise invalid(f"meter {error}") from None


def fill_meter(meter: MeterArray, index: int, config: p4runtime_pb2.MeterConfig) -> None:
    """Set `config` to the cell's; a cell in its default state leaves it unset."""
    rates = meter.rates(index)
    if not rates:
        return
    committed, peak = rates
    config.cir, config.cburst = round(committed.per_second), committed.burst
    config.pir, config.pburst = round(peak.per_second), peak.burst


def _refuse_color_counters(message) -> None:
    if message.HasField("counter_data"):
        raise unimplemented("meters have no counters by color")


def reset_direct_meter(pipeline: Pipeline, table: TableSpec, key: Key, priority: int) -> None:
    """A new entry starts with a green meter, whatever the slot's last entry had."""
    if table.direct_meter:
        slot = pipeline.switch.tables[table.name].slot(key, priority)
        direct_meter(pipeline, table).reset(slot)
