# SPDX-License-Identifier: Apache-2.0
"""Proves how the plain window grows, holds, shrinks and adapts, and what its interface promises."""

from dataclasses import replace

import pytest
from engine_lab import Lab

from endpoint import congestion
from endpoint.congestion import CongestionParameters, WindowControl

MTU = 4_184
PARAMETERS = CongestionParameters(mtu=MTU, base_rtt_ns=5_350, link_rate_bps=100_000_000_000)
BASE = PARAMETERS.base_rtt_ns


def control(**changes: object) -> WindowControl:
    return WindowControl(replace(PARAMETERS, **changes))  # type: ignore[arg-type]


class Acks:
    """Acknowledges a packet at a time, a window of them in a round trip."""

    def __init__(self, window: WindowControl) -> None:
        self.window = window
        self.now = 0

    def give(self, count: int, rtt: int, marked: bool = False, penalty: int = 0) -> None:
        for _ in range(count):
            self.now += rtt * MTU // self.window.window
            self.window.on_ack(self.now, MTU, MTU, rtt, marked, penalty, False)


@pytest.mark.fact("cc.start")
def test_start_and_target_are_those_of_the_worked_example() -> None:
    # uet-htsim, two tiers, 100 Gb/s, 500 ns a link: BDP 66,856 B, window 100,284 B, target 4.01 µs
    assert abs(PARAMETERS.bdp - 66_875) < 50
    assert abs(PARAMETERS.max_window - 100_312) < 50
    assert PARAMETERS.target_delay_ns == 4_012
    assert replace(PARAMETERS, trimming=False).target_delay_ns == BASE
    assert control().window == PARAMETERS.max_window


def test_it_is_never_below_one_packet_and_never_above_the_maximum() -> None:
    window = control()
    for _ in range(1000):
        window.on_nack(0, MTU, last_hop=True)
        window.on_loss(0, MTU)
        window.on_timeout(0)
    assert window.window == MTU
    Acks(window).give(5_000, BASE)
    assert window.window == PARAMETERS.max_window
    assert control(base_rtt_ns=10, link_rate_bps=1_000).window == MTU


@pytest.mark.fact("cc.one-packet")
def test_one_packet_may_go_whenever_less_than_one_is_in_flight() -> None:
    window = control()
    window.window = MTU
    assert window.can_send(0, MTU)
    assert window.can_send(MTU - 1, MTU)
    assert not window.can_send(MTU, MTU)
    window.window = 3 * MTU
    assert window.can_send(2 * MTU, MTU)
    assert not window.can_send(2 * MTU + 1, MTU)


def test_below_the_target_it_grows_faster_the_shorter_the_queue() -> None:
    grown = []
    for delay in (0, 2_000, 3_900):
        window = control()
        acks = Acks(window)
        window.window = 5 * MTU
        acks.give(20, BASE + delay)
        window.window = 5 * MTU
        acks.give(5, BASE + delay)  # one window's worth of packets
        grown.append((window.window - 5 * MTU) / MTU)
    assert grown[0] > grown[1] > grown[2] > 0.9
    assert 5 < grown[0] <= 8


def test_below_the_target_a_mark_holds_it() -> None:
    window = control()
    window.window = 5 * MTU
    Acks(window).give(50, BASE + 1_000, marked=True)
    assert window.window == 5 * MTU


@pytest.mark.parametrize("marked", [False, True])
def test_above_the_target_it_settles_where_growth_and_decrease_meet(marked: bool) -> None:
    ends = []
    for start in (2, 20):
        window = control()
        window.window = start * MTU
        acks = Acks(window)
        acks.give(600, BASE + 6_000, marked)
        ends.append(window.window / MTU)
    # One packet a round trip against 0.8 · (6,000 − 4,012) / 6,000 of the window.
    assert all(abs(end - 1 / 0.265) < 1 for end in ends)


def test_it_shrinks_at_most_once_a_round_trip_and_never_by_more_than_half() -> None:
    window = control()
    window._delay_ns = 1e9
    window._min_rtt_ns = BASE
    before = window.window
    window.on_ack(1_000_000, 0, 0, None, True, 0, False)
    assert window.window == before // 2
    window.on_ack(1_000_001, 0, 0, None, True, 0, False)
    assert window.window == before // 2


def test_a_trim_takes_its_bytes_off_and_then_what_was_delivered_counts() -> None:
    window = control()
    acks = Acks(window)
    acks.give(10, BASE)
    full = window.window
    window.on_nack(acks.now, MTU, last_hop=True)
    assert window.window == full - MTU
    # From now on one packet a microsecond gets through, a third of what the link could do.
    for _ in range(40):
        acks.now += 1_000
        window.on_ack(acks.now, MTU, MTU, BASE + 8_000, False, 0, False)
    delivered_at_the_target = MTU * (BASE + PARAMETERS.target_delay_ns) // 1_000
    assert MTU < window.window < 1.3 * delivered_at_the_target


def test_a_loss_takes_one_packet_off() -> None:
    window = control()
    full = window.window
    window.on_loss(0, MTU)
    assert window.window == full - MTU


def test_the_receivers_brake_takes_its_share_of_what_was_received() -> None:
    window = control()
    window.window = 10 * MTU
    window.on_ack(0, 0, 4 * MTU, None, True, 64, False)
    assert window.window == 10 * MTU - 2 * MTU


def test_a_flow_that_starts_into_a_queue_does_not_take_it_for_distance() -> None:
    window = control()
    Acks(window).give(300, BASE + 6_000)
    assert window._delay_ns == pytest.approx(6_000, rel=0.01)
    nearer = control()
    Acks(nearer).give(30, BASE // 2)
    assert nearer._delay_ns == pytest.approx(0, abs=50)
    far = control()
    Acks(far).give(30, 100 * BASE)
    assert far._delay_ns == pytest.approx(0, abs=BASE)


def test_algorithms_are_chosen_by_name() -> None:
    assert isinstance(congestion.create("window", PARAMETERS), WindowControl)
    with pytest.raises(ValueError, match=r"'cubic' is unknown; known are: .*window"):
        congestion.create("cubic", PARAMETERS)
    with pytest.raises(ValueError, match="already registered"):
        congestion.register("window", WindowControl)


@pytest.mark.fact("cc.inflight")
def test_inflight_is_corrected_by_the_peers_own_count_and_never_negative() -> None:
    lab = Lab(line=340)
    lows: list[int] = []

    def lose_sacks(sent):
        lows.append(qa.requester.board.inflight)
        return [] if sent.parsed.sack and sent.number % 3 else None

    qa, _ = lab.pair()
    region = lab.region(4, 2_000_000)
    lab.rule(lose_sacks)
    qa.post_write(1, bytes(2_000_000), region.va, region.rkey, now_ns=0)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert min(lows) >= 0
    assert qa.requester.board.inflight == qa.requester.loss.inflight == 0
    board = qa.requester.board
    assert board._received_bytes <= board.acked_bytes
    assert board.acked_bytes - board._received_bytes < 256


def test_the_window_bounds_what_is_in_flight() -> None:
    lab = Lab(room=1000)
    qa, _ = lab.pair()
    region = lab.region(4, 2_000_000)
    seen: list[int] = []
    lab.rule(lambda sent: seen.append(qa.requester.loss.inflight))
    qa.post_write(1, bytes(2_000_000), region.va, region.rkey, now_ns=0)
    lab.run(done=lambda: bool(lab.completions[0]))
    window = qa.requester.congestion.parameters.max_window
    assert window - MTU < max(seen) <= window
