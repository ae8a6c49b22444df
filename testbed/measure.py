# SPDX-License-Identifier: Apache-2.0
"""Payload in bins of time, means over stretches of time, quantiles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence


class Bins:
    """Payload bytes placed at destinations, in bins of ``bin_ns``, one row a plane (or a flow).

    A row maps the number of a bin to its bytes: ``row[time_ns // bin_ns] += placed``. Rates are
    rounded to ``digits`` decimals of a Gb/s.
    """

    __slots__ = ("bin_ns", "digits", "rows")

    def __init__(self, rows: int, bin_ns: int, digits: int = 3) -> None:
        if bin_ns < 1:
            raise ValueError("a bin is at least 1 ns wide")
        self.bin_ns = bin_ns
        self.digits = digits
        self.rows: list[defaultdict[int, int]] = [defaultdict(int) for _ in range(rows)]

    def add_row(self) -> defaultdict[int, int]:
        """One more row, empty."""
        self.rows.append(defaultdict(int))
        return self.rows[-1]

    def mean_gbps(self, from_ns: int, to_ns: int, row: int | None = None) -> float | None:
        """Mean of one row (or the sum of all) over the whole bins within a stretch of time.

        None when no whole bin lies within it.
        """
        first = -(-from_ns // self.bin_ns)
        last = to_ns // self.bin_ns
        if last <= first:
            return None
        rows = self.rows if row is None else [self.rows[row]]
        total = sum(row.get(i, 0) for row in rows for i in range(first, last))
        return round(total * 8 / ((last - first) * self.bin_ns), self.digits)

    def series_gbps(self, to_ns: int) -> list[list[float]]:
        """Every bin up to the one that holds ``to_ns``, by row, in Gb/s."""
        bins = range(to_ns // self.bin_ns + 1)
        return [
            [round(row.get(i, 0) * 8 / self.bin_ns, self.digits) for i in bins] for row in self.rows
        ]


def quantile(ordered: Sequence[int], percent: int) -> int:
    """The smallest value that at least ``percent`` % of the values do not exceed."""
    rank = max(1, -(-len(ordered) * percent // 100))
    return ordered[min(rank, len(ordered)) - 1]


def jain_index(values: Sequence[float]) -> float | None:
    """Jain's fairness index (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has everything;
    None when there is nothing to share."""
    squares = sum(value * value for value in values)
    return round(sum(values) ** 2 / (len(values) * squares), 6) if squares else None
