# SPDX-License-Identifier: Apache-2.0
"""A link keeps its rate and delay exactly, and loses what its state says: no more, no less."""

import random

import pytest

from testbed.losses import Losses
from testbed.virtual.link import Condition, Direction
from testbed.virtual.loop import EventLoop

DELAY_NS = 500
ADDRESS = bytes(range(16))


def data_frame(psn: int, address: bytes = ADDRESS) -> bytes:
    """Enough of a data packet for the bookkeeping: addresses, opcode, QP and PSN."""
    frame = bytearray(138)
    frame[18:20] = (84).to_bytes(2, "big")
    frame[20] = 41
    frame[38:54] = address
    frame[78:94] = ADDRESS
    frame[102] = 0xC7
    frame[107:110] = (16).to_bytes(3, "big")
    frame[111:114] = psn.to_bytes(3, "big")
    return bytes(frame)


class Wire:
    """A direction with a sender that keeps the link busy."""

    def __init__(self, rate_bps: int = 100_000_000_000) -> None:
        self.loop = EventLoop()
        self.arrived: list[tuple[int, bytes]] = []
        self.losses = Losses(lambda key: 5_000)
        self.direction = Direction(
            self.loop,
            "a→b",
            "a-b",
            rate_bps=rate_bps,
            delay_ns=DELAY_NS,
            sink=lambda now, frame: self.arrived.append((now, frame)),
            losses=self.losses,
            rng=random.Random(1),
        )

    def send(self, frame: bytes, at: int) -> None:
        self.loop.at(at + DELAY_NS, self.direction.deliver, frame)

    def break_with(self, condition: Condition) -> None:
        self.losses.begin(condition.occurrence, self.loop.now)
        self.direction.add(condition)


@pytest.mark.parametrize("rate_bps", [100_000_000_000, 25_000_000_000, 333_333_333, 7_000_000_007])
def test_time_on_the_wire_counts_24_bytes_of_overhead_and_rounds_nothing(rate_bps: int) -> None:
    direction = Wire(rate_bps).direction
    total = remainder = 0
    for _ in range(1000):
        on_wire, remainder = direction.serialise(4238, remainder)
        total += on_wire
    exact = 1000 * (4238 + 24) * 8 * 1_000_000_000 / rate_bps
    assert exact - 1 < total <= exact


def test_a_cut_loses_what_is_in_flight_and_what_follows_until_it_is_mended() -> None:
    wire = Wire()
    wire.send(data_frame(1), at=100)
    wire.loop.run(300)
    wire.break_with(Condition(0, "link down"))
    wire.send(data_frame(2), at=400)
    wire.loop.run(500)
    wire.direction.remove(0)
    wire.send(data_frame(3), at=600)
    wire.loop.run(2_000)
    assert [frame for _, frame in wire.arrived] == [data_frame(3)]
    fault = wire.losses.faults[0]
    assert fault.lost == [2, 0, 0]
    assert fault.begin_ns == 300
    assert fault.last_data_ns == 400
    assert wire.losses.by_place == {("a-b", "link down"): [2, 0, 0]}


def test_what_was_in_flight_at_the_cut_counts_at_its_begin() -> None:
    wire = Wire()
    wire.send(data_frame(1), at=100)
    wire.loop.run(300)
    wire.break_with(Condition(0, "link down"))
    wire.loop.run(2_000)
    assert wire.losses.faults[0].last_data_ns == 300


def test_a_lossy_link_loses_its_share() -> None:
    wire = Wire()
    wire.break_with(Condition(0, "link lossy", 0.2))
    for psn in range(5_000):
        wire.send(data_frame(psn), at=psn)
    wire.loop.run(10_000)
    lost = wire.losses.faults[0].lost[0]
    assert len(wire.arrived) + lost == 5_000
    assert 0.18 < lost / 5_000 < 0.22
    assert wire.losses.faults[0].data_into == 5_000


def test_a_lossy_path_leaves_other_paths_alone() -> None:
    wire = Wire()
    wire.break_with(Condition(0, "path lossy", 1.0, ADDRESS))
    other = bytes(16)
    for psn in range(100):
        wire.send(data_frame(psn, ADDRESS if psn % 2 else other), at=psn)
    wire.loop.run(10_000)
    assert [frame for _, frame in wire.arrived] == [data_frame(p, other) for p in range(0, 100, 2)]
    assert wire.losses.faults[0].lost == [50, 0, 0]


def test_two_faults_at_once_are_mended_one_by_one() -> None:
    wire = Wire()
    wire.break_with(Condition(0, "link down"))
    wire.break_with(Condition(1, "switch stopped"))
    wire.direction.remove(0)
    assert wire.direction.dead
    wire.send(data_frame(1), at=0)
    wire.loop.run(1_000)
    wire.direction.remove(1)
    assert not wire.direction.dead
    wire.send(data_frame(2), at=1_000)
    wire.loop.run(2_000)
    assert [frame for _, frame in wire.arrived] == [data_frame(2)]
    assert (wire.losses.faults[0].lost, wire.losses.faults[1].lost) == ([0, 0, 0], [1, 0, 0])


def test_a_tap_shows_frames_as_sent_and_lost_ones_too() -> None:
    wire = Wire()
    seen: list[tuple[int, bytes]] = []
    wire.direction.tap(lambda now, frame: seen.append((now, frame)))
    wire.send(data_frame(1), at=10)
    wire.break_with(Condition(0, "link down"))
    wire.send(data_frame(2), at=20)
    wire.loop.run(1_000)
    assert seen == [(10, data_frame(1)), (20, data_frame(2))]
    assert wire.arrived == []
