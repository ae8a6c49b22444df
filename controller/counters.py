# SPDX-License-Identifier: Apache-2.0
"""Counters of a switch by name."""

from collections.abc import Iterable, Sequence
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
    indices: Sequence[int] | None = None,
) -> dict[str, dict[int, CounterValue]]:
    """Cells of the indexed counters `names` (all of the program's by default), by name and index.

    `indices` are the cells wanted, of each counter that is that large; all by default. Raises
    KeyError for a name that is not in the P4Info, SwitchError when the read fails or leaves a
    cell out.
    """
    counters = {counter.preamble.name: counter for counter in p4info.counters}
    chosen = [counters[name] for name in (counters if names is None else names)]
    requests: list[p4runtime_pb2.Entity] = []
    cells: dict[int, dict[int, CounterValue]] = {}
    for counter in chosen:
        wanted = _wanted(counter.size, indices)
        requests += _requests(counter.preamble.id, wanted if indices is not None else None)
        cells[counter.preamble.id] = dict.fromkeys(wanted, _MISSING)
    for entity in session.read(*requests) if requests else ():
        entry = entity.counter_entry
        cells[entry.counter_id][entry.index.index] = CounterValue(
            entry.data.packet_count, entry.data.byte_count
        )
    for counter in chosen:
        for index, value in cells[counter.preamble.id].items():
            if value is _MISSING:
                raise SwitchError(
                    f"{session.where}: counter {counter.preamble.name}: no value for index {index}"
                )
    return {counter.preamble.name: cells[counter.preamble.id] for counter in chosen}


_MISSING = CounterValue(-1, -1)


def _wanted(size: int, indices: Sequence[int] | None) -> Sequence[int]:
    return range(size) if indices is None else [i for i in indices if 0 <= i < size]


def _requests(counter_id: int, indices: Sequence[int] | None) -> list[p4runtime_pb2.Entity]:
    """One wildcard for the whole counter, or one request a cell."""
    requests = []
    for index in (None,) if indices is None else indices:
        request = p4runtime_pb2.Entity()
        request.counter_entry.counter_id = counter_id
        if index is not None:
            request.counter_entry.index.index = index
        requests.append(request)
    return requests
