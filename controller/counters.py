# SPDX-License-Identifier: Apache-2.0
"""Counters of a switch by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2

from controller.client import SwitchError, SwitchSession


@dataclass(frozen=True, slots=True)
class CounterValue:
    """Packets and bytes that one cell of a counter has counted since the program was pushed."""

    packets: int
    bytes: int


def read_counters(
    session: SwitchSession,
    p4info: p4info_pb2.P4Info,
    names: Iterable[str] | None = None,
) -> Mapping[str, tuple[CounterValue, ...]]:
    """Every cell of the indexed counters `names` (all of the program's by default), by index.

    Raises KeyError for a name that is not in the P4Info, SwitchError when the read fails or
    leaves a cell out.
    """
    counters = {counter.preamble.name: counter for counter in p4info.counters}
    chosen = [counters[name] for name in (counters if names is None else names)]
    requests = []
    for counter in chosen:
        request = p4runtime_pb2.Entity()
        request.counter_entry.counter_id = counter.preamble.id
        requests.append(request)
    cells: dict[int, dict[int, CounterValue]] = {c.preamble.id: {} for c in chosen}
    for entity in session.read(*requests) if requests else ():
        entry = entity.counter_entry
        cells[entry.counter_id][entry.index.index] = CounterValue(
            entry.data.packet_count, entry.data.byte_count
        )
    result: dict[str, tuple[CounterValue, ...]] = {}
    for counter in chosen:
        values = cells[counter.preamble.id]
        missing = next((i for i in range(counter.size) if i not in values), None)
        if missing is not None:
            raise SwitchError(
                f"{session.where}: counter {counter.preamble.name}: no value for index {missing}"
            )
        result[counter.preamble.name] = tuple(values[i] for i in range(counter.size))
    return result
