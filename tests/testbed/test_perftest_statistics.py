# SPDX-License-Identifier: Apache-2.0
"""Proves that rates, peaks and percentiles are those of the recorded times, by hand and against
an exhaustive search."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.agent.values import ExerciseResult
from testbed.perftest.statistics import (
    BandwidthRow,
    LatencyOverTime,
    LatencyRow,
    bandwidth,
    latency,
    peak_rate,
    percentile,
)

SECOND = 1_000_000_000


def recorded(posted: list[int], completed: list[int]) -> ExerciseResult:
    return ExerciseResult(
        "", tuple(posted), tuple(completed), posted[0], completed[-1], len(completed)
    )


def test_the_average_is_all_bytes_from_first_posting_to_last_completion() -> None:
    # Two messages of 1000 bytes posted at once, the next when one completes; 4 in 400 ns.
    row = bandwidth(1000, [recorded([100, 100, 250, 300], [250, 300, 400, 500])])
    assert row == BandwidthRow(1000, 4, 4000 / 400e-9, 4000 / 400e-9, 4 / 400e-9)


def test_the_peak_is_the_best_span_of_a_posting_and_a_completion() -> None:
    # From the second posting to the third completion, 2 messages take 100 ns.
    row = bandwidth(10, [recorded([0, 1000, 1050, 2000], [900, 1090, 1100, 2900])])
    assert row.peak == pytest.approx(10 * 2 / 100e-9)
    assert row.average == pytest.approx(10 * 4 / 2900e-9)


@given(
    gaps=st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=30),
)
def test_the_peak_is_that_of_an_exhaustive_search(gaps: list[tuple[int, int]]) -> None:
    posted: list[int] = []
    completed: list[int] = []
    for pause, length in gaps:
        posted.append((posted[-1] if posted else 0) + pause)
        completed.append(max(posted[-1], completed[-1] if completed else 0) + length)
    best = max(
        Fraction((j - i + 1) * SECOND, completed[j] - posted[i])
        for i in range(len(posted))
        for j in range(i, len(posted))
    )
    assert peak_rate(posted, completed) == best


def test_two_directions_are_added_up() -> None:
    one = recorded([0, 0], [100, 200])
    other = recorded([50, 50], [100, 150])
    row = bandwidth(8, [one, other])
    assert row.iterations == 2
    assert row.average == pytest.approx(8 * 2 / 200e-9 + 8 * 2 / 100e-9)
    assert row.message_rate == pytest.approx(2 / 200e-9 + 2 / 100e-9)
    assert row.peak == pytest.approx(16 / 200e-9 + 16 / 100e-9)


def test_of_a_duration_there_is_a_rate_and_no_peak() -> None:
    row = bandwidth(64, [ExerciseResult("", (), (), 500, 2_500, 40)])
    assert row == BandwidthRow(64, 40, None, 64 * 40 / 2e-6, 40 / 2e-6)


def test_latency_is_half_of_each_round_trip_and_none_is_left_out() -> None:
    trips = [20, 40, 40, 60, 1000]
    posted = [0, 100, 200, 300, 400]
    row = latency(2, recorded(posted, [at + trip for at, trip in zip(posted, trips, strict=True)]))
    assert isinstance(row, LatencyRow)
    assert (row.size, row.iterations) == (2, 5)
    assert (row.least, row.most, row.typical, row.average) == (10, 500, 20, 116)
    assert row.deviation == pytest.approx(192.1, abs=0.05)
    assert (row.percentile_99, row.percentile_99_9) == (500, 500)


def test_the_median_of_an_even_number_lies_between_two() -> None:
    row = latency(2, recorded([0, 0], [10, 30]))
    assert isinstance(row, LatencyRow)
    assert row.typical == 10


def test_percentiles_are_the_nearest_rank() -> None:
    ordered = list(range(1, 1001))
    assert [percentile(ordered, 990), percentile(ordered, 999)] == [990, 999]
    assert [percentile(ordered[:100], 990), percentile(ordered[:100], 999)] == [99, 100]
    assert percentile([7], 990) == 7


def test_latency_over_a_duration_is_the_mean_and_the_rate_of_round_trips() -> None:
    row = latency(2, ExerciseResult("", (), (), 1_000, 2_001_000, 100))
    assert row == LatencyOverTime(2, 100, 10_000.0, 50_000.0)
    assert latency(2, ExerciseResult("", (), (), 0, 1000, 0)) == LatencyOverTime(2, 0, 0.0, 0.0)
