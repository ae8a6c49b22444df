# SPDX-License-Identifier: Apache-2.0
"""From times of postings and completions to the figures of a row. Nanoseconds in, and out.

Definitions are perftest's (`print_report_bw` and `print_report_lat` in perftest_parameters.c of
linux-rdma/perftest), with two differences: no iteration is left out (there, the two slowest are),
and the deviation is that of the figures themselves (there, of their whole microseconds).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from endpoint.agent.values import ExerciseResult

_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class BandwidthRow:
    """Bytes and messages per second. `peak` is None for a duration. `iterations` of all queue
    pairs, in one direction."""

    size: int
    iterations: int
    peak: float | None
    average: float
    message_rate: float


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """Half round trips, in ns."""

    size: int
    iterations: int
    least: float
    most: float
    typical: float
    average: float
    deviation: float
    percentile_99: float
    percentile_99_9: float


@dataclass(frozen=True, slots=True)
class LatencyOverTime:
    """Of a duration: the mean half round trip in ns, and round trips per second."""

    size: int
    iterations: int
    average: float
    rate: float


Row = BandwidthRow | LatencyRow | LatencyOverTime


def bandwidth(size: int, results: Sequence[ExerciseResult]) -> BandwidthRow:
    """The row of one size: the sum over the directions, of which there are one or two.

    A direction's average is all its bytes over the time from its first posting to its last
    completion; of a duration, those that completed in it over its length.
    """
    rates = [Fraction(r.counted * _SECOND_NS, max(1, r.end_ns - r.begin_ns)) for r in results]
    recorded = all(result.posted_ns for result in results)
    peaks = [peak_rate(r.posted_ns, r.completed_ns) for r in results] if recorded else None
    rate = sum(rates)
    return BandwidthRow(
        size,
        results[0].counted,
        None if peaks is None else float(size * sum(peaks)),
        float(size * rate),
        float(rate),
    )


def peak_rate(posted_ns: Sequence[int], completed_ns: Sequence[int]) -> Fraction:
    """The most messages per second over any span that begins with a posting and ends with a
    completion, both in the order in which they happened.

    The span from posting i to completion j (i <= j) carries j - i + 1 messages. The best of all
    n² spans is found in a few passes: with a guess g, the span with the largest count - g × time
    gives a better guess, until none does (Dinkelbach's method). Exact, as all is integer.
    """
    count = len(posted_ns)
    best = Fraction(count, _least_one(completed_ns[-1] - posted_ns[0]))
    while True:
        found = _best_span(posted_ns, completed_ns, best)
        if found <= best:
            return best * _SECOND_NS
        best = found


def _best_span(posted_ns: Sequence[int], completed_ns: Sequence[int], guess: Fraction) -> Fraction:
    up, down = guess.numerator, guess.denominator
    least: int | None = None
    gain: int | None = None
    first = span = (0, 0)
    for i, (posted, completed) in enumerate(zip(posted_ns, completed_ns, strict=True)):
        start = down * i - up * posted
        if least is None or start < least:
            least, first = start, (i, posted)
        value = down * (i + 1) - up * completed - least
        if gain is None or value > gain:
            gain, span = value, (i + 1 - first[0], completed - first[1])
    return Fraction(span[0], _least_one(span[1]))


def _least_one(duration_ns: int) -> int:
    return max(1, duration_ns)


def latency(size: int, result: ExerciseResult) -> LatencyRow | LatencyOverTime:
    """The row of one size, from round trips: a one-way time is taken as half of one."""
    if not result.posted_ns:
        span_ns = result.end_ns - result.begin_ns
        rate = result.counted * _SECOND_NS / span_ns
        average = span_ns / result.counted / 2 if result.counted else 0.0
        return LatencyOverTime(size, result.counted, average, rate)
    trips = sorted(
        completed - posted
        for posted, completed in zip(result.posted_ns, result.completed_ns, strict=True)
    )
    return LatencyRow(
        size,
        len(trips),
        trips[0] / 2,
        trips[-1] / 2,
        statistics.median(trips) / 2,
        statistics.fmean(trips) / 2,
        statistics.pstdev(trips) / 2,
        percentile(trips, 990) / 2,
        percentile(trips, 999) / 2,
    )


def percentile(ordered: Sequence[int], per_mille: int) -> int:
    """The least value that at least so many thousandths do not exceed (nearest rank)."""
    rank = -(-len(ordered) * per_mille // 1000)
    return ordered[max(1, rank) - 1]
