# SPDX-License-Identifier: Apache-2.0
"""Goodput in bins, and means over stretches of time; message completion times."""

from __future__ import annotations

from collections.abc import Sequence


class GoodputBins:
    """Payload placed at destinations, by plane and bin of ``bin_ns``."""

    __slots__ = ("bin_ns", "planes")

    def __init__(self, planes: int, bin_ns: int, duration_ns: int) -> None:
        if bin_ns < 1:
            raise ValueError("a bin is at least 1 ns wide")
        self.bin_ns = bin_ns
        self.planes = [[0] * (duration_ns // bin_ns + 1) for _ in range(planes)]

    def mean_gbps(self, from_ns: int, to_ns: int) -> float | None:
        """Mean over the whole bins within the stretch, all planes; None when it has none."""
        first = -(-from_ns // self.bin_ns)
        last = to_ns // self.bin_ns
        if last <= first:
            return None
        total = sum(sum(plane[first:last]) for plane in self.planes)
        return round(total * 8 / ((last - first) * self.bin_ns), 3)

    def series_gbps(self, to_ns: int) -> list[list[float]]:
        """Every bin up to the one that holds ``to_ns``, by plane, in Gb/s."""
        bins = to_ns // self.bin_ns + 1
        return [[round(b * 8 / self.bin_ns, 3) for b in plane[:bins]] for plane in self.planes]


def quantile(ordered: Sequence[int], share: float) -> int:
    """The smallest value that at least ``share`` of the values do not exceed (nearest rank)."""
    rank = max(1, -(-round(len(ordered) * share * 1_000_000) // 1_000_000))
    return ordered[min(rank, len(ordered)) - 1]
