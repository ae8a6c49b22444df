# SPDX-License-Identifier: Apache-2.0
"""Proves when quick-adapt sets the window to what was delivered, and what it then ignores."""

import pytest

from endpoint.congestion import CongestionParameters, NsccConfig, NsccControl

MTU = 4_150
PARAMETERS = CongestionParameters(
    mtu=MTU, base_rtt_ns=5_349, link_rate_bps=100_000_000_000, payload=4_086
)
BASE, TARGET = PARAMETERS.base_rtt_ns, PARAMETERS.target_delay_ns
PERIOD = BASE + TARGET
LATE = BASE + 2 * TARGET


def control(**settings: object) -> NsccControl:
    nscc = NsccControl(PARAMETERS, NsccConfig(eta=0.0, silent_last_hop=False, **settings))  # type: ignore[arg-type]
    nscc.on_ack(0, 0, 0, None, False, 0, False)  # the first period begins
    return nscc


def ack(nscc: NsccControl, now: int, size: int = MTU, rtt: int = LATE, **more: object) -> None:
    """A marked packet in time: by the table it changes nothing while the mean is low."""
    nscc.on_ack(now, size, size, rtt, True, 0, False, **more)  # type: ignore[arg-type]


@pytest.mark.fact("cc.quick-adapt")
def test_a_trim_in_a_starved_round_trip_sets_the_window_to_what_was_delivered() -> None:
    nscc = control()
    ack(nscc, 100)
    ack(nscc, 200)
    nscc.on_nack(300, MTU, True)
    assert nscc.window == nscc.values.max_cwnd - MTU  # the trim alone takes its packet off
    ack(nscc, PERIOD + 1, size=100)
    assert nscc.window == 2 * MTU + 100


def test_nothing_delivered_still_leaves_one_packet() -> None:
    nscc = control()
    nscc.on_nack(100, MTU, True)
    nscc.on_nack(PERIOD + 1, MTU, True)
    assert nscc.window == MTU


def test_a_very_long_delay_triggers_it_too() -> None:
    long = BASE + 4 * TARGET
    quick, calm = control(), control()
    ack(quick, PERIOD + 1, rtt=long + 1)
    ack(calm, PERIOD + 1, rtt=long)
    assert quick.window == MTU
    assert calm.window == calm.values.max_cwnd


def test_it_waits_for_the_end_of_a_loaded_round_trip() -> None:
    nscc = control()
    nscc.on_nack(100, MTU, True)
    ack(nscc, PERIOD)
    assert nscc.window == nscc.values.max_cwnd - MTU
    ack(nscc, PERIOD + 1)
    assert nscc.window == 2 * MTU


def test_a_period_without_trims_does_not_adapt_to_an_earlier_ones() -> None:
    nscc = control()
    nscc.on_nack(100, MTU, True)
    for _ in range(10):
        ack(nscc, 200)  # enough got through: the first period ends without
    ack(nscc, PERIOD + 1)
    ack(nscc, 3 * PERIOD)  # an idle one
    assert nscc.window == nscc.values.max_cwnd - MTU


def test_the_gate_leaves_a_window_alone_that_delivers_enough() -> None:
    gate = PARAMETERS.max_window >> 3
    for delivered, adapts in ((gate - 1, True), (gate, False)):
        nscc = control()
        nscc.on_nack(100, MTU, True)
        ack(nscc, PERIOD + 1, size=delivered)
        assert (nscc.window == max(MTU, delivered)) is adapts
    wide = control(qa_gate=0)
    wide.on_nack(100, MTU, True)
    ack(wide, PERIOD + 1, size=10 * MTU)
    assert wide.window == 10 * MTU


def test_it_never_raises_the_window() -> None:
    nscc = control(qa_gate=0)
    nscc.window = 3 * MTU
    nscc.on_nack(100, MTU, True)
    ack(nscc, PERIOD + 1, size=9 * MTU)
    assert nscc.window == 2 * MTU


def test_bad_news_of_what_was_in_flight_is_not_answered_twice() -> None:
    nscc = control()
    nscc.on_nack(100, MTU, True)
    ack(nscc, PERIOD + 1, inflight=4 * MTU)
    assert nscc.window == MTU
    nscc.window = 8 * MTU
    for k in range(4):
        nscc.on_nack(PERIOD + 2 + k, MTU, True)
    assert nscc.window == 8 * MTU
    nscc.on_nack(PERIOD + 9, MTU, True)
    assert nscc.window == 7 * MTU


def test_disabled_a_trim_takes_its_packet_off_and_no_more() -> None:
    nscc = control(disable_qa=True)
    nscc.on_nack(100, MTU, True)
    ack(nscc, PERIOD + 1)
    nscc.on_nack(PERIOD + 2, MTU, False)
    assert nscc.window == nscc.values.max_cwnd - 2 * MTU
