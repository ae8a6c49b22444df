# SPDX-License-Identifier: Apache-2.0
"""Told late of what arrived, a switch does what it would have done in time: same order, same
drops and marks, same rate."""

from __future__ import annotations

import pytest
from mrc_switch import CONTROL, PORT_FIB, TRIM_AT, make_switch, packet

from softswitch.queues import PortScheduler
from softswitch.realtime import RealTimePipeline

RATE = 8_000_000
MS = 1_000_000
WHOLE = bytes(packet(payload=946))  # 1,000 bytes, 1 ms at the rate


class Lab:
    def __init__(self, rate_bps: int = RATE, capacities: tuple[int, int, int] = (9, 9, 9)) -> None:
        self.switch = make_switch()
        self.sent: list[bytes] = []
        self.scheduler = PortScheduler(rate_bps, capacities)
        self.pipeline = RealTimePipeline(
            self.switch, {PORT_FIB: self.scheduler}, {PORT_FIB: self.sent.append}
        )


def test_the_first_packet_leaves_at_once_and_the_next_at_the_rate_of_the_port() -> None:
    lab = Lab()
    lab.pipeline.work([(0, 1, WHOLE), (0, 1, WHOLE), (0, 1, WHOLE)], 0)
    assert len(lab.sent) == 1
    assert lab.pipeline.due_ns == 1 * MS
    lab.pipeline.work([], 1 * MS - 1)
    assert len(lab.sent) == 1
    lab.pipeline.work([], 1 * MS)
    assert len(lab.sent) == 2
    lab.pipeline.work([], 2 * MS)
    assert len(lab.sent) == 3
    assert lab.pipeline.due_ns is None


def test_a_process_that_slept_does_not_slow_the_port() -> None:
    lab = Lab()
    lab.pipeline.work([(0, 1, WHOLE)] * 6, 0)
    lab.pipeline.work([], 10 * MS)
    assert len(lab.sent) == 6
    # Its last packet was due at 5 ms, so the port is free again.
    lab.pipeline.work([(10 * MS, 1, WHOLE)], 10 * MS)
    assert len(lab.sent) == 7


def test_frames_that_came_at_the_rate_of_the_port_find_short_queues_however_late_they_are_read():
    lab = Lab(capacities=(2, 2, 2))
    late = [(number * MS, 1, WHOLE) for number in range(50)]
    lab.pipeline.work(late, 50 * MS)
    assert len(lab.sent) == 50
    assert lab.pipeline.dropped(PORT_FIB) == [0, 0, 0]


def test_frames_that_came_together_overflow_as_they_would_have_in_time() -> None:
    lab = Lab(capacities=(2, 2, 2))
    lab.pipeline.work([(0, 1, WHOLE)] * 5, 50 * MS)
    assert len(lab.sent) == 3  # one goes out at once, two wait
    assert lab.pipeline.dropped(PORT_FIB) == [2, 0, 0]


@pytest.mark.parametrize("late", [False, True])
def test_a_program_sees_the_same_queues_whether_it_runs_in_time_or_late(late: bool) -> None:
    lab = Lab(capacities=(2 * TRIM_AT, 300, 300))
    # Twice the rate of the port, until the trim threshold is passed.
    arrivals = [(number * MS // 2, 1, WHOLE) for number in range(3 * TRIM_AT)]
    end = arrivals[-1][0]
    if late:
        lab.pipeline.work(arrivals, end)
    else:
        for arrival in arrivals:
            lab.pipeline.work([arrival], arrival[0])
    trimmed = lab.switch.counters["MrcIngress.queueing.trimmed"].read(PORT_FIB)[0]
    assert trimmed == pytest.approx(TRIM_AT // 2, abs=12)
    assert lab.switch.registers["enqueued"].read(PORT_FIB) == 3 * TRIM_AT - trimmed
    assert lab.pipeline.dropped(PORT_FIB) == [0, 0, 0]


def test_in_time_and_late_give_the_same_frames_in_the_same_order() -> None:
    control = bytes(packet(dscp=CONTROL, payload=100))
    arrivals = [
        (number * MS // 3, 1, control if number % 7 == 3 else WHOLE) for number in range(60)
    ]
    in_time, late = Lab(capacities=(200, 200, 200)), Lab(capacities=(200, 200, 200))
    for arrival in arrivals:
        in_time.pipeline.work([arrival], arrival[0])
    in_time.pipeline.work([], 1000 * MS)
    late.pipeline.work(arrivals, 1000 * MS)
    assert late.sent == in_time.sent
    assert len(late.sent) == 60


def test_time_never_runs_backwards() -> None:
    lab = Lab()
    lab.pipeline.work([], 10 * MS)
    lab.pipeline.work([(3 * MS, 1, WHOLE), (4 * MS, 1, WHOLE)], 10 * MS)
    assert len(lab.sent) == 1
    assert lab.pipeline.due_ns == 11 * MS


def test_a_packet_for_a_port_without_an_interface_is_counted() -> None:
    switch = make_switch()
    pipeline = RealTimePipeline(switch, {}, {})
    pipeline.work([(0, 1, WHOLE)], 0)
    assert pipeline.no_such_port == 1
