# SPDX-License-Identifier: Apache-2.0
"""Proves that a port keeps to its rates over any time, and bursts no more than it may."""

import random

import pytest

from endpoint.agent.pacing import Pacer
from topologies.timing import link_bytes

FRAME = 4242
SECOND = 1_000_000_000


def drive(pacer: Pacer, seconds: float, sleeps: random.Random) -> list[tuple[int, int]]:
    """Sends whatever there is room for, waking late by chance; (time, frames) of each turn."""
    now, sent = 5 * SECOND, []
    end = now + int(seconds * SECOND)
    while now < end:
        room = pacer.room(now)
        for _ in range(room):
            pacer.sent(FRAME, False, now)
        sent.append((now, room))
        now = max(now + 1, pacer.ready_ns()) + sleeps.randrange(2_000_000)
    return sent


@pytest.mark.parametrize("seed", range(5))
def test_the_bit_rate_holds_over_every_stretch(seed: int) -> None:
    rate = 100_000_000
    pacer = Pacer(rate, 0, FRAME)
    sent = drive(pacer, 0.5, random.Random(seed))
    frame_ns = 8 * link_bytes(FRAME) * SECOND // rate
    for first in range(0, len(sent), 7):
        frames = 0
        for now, count in sent[first:]:
            frames += count
            assert frames * frame_ns <= now - sent[first][0] + pacer.burst * frame_ns


def test_no_bandwidth_is_given_away_by_one_who_asks_in_time() -> None:
    pacer = Pacer(100_000_000, 0, FRAME)
    frame_ns = pacer._bits.frame_ns if pacer._bits else 0
    now, frames = 0, 0
    while now < SECOND // 10:
        for _ in range(pacer.room(now)):
            pacer.sent(FRAME, False, now)
            frames += 1
        now = max(now, pacer.ready_ns())
    assert frames >= (SECOND // 10) // frame_ns


def test_the_frame_rate_counts_data_and_not_control() -> None:
    pacer = Pacer(0, 1000, FRAME, burst=4)
    for _ in range(100):
        pacer.sent(154, True, 0)
    assert pacer.room(0) == 4
    for _ in range(4):
        pacer.sent(FRAME, False, 0)
    assert pacer.room(0) == 0
    assert pacer.room(SECOND // 1000 - 1) == 0
    assert pacer.room(SECOND // 1000) == 1
    assert pacer.room(SECOND) == 4


def test_the_bit_rate_counts_control_too() -> None:
    pacer = Pacer(100_000_000, 0, FRAME, burst=4)
    for _ in range(200):
        pacer.sent(154, True, 0)
    assert pacer.room(0) == 0
    assert pacer.room(200 * 8 * link_bytes(154) * 10) == 4


def test_with_both_rates_the_lower_room_counts() -> None:
    pacer = Pacer(10 * SECOND, 100, FRAME, burst=2)
    pacer.sent(FRAME, False, 0)
    pacer.sent(FRAME, False, 0)
    assert pacer.room(1_000_000) == 0
    assert pacer.room(10_000_000) == 1


def test_a_waiting_port_is_woken_for_half_a_burst() -> None:
    pacer = Pacer(0, 1000, FRAME, burst=8)
    for _ in range(8):
        pacer.sent(FRAME, False, 0)
    assert pacer.room(pacer.ready_ns()) == 4
    assert pacer.room(pacer.ready_ns() - 1) == 3


def test_a_burst_follows_from_the_rate_within_limits() -> None:
    assert Pacer(0, 0, FRAME).burst == 64
    assert Pacer(100 * SECOND, 0, FRAME).burst == 64
    assert Pacer(SECOND, 0, FRAME).burst == 5
    assert Pacer(10_000_000, 0, FRAME).burst == 4


@pytest.mark.parametrize(("rate_bps", "rate_fps", "burst"), [(-1, 0, 4), (0, -1, 4), (0, 0, 0)])
def test_impossible_paces_are_refused(rate_bps: int, rate_fps: int, burst: int) -> None:
    with pytest.raises(ValueError, match="pace"):
        Pacer(rate_bps, rate_fps, FRAME, burst)
