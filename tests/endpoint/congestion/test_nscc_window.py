# SPDX-License-Identifier: Apache-2.0
"""Proves each row of NSCC's table, its decrease, its adjusting, and its bounds."""

from dataclasses import replace

import pytest

from endpoint.congestion import CongestionParameters, NsccConfig, NsccControl

MTU = 4_150
PARAMETERS = CongestionParameters(
    mtu=MTU, base_rtt_ns=5_349, link_rate_bps=100_000_000_000, payload=4_086
)
BASE = PARAMETERS.base_rtt_ns
TARGET = PARAMETERS.target_delay_ns
BELOW, ABOVE = BASE + TARGET // 2, BASE + 2 * TARGET


def control(window: int = 10 * MTU, *, silent: bool = False, **settings: object) -> NsccControl:
    """The table alone, unless the last hop is silent; without the steady increase."""
    config = NsccConfig(silent_last_hop=silent, **({"eta": 0.0} | settings))  # type: ignore[arg-type]
    nscc = NsccControl(PARAMETERS, config)
    nscc.window = window
    return nscc


class Acks:
    """Acknowledges a packet at a time, a window of them in a round trip."""

    def __init__(self, nscc: NsccControl) -> None:
        self.nscc = nscc
        self.now = 1_000_000

    def give(self, count: int, rtt: int | None, marked: bool = False) -> None:
        for _ in range(count):
            self.now += (rtt or BASE) * MTU // self.nscc.window
            self.nscc.on_ack(self.now, MTU, MTU, rtt, marked, 0, False, self.nscc.window)


def grown_in_a_window(nscc: NsccControl, rtt: int, marked: bool = False) -> int:
    start = nscc.window
    acks = Acks(nscc)
    acks.give(1, rtt, marked)  # the first adjusts at once, long after the beginning
    begun = nscc.window
    acks.give(start // MTU, rtt, marked)
    acks.now += BASE + 1
    acks.nscc.on_ack(acks.now, 0, 0, rtt, marked, 0, False)  # applies what has gathered
    return nscc.window - begun


@pytest.mark.fact("cc.proportional")
def test_unmarked_below_the_target_it_grows_in_proportion_to_the_distance() -> None:
    far, near = (
        grown_in_a_window(control(), BASE + TARGET - distance) for distance in (2_400, 1_200)
    )
    alpha = control().values.alpha
    assert far == pytest.approx(alpha * 2_400, rel=0.08)
    assert near == pytest.approx(alpha * 1_200, rel=0.08)


@pytest.mark.fact("cc.fair")
def test_unmarked_at_or_above_the_target_it_grows_by_the_fair_increase() -> None:
    for delay in (TARGET, 3 * TARGET):
        nscc = control()
        assert grown_in_a_window(nscc, BASE + delay) == pytest.approx(nscc.values.fi, rel=0.2)


def test_the_fair_increase_is_the_same_for_large_and_small_windows() -> None:
    small = grown_in_a_window(control(8 * MTU), ABOVE)
    large = grown_in_a_window(control(20 * MTU), ABOVE)
    assert small == pytest.approx(large, rel=0.2)


@pytest.mark.fact("cc.hold")
def test_marked_below_the_target_it_holds() -> None:
    nscc = control()
    Acks(nscc).give(200, BELOW, marked=True)
    assert nscc.window == 10 * MTU


@pytest.mark.fact("cc.decrease")
def test_marked_at_or_above_the_target_it_shrinks_by_the_excess_of_the_mean_delay() -> None:
    nscc = control(delay_weight=1.0)
    Acks(nscc).give(1, BASE + 2 * TARGET, marked=True)
    assert nscc.window == int(10 * MTU * (1 - 0.8 * 0.5))
    nscc = control(delay_weight=1.0)
    Acks(nscc).give(1, BASE + TARGET * 5 // 4, marked=True)
    assert nscc.window == pytest.approx(10 * MTU * (1 - 0.8 / 5), abs=40)


@pytest.mark.fact("cc.decrease")
def test_one_decrease_takes_at_most_max_md_jump() -> None:
    nscc = control(delay_weight=1.0, gamma=1.0)
    Acks(nscc).give(1, BASE + 50 * TARGET, marked=True)
    assert nscc.window == 5 * MTU
    nscc = control(delay_weight=1.0, gamma=1.0, max_md_jump=0.9)
    Acks(nscc).give(1, BASE + 50 * TARGET, marked=True)
    assert nscc.window == 9 * MTU


@pytest.mark.fact("cc.decrease")
def test_it_decreases_at_most_once_a_base_round_trip() -> None:
    nscc = control(delay_weight=1.0)
    for now in range(1_000_000, 1_000_000 + BASE + 1, 100):
        nscc.on_ack(now, MTU, MTU, ABOVE, True, 0, False)
    assert nscc.window == int(10 * MTU * 0.6)
    nscc.on_ack(1_000_000 + BASE + 1, MTU, MTU, ABOVE, True, 0, False)
    assert nscc.window == int(int(10 * MTU * 0.6) * 0.6)


def test_a_short_spell_of_delay_does_not_decrease_while_the_mean_is_below_the_target() -> None:
    nscc = control()
    Acks(nscc).give(20, ABOVE, marked=True)
    assert nscc.mean_delay_ns < TARGET
    assert nscc.window == 10 * MTU
    Acks(nscc).give(100, ABOVE, marked=True)
    assert nscc.window < 10 * MTU


def test_the_mean_delay_weighs_a_sample_with_an_eightieth() -> None:
    nscc = control()
    nscc.on_ack(1, MTU, MTU, BASE + 8_000, True, 0, False)
    assert nscc.mean_delay_ns == pytest.approx(100)
    nscc.on_ack(2, MTU, MTU, None, True, 0, False)  # no sample, no change
    nscc.on_ack(3, MTU, MTU, BASE - 500, True, 0, False)  # a packet shorter than the longest
    assert nscc.mean_delay_ns == pytest.approx(100 * 79 / 80)


def test_an_empty_network_lets_it_grow_by_a_share_of_what_is_received() -> None:
    nscc = control()
    acks = Acks(nscc)
    acks.give(11, BASE + 100)
    begun = nscc.window
    acks.give(10, BASE + 100)
    assert nscc.window - begun == 10 * int(MTU * nscc.values.fi_scale)
    acks.give(1, BELOW)  # a queue, and it is over
    begun = nscc.window
    acks.give(4, BASE + 100)
    assert nscc.window - begun < MTU * nscc.values.fi_scale


def test_growth_waits_for_bytes_or_for_time() -> None:
    nscc = control(20 * MTU)
    acks = Acks(nscc)
    acks.give(1, ABOVE)
    begun, now = nscc.window, acks.now
    for _ in range(8):
        nscc.on_ack(now, MTU, MTU, ABOVE, False, 0, False)
    assert nscc.window == begun  # 33,200 bytes are not more than 33,200 bytes
    nscc.on_ack(now, MTU, MTU, ABOVE, False, 0, False)
    assert nscc.window > begun
    begun = nscc.window
    nscc.on_ack(now + 1, MTU, MTU, ABOVE, False, 0, False)
    assert nscc.window == begun
    nscc.on_ack(now + BASE, 0, 0, ABOVE, False, 0, False)
    assert nscc.window > begun


def test_eta_is_added_in_every_adjust_period_even_while_it_holds() -> None:
    nscc = control(eta=100.0)
    for period in range(1, 6):
        for _ in range(3):
            nscc.on_ack(period * BASE, MTU, MTU, BELOW, True, 0, False)
    assert nscc.window == 10 * MTU + 500


@pytest.mark.fact("cc.bounds")
def test_the_window_stays_between_one_packet_and_max_cwnd() -> None:
    nscc = control(silent=True)
    acks = Acks(nscc)
    acks.give(2_000, BASE)
    assert nscc.window == nscc.values.max_cwnd
    for _ in range(100):
        nscc.on_loss(acks.now, MTU)
    assert nscc.window == MTU
    acks.give(500, BASE + 100 * TARGET, marked=True)
    assert nscc.window >= MTU
    assert nscc.can_send(MTU - 1, MTU)


@pytest.mark.fact("cc.loss")
def test_a_loss_takes_its_bytes_off_and_a_timer_those_of_all_it_gave_up() -> None:
    nscc = control()
    nscc.on_loss(0, MTU)
    assert nscc.window == 9 * MTU
    nscc.on_timeout(0, 3 * MTU)
    assert nscc.window == 6 * MTU
    nscc.on_timeout(0, 0)
    assert nscc.window == 6 * MTU


@pytest.mark.fact("cc.brake")
def test_the_receivers_brake_takes_its_share_of_what_it_newly_counts() -> None:
    nscc = control()
    nscc.on_ack(1, 0, 4_096, BASE + TARGET, True, 64, False)
    assert nscc.window == 10 * MTU - 2_048
    nscc.on_ack(2, MTU, 0, BASE + TARGET, True, 127, False)  # nothing newly counted
    assert nscc.window == 10 * MTU - 2_048
    nscc.on_ack(3, 0, 4_096, BASE + TARGET, True, 127, False)
    assert nscc.window == 10 * MTU - 2_048 - 4_064
    nscc.on_ack(4, 0, 0, BASE + TARGET, True, 0, True)
    assert nscc.window == 10 * MTU
    nscc.on_ack(5, 0, 0, BASE + TARGET, True, 0, True)  # given back once
    assert nscc.window == 10 * MTU


def test_at_a_silent_last_hop_a_late_packet_decreases_without_a_mark() -> None:
    nscc = control(silent=True, delay_weight=1.0)
    Acks(nscc).give(1, ABOVE)
    assert nscc.window == pytest.approx(10 * MTU * 0.6, abs=nscc.values.fair)
    below = control(silent=True)
    Acks(below).give(50, BELOW)
    assert below.window > 10 * MTU


def test_at_a_silent_last_hop_the_fair_increase_is_a_fifth_and_the_mean_spans_a_window() -> None:
    nscc = control(silent=True)
    assert nscc.values.fair == pytest.approx(nscc.values.fi / 5)
    nscc.on_ack(1, MTU, MTU, BASE + 1_000, False, 0, False)
    assert nscc.mean_delay_ns == pytest.approx(1_000 / 10)
    assert control().values.fair == control().values.fi


def test_delay_counts_from_the_round_trip_to_the_peer() -> None:
    near = NsccControl(replace(PARAMETERS, peer_rtt_ns=2_700), NsccConfig(delay_weight=1.0))
    near.on_ack(1, MTU, MTU, 3_000, False, 0, False)
    assert near.mean_delay_ns == 300
