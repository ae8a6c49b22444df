# SPDX-License-Identifier: Apache-2.0
"""The traffic manager: order, shares, capacities and times, in both modes."""

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softswitch.queues import CONTROL, DATA, TRIMMED, PortScheduler

GBPS = 1_000_000_000


@dataclass
class Waiting:
    length: int
    name: object = None
    enq_us: int = -1
    enq_qdepth: int = -1


def drain(port, now=0):
    """Everything that leaves from ``now`` on: (time, priority, packet)."""
    out = []
    while len(port):
        now = max(now, port.next_dequeue_ns())
        item = port.dequeue(now)
        assert item is not None, "next_dequeue_ns promised a packet"
        out.append((now, *item))
    return out


# -- strict mode --------------------------------------------------------------------------------


def test_control_goes_first_then_trimmed_then_data():
    port = PortScheduler(100 * GBPS)
    for priority in (DATA, TRIMMED, CONTROL, DATA, TRIMMED, CONTROL):
        assert port.enqueue(priority, Waiting(142), 0)
    assert [p for _, p, _ in drain(port)] == [2, 2, 1, 1, 0, 0]


def test_each_class_is_first_in_first_out():
    port = PortScheduler(100 * GBPS)
    rng = random.Random(3)
    for i in range(120):
        port.enqueue(rng.randrange(3), Waiting(100, i), 0)
    leaving = {0: [], 1: [], 2: []}
    for _, priority, packet in drain(port):
        leaving[priority].append(packet.name)
    assert all(names == sorted(names) for names in leaving.values())


@pytest.mark.fact("trim.quarter")
def test_trimmed_gets_a_quarter_of_the_bytes_while_data_waits():
    port = PortScheduler(100 * GBPS, (10_000, 10_000, 64), overhead_bytes=24)
    for _ in range(2000):
        port.enqueue(DATA, Waiting(4242), 0)
        for _ in range(20):
            port.enqueue(TRIMMED, Waiting(142), 0)
    sent = {DATA: 0, TRIMMED: 0}
    while port.depth(DATA) and port.depth(TRIMMED):
        now = port.next_dequeue_ns()
        priority, packet = port.dequeue(now)
        sent[priority] += packet.length + 24
    share = sent[TRIMMED] / (sent[TRIMMED] + sent[DATA])
    assert share == pytest.approx(0.25, abs=0.005)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(64, 500), st.integers(200, 9000))
def test_trimmed_never_takes_more_than_a_quarter_beyond_a_burst(seed, header, whole):
    port = PortScheduler(10 * GBPS, (1000, 1000, 1000))
    rng = random.Random(seed)
    sent = {DATA: 0, TRIMMED: 0}
    for _ in range(600):
        port.enqueue(rng.choice((DATA, TRIMMED, TRIMMED)), Waiting(header), 0)
        if not port.depth(DATA):
            port.enqueue(DATA, Waiting(whole), 0)
        now = port.next_dequeue_ns()
        if rng.random() < 0.8:
            data_waits = port.depth(DATA) > 0
            priority, packet = port.dequeue(now)
            if data_waits:
                sent[priority] += packet.length
    assert sent[TRIMMED] <= sent[DATA] / 3 + 1500 + header


def test_trimmed_has_the_whole_link_when_no_data_waits():
    port = PortScheduler(8 * GBPS, (64, 1000, 64))
    for _ in range(1000):
        port.enqueue(TRIMMED, Waiting(100), 0)
    assert drain(port)[-1][0] == 999 * 100


def test_the_port_never_idles_and_never_exceeds_its_rate():
    port = PortScheduler(100 * GBPS, (10_000,) * 3, overhead_bytes=24)
    rng = random.Random(5)
    total = 0
    for _ in range(3000):
        length = rng.randrange(64, 9000)
        total += length + 24
        port.enqueue(rng.randrange(3), Waiting(length), 0)
    leaving = drain(port)
    # The last one has begun; with its own time the sum is exact to a nanosecond.
    assert port.busy_until_ns == -(-total * 8 // 100)
    assert [t for t, _, _ in leaving] == sorted(t for t, _, _ in leaving)


def test_a_rate_that_divides_badly_is_still_kept():
    port = PortScheduler(3_333_333_333, (5000,) * 3)
    for _ in range(5000):
        port.enqueue(DATA, Waiting(64), 0)
    drain(port)
    assert port.busy_until_ns == pytest.approx(5000 * 64 * 8 / 3.333333333, rel=1e-6)


def test_a_busy_port_gives_nothing_and_an_idle_one_at_once():
    port = PortScheduler(8 * GBPS)
    port.enqueue(DATA, Waiting(1000), 0)
    port.enqueue(DATA, Waiting(1000), 0)
    assert port.dequeue(0) is not None
    assert port.dequeue(999) is None
    assert port.next_dequeue_ns() == 1000
    assert port.dequeue(1000) is not None
    port.enqueue(CONTROL, Waiting(10), 5000)
    assert port.next_dequeue_ns() <= 5000
    assert port.dequeue(5000)[0] == CONTROL
    assert port.busy_until_ns == 5010


def test_without_a_rate_packets_leave_at_once():
    port = PortScheduler()
    for _ in range(50):
        port.enqueue(DATA, Waiting(9000), 7)
    assert {t for t, _, _ in drain(port, 7)} == {7}


def test_full_classes_drop_and_count():
    port = PortScheduler(GBPS, (2, 3, 1))
    accepted = [[port.enqueue(p, Waiting(64), 0) for _ in range(5)] for p in range(3)]
    assert [sum(a) for a in accepted] == [2, 3, 1]
    assert port.dropped == [3, 2, 4]
    assert (len(port), port.depth(TRIMMED)) == (6, 3)
    assert len(port.clear()) == 6 and len(port) == 0 and port.next_dequeue_ns() is None


@pytest.mark.parametrize("mode", ["strict", "bmv2"])
def test_a_priority_without_a_queue_is_dropped(mode):
    port = PortScheduler(mode=mode)
    assert not port.enqueue(3, Waiting(64), 0)
    assert not port.enqueue(7, Waiting(64), 0)
    assert (port.out_of_range, len(port), port.dropped) == (2, 0, [0, 0, 0])


@pytest.mark.parametrize("mode", ["strict", "bmv2"])
def test_stamps_tell_time_and_depth_before_the_packet(mode):
    port = PortScheduler(mode=mode, stamp=True)
    packets = [Waiting(64) for _ in range(3)]
    for i, packet in enumerate(packets):
        port.enqueue(DATA, packet, 5000 + i * 1000)
    assert [(p.enq_us, p.enq_qdepth) for p in packets] == [(5, 0), (6, 1), (7, 2)]
    unstamped = Waiting(64)
    PortScheduler(mode=mode).enqueue(DATA, unstamped, 5)
    assert unstamped.enq_us == -1


# -- bmv2 mode ----------------------------------------------------------------------------------


def test_each_priority_has_its_own_packet_rate():
    port = PortScheduler(mode="bmv2", capacities=(100, 100, 100), rates_pps=(1000, 500, 100))
    for priority in range(3):
        for i in range(20):
            port.enqueue(priority, Waiting(64, i), 0)
    times = {0: [], 1: [], 2: []}
    for now, priority, _ in drain(port):
        times[priority].append(now)
    for priority, interval in ((0, 1_000_000), (1, 2_000_000), (2, 10_000_000)):
        assert times[priority] == [i * interval for i in range(20)]


def test_of_those_due_the_highest_priority_goes_first():
    port = PortScheduler(mode="bmv2")
    for priority in (0, 1, 2, 0, 1, 2):
        port.enqueue(priority, Waiting(64), 0)
    assert [p for _, p, _ in drain(port)] == [2, 2, 1, 1, 0, 0]


def test_a_rate_is_kept_after_a_pause_without_a_burst():
    port = PortScheduler(mode="bmv2", rates_pps=(1000, 0, 0))
    port.enqueue(0, Waiting(64), 0)
    drain(port)
    for _ in range(3):
        port.enqueue(0, Waiting(64), 10_000_000)
    assert [t for t, _, _ in drain(port, 10_000_000)] == [10_000_000, 11_000_000, 12_000_000]


def test_a_changed_rate_counts_from_the_next_packet():
    port = PortScheduler(mode="bmv2", rates_pps=(1000, 0, 0))
    for _ in range(2):
        port.enqueue(0, Waiting(64), 0)
    port.set_rate(0, 0)
    port.enqueue(0, Waiting(64), 0)
    assert [t for t, _, _ in drain(port)] == [0, 1_000_000, 1_000_000]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mode": "fair"}, "'fair' is none of strict, bmv2"),
        ({"capacities": (1, 2)}, "one value a class"),
        ({"capacities": (1, 2), "rates_pps": (0, 0)}, "3 classes, not 2"),
    ],
)
def test_settings_that_do_not_fit(arguments, words):
    with pytest.raises(ValueError, match=words):
        PortScheduler(**arguments)
    with pytest.raises(ValueError, match="bmv2 mode"):
        PortScheduler().set_rate(0, 5)
