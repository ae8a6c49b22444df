# SPDX-License-Identifier: Apache-2.0
"""Proves the round-trip estimate, the loss delay, and the retransmission timer's intervals."""

import pytest

from endpoint.retry_timer import RetryPolicy, default_exponent
from endpoint.rtt import RttEstimator


def test_the_first_sample_replaces_the_guess() -> None:
    rtt = RttEstimator(6_000)
    assert (rtt.smoothed_ns, rtt.loss_delay_ns) == (6_000, 18_000)
    rtt.add(100_000_000)
    assert (rtt.smoothed_ns, rtt.variation_ns) == (100_000_000, 50_000_000)


def test_samples_are_smoothed_as_in_rfc_6298() -> None:
    rtt = RttEstimator(8_000)
    rtt.add(8_000)
    rtt.add(16_000)
    assert rtt.variation_ns == 4_000 + (8_000 - 4_000) // 4
    assert rtt.smoothed_ns == 8_000 + 8_000 // 8
    assert rtt.loss_delay_ns == 9_000 + 4 * 5_000
    assert (rtt.min_ns, rtt.latest_ns) == (8_000, 16_000)


def test_the_allowance_for_reordering_is_a_floor() -> None:
    rtt = RttEstimator(8_000, reorder_ns=5_000)
    for _ in range(200):
        rtt.add(8_000)
    assert rtt.variation_ns < 10
    assert rtt.loss_delay_ns == 8_000 + 5_000


def test_a_clock_that_ran_back_is_ignored() -> None:
    rtt = RttEstimator(8_000)
    rtt.add(-5)
    assert rtt.samples == 0


@pytest.mark.fact("rel.timer")
def test_the_timer_is_linear_first_and_then_doubles() -> None:
    policy = RetryPolicy(exponent=8, linear=3, exponential=4)
    unit = 1024 << 8
    assert [policy.interval_ns(n, 0) // unit for n in range(7)] == [1, 1, 1, 1, 2, 4, 8]
    assert [policy.exhausted(n) for n in (0, 6, 7)] == [False, False, True]


def test_the_timer_never_runs_beyond_its_highest_exponent() -> None:
    policy = RetryPolicy(exponent=20, linear=0, exponential=24)
    assert policy.interval_ns(24, 0) == 1024 << 24 == policy.longest_ns


@pytest.mark.fact("rel.timer-forever")
def test_twenty_five_is_for_ever() -> None:
    assert not RetryPolicy(exponential=25).exhausted(10_000)


def test_a_measured_round_trip_stretches_the_timer() -> None:
    assert RetryPolicy(exponent=0).interval_ns(0, 5_000_000) == 5_000_000


def test_the_default_follows_the_round_trip() -> None:
    assert default_exponent(6_000) == 8
    assert 1024 << default_exponent(1_000_000) >= 16_000_000
    assert 1024 << (default_exponent(1_000_000) - 1) < 16_000_000
    assert default_exponent(10**12) == 24


def test_out_of_range_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="linear 8 is outside"):
        RetryPolicy(linear=8)
    with pytest.raises(ValueError, match="exponent 25"):
        RetryPolicy(exponent=25)
