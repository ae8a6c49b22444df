# SPDX-License-Identifier: Apache-2.0
"""Counters, registers and meters of one switch. Their lists live as long as the switch does,
since generated code holds on to them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from softswitch.model import ArrayDef

U64 = (1 << 64) - 1


class CounterArray:
    """An indirect counter: packets and bytes (of the frame as received) by index."""

    def __init__(self, definition: ArrayDef) -> None:
        self.name = definition.name
        self.size = definition.size
        self.packets = [0] * definition.size
        self.bytes = [0] * definition.size

    def read(self, index: int) -> tuple[int, int]:
        """(packets, bytes). Raises :class:`IndexError` outside 0..size - 1."""
        _check(self.name, index, self.size)
        return self.packets[index] & U64, self.bytes[index] & U64

    def write(self, index: int, packets: int, count_bytes: int) -> None:
        """Set both values. Raises :class:`IndexError` outside 0..size - 1."""
        _check(self.name, index, self.size)
        self.packets[index], self.bytes[index] = packets & U64, count_bytes & U64

    def clear(self) -> None:
        self.packets[:] = [0] * self.size
        self.bytes[:] = [0] * self.size


class RegisterArray:
    """Cells of ``width`` bits."""

    def __init__(self, definition: ArrayDef) -> None:
        self.name = definition.name
        self.size = definition.size
        self.width = definition.width
        self.cells = [0] * definition.size

    def read(self, index: int) -> int:
        """Raises :class:`IndexError` outside 0..size - 1."""
        _check(self.name, index, self.size)
        return self.cells[index]

    def write(self, index: int, value: int) -> None:
        """Store the value modulo 2**width. Raises :class:`IndexError` outside 0..size - 1."""
        _check(self.name, index, self.size)
        self.cells[index] = value & ((1 << self.width) - 1)

    def clear(self) -> None:
        self.cells[:] = [0] * self.size


@dataclass(frozen=True, slots=True)
class MeterRate:
    """A rate in units (bytes or packets) per second, and a burst in units."""

    per_second: float
    burst: int


@dataclass(slots=True)
class _Bucket:
    rate_per_us: float
    burst: int
    color: int
    tokens: int
    given: int = 0


class MeterArray:
    """Two-rate three-colour meters as BMv2 computes them: 0 green, 1 yellow, 2 red.

    ``set_rates`` takes the rates in rising order (committed, peak). A meter without rates
    answers green. A direct meter grows with its table's slots.
    """

    def __init__(self, definition: ArrayDef) -> None:
        self.name = definition.name
        self.size = definition.size
        self.counts_bytes = definition.meter_unit == "bytes"
        self.rate_count = definition.rate_count
        self._buckets: dict[int, list[_Bucket]] = {}

    def set_rates(self, index: int, rates: Sequence[MeterRate]) -> None:
        """Raises :class:`ValueError` for a wrong number of rates or falling ones."""
        _check(self.name, index, self.size)
        if len(rates) != self.rate_count:
            raise ValueError(f"{self.name}: {self.rate_count} rates are needed")
        if any(a.per_second > b.per_second for a, b in itertools.pairwise(rates)):
            raise ValueError(f"{self.name}: the committed rate is above the peak rate")
        buckets = [
            _Bucket(rate.per_second / 1e6, rate.burst, color, rate.burst)
            for color, rate in enumerate(rates, start=1)
        ]
        self._buckets[index] = buckets[::-1]

    def rates(self, index: int) -> list[MeterRate]:
        """Rates in rising order; empty when the meter has none."""
        _check(self.name, index, self.size)
        buckets = self._buckets.get(index, [])
        return [MeterRate(b.rate_per_us * 1e6, b.burst) for b in reversed(buckets)]

    def reset(self, index: int) -> None:
        """Back to answering green."""
        _check(self.name, index, self.size)
        self._buckets.pop(index, None)

    def execute(self, index: int, length: int, now_us: int) -> int:
        """Colour of a packet of ``length`` bytes; takes its tokens."""
        buckets = self._buckets.get(index)
        if buckets is None:
            return 0
        need = length if self.counts_bytes else 1
        for bucket in buckets:
            total = int(now_us * bucket.rate_per_us)
            bucket.tokens = min(bucket.tokens + total - bucket.given, bucket.burst)
            bucket.given = total
            if bucket.tokens < need:
                return bucket.color
            bucket.tokens -= need
        return 0

    def clear(self) -> None:
        self._buckets.clear()


def _check(name: str, index: int, size: int) -> None:
    if not 0 <= index < size:
        raise IndexError(f"{name}: index {index} is outside 0..{size - 1}")
