# SPDX-License-Identifier: Apache-2.0
"""Proves that control packets rotate over live planes, and how reverse EVs are kept alive."""

import random

import pytest

from endpoint.ev_set import EvSet
from endpoint.reverse_paths import ReversePaths

RTT = 1000
TIMEOUT = 3 * RTT
PLANES = 4
CANDIDATES = {plane: [plane << 8 | number for number in range(8)] for plane in range(PLANES)}


@pytest.fixture
def reverse():
    return ReversePaths(CANDIDATES, random.Random(2))


def planes_of(reverse, n):
    return [reverse.next() >> 8 for _ in range(n)]


def receive_only(reverse, trips, start=0, answer=lambda ev: True):
    """Data arrives all the time; the probes sent, each answered at once or never."""
    sent = []
    for k in range(trips):
        now = start + k * RTT
        reverse.data_received(now)
        ev = reverse.probe_due(now + RTT, RTT)
        if ev is not None:
            sent.append(ev)
            reverse.probe_sent(k, ev, now + RTT)
            if answer(ev):
                reverse.probe_answered(k, now + RTT + 1)
        reverse.expire(now + RTT, TIMEOUT)
    return sent


@pytest.mark.fact("reverse.set")
def test_one_reverse_ev_a_plane_and_control_packets_rotate(reverse):
    evs = [reverse.next() for _ in range(8)]
    assert sorted(ev >> 8 for ev in evs[:4]) == [0, 1, 2, 3]
    assert evs[:4] == evs[4:]
    assert all(reverse.on_plane(ev >> 8) == ev for ev in evs)


def test_queue_pairs_do_not_start_on_the_same_plane():
    starts = {ReversePaths(CANDIDATES, random.Random(seed)).next() >> 8 for seed in range(40)}
    assert starts == {0, 1, 2, 3}


@pytest.mark.fact("reverse.probe")
def test_one_probe_a_round_trip_while_only_receiving(reverse):
    assert len(receive_only(reverse, 20)) == 20


def test_no_probe_within_a_round_trip_nor_without_data(reverse):
    assert reverse.probe_due(10 * RTT, RTT) is None
    reverse.data_received(10 * RTT)
    assert reverse.probe_due(11 * RTT - 1, RTT) is None
    assert reverse.probe_due(11 * RTT, RTT) is not None
    assert reverse.probe_due(20 * RTT, RTT) is None


def test_no_probe_while_data_flows_both_ways(reverse):
    for k in range(10):
        reverse.data_received(k * RTT)
        reverse.data_sent()
        assert reverse.probe_due((k + 1) * RTT, RTT) is None
    assert len(receive_only(reverse, 2, start=20 * RTT)) == 2, "only receiving again"


@pytest.mark.fact("reverse.alternate")
def test_probes_alternate_between_a_current_ev_and_a_random_one():
    reverse = ReversePaths(CANDIDATES, random.Random(2))
    for k in range(40):
        before = {reverse.on_plane(plane) for plane in range(PLANES)}
        (ev,) = receive_only(reverse, 1, start=k * 10 * RTT, answer=lambda ev: False)
        if k % 2 == 0:
            assert ev in before
    currents = []
    random_evs = set()
    fresh = ReversePaths(CANDIDATES, random.Random(2))
    for k in range(64):
        (ev,) = receive_only(fresh, 1, start=k * 10 * RTT)
        if k % 2 == 0:
            currents.append(ev >> 8)
        else:
            random_evs.add(ev)
    assert sorted(currents[:4]) == [0, 1, 2, 3], "the planes in turn"
    assert len(random_evs) > 16


def test_an_answered_random_probe_becomes_the_reverse_ev(reverse):
    receive_only(reverse, 1)
    (ev,) = receive_only(reverse, 1, start=10 * RTT)
    assert reverse.on_plane(ev >> 8) == ev


def test_the_round_trip_is_measured_on_the_senders_own_clock(reverse):
    reverse.probe_sent(5, reverse.on_plane(0), 1_000)
    assert reverse.probe_answered(5, 100_001_000) == 100_000_000
    assert reverse.probe_answered(5, 100_001_001) is None
    assert reverse.probe_answered(6, 0) is None


@pytest.mark.fact("reverse.two-misses")
def test_two_unanswered_probes_on_a_current_ev_replace_it(reverse):
    ev = reverse.on_plane(1)
    reverse.probe_sent(1, ev, 0)
    reverse.expire(TIMEOUT, TIMEOUT)
    assert reverse.on_plane(1) == ev and reverse.in_doubt(1)
    reverse.probe_sent(2, ev, 0)
    reverse.expire(TIMEOUT, TIMEOUT)
    assert reverse.on_plane(1) != ev
    assert reverse.on_plane(1) >> 8 == 1
    assert reverse.in_doubt(1), "the new one is not proven yet"
    assert 1 not in planes_of(reverse, 12)


def test_one_unanswered_probe_does_not_leave_a_plane_to_the_others(reverse):
    reverse.probe_sent(1, reverse.on_plane(1), 0)
    reverse.expire(TIMEOUT, TIMEOUT)
    assert reverse.in_doubt(1)
    assert 1 in planes_of(reverse, 12)


def test_an_answer_returns_on_the_plane_of_its_request_while_that_has_a_port(reverse):
    assert [reverse.answer_on(plane) for plane in range(4)] == [
        reverse.on_plane(plane) for plane in range(4)
    ]
    reverse.set_local_ports(0b1101)
    assert {reverse.answer_on(1) >> 8 for _ in range(6)} == {0, 2, 3}
    reverse.set_local_ports(0)
    assert reverse.answer_on(1) is None


def test_an_answer_between_two_misses_keeps_the_ev(reverse):
    ev = reverse.on_plane(1)
    for request_id in range(5):
        reverse.probe_sent(request_id, ev, 0)
        if request_id % 2 == 0:
            reverse.expire(TIMEOUT, TIMEOUT)
        else:
            reverse.probe_answered(request_id, 5)
    assert reverse.on_plane(1) == ev


def test_an_unanswered_probe_on_another_ev_says_nothing_about_the_current_one(reverse):
    other = next(ev for ev in CANDIDATES[1] if ev != reverse.on_plane(1))
    for request_id in range(4):
        reverse.probe_sent(request_id, other, 0)
    reverse.expire(TIMEOUT, TIMEOUT)
    assert not reverse.in_doubt(1)


def test_a_dead_plane_is_left_out_and_comes_back(reverse):
    receive_only(reverse, 60, answer=lambda ev: ev >> 8 != 2)
    assert set(planes_of(reverse, 12)) == {0, 1, 3}
    receive_only(reverse, 60, start=1000 * RTT)
    assert set(planes_of(reverse, 12)) == {0, 1, 2, 3}


def test_with_every_plane_in_doubt_all_are_used(reverse):
    receive_only(reverse, 60, answer=lambda ev: False)
    assert set(planes_of(reverse, 12)) == {0, 1, 2, 3}


def test_a_sack_teaches_the_newest_proven_ev_and_ends_doubt(reverse):
    ev = reverse.on_plane(3)
    reverse.doubted(ev)
    assert reverse.in_doubt(3) and reverse.on_plane(3) != ev
    reverse.learned(0x305)
    assert reverse.on_plane(3) == 0x305 and not reverse.in_doubt(3)
    reverse.learned(0x700)
    reverse.doubted(0x306)
    assert reverse.on_plane(3) == 0x305 and not reverse.in_doubt(3)


def test_planes_with_a_port_down_carry_no_control_packets_and_no_probes(reverse):
    reverse.set_local_ports(0b1101)
    reverse.set_peer_ports(0b0111)
    assert set(planes_of(reverse, 10)) == {0, 2}
    assert {ev >> 8 for ev in receive_only(reverse, 40)} == {0, 2}
    reverse.set_local_ports(0b1000)
    assert reverse.next() is None
    assert receive_only(reverse, 3, start=500 * RTT) == []


def test_a_plane_that_comes_up_waits_for_its_proof(reverse):
    reverse.set_local_ports(0b1101)
    reverse.set_local_ports(0b1111)
    assert reverse.in_doubt(1) and 1 not in planes_of(reverse, 12)
    receive_only(reverse, 2 * PLANES)
    assert set(planes_of(reverse, 4)) == {0, 1, 2, 3}
    reverse.set_peer_ports(0b0000)
    reverse.set_peer_ports(0b1111)
    assert set(planes_of(reverse, 4)) == {0, 1, 2, 3}, "all in doubt are better than none"


def test_a_plane_with_a_single_path_keeps_it():
    reverse = ReversePaths({0: [5], 1: [0x105]}, random.Random(1))
    reverse.doubted(5)
    assert reverse.on_plane(0) == 5 and reverse.in_doubt(0)
    assert set(planes_of(reverse, 4)) == {1}


@pytest.mark.fact("reverse.forward")
def test_reverse_evs_never_touch_forward_evs():
    forward = EvSet(CANDIDATES, 32, random.Random(1))
    reverse = ReversePaths(CANDIDATES, random.Random(2))
    receive_only(reverse, 200, answer=lambda ev: False)
    assert forward.drain_events() == [] and len(forward.active()) == 32


def test_the_timer_covers_trips_and_time_outs(reverse):
    assert reverse.next_timer_ns(TIMEOUT) is None
    reverse.probe_due(0, RTT)
    reverse.data_received(500)
    assert reverse.next_timer_ns(TIMEOUT) == 500 + RTT
    ev = reverse.probe_due(1500, RTT)
    reverse.probe_sent(9, ev, 1500)
    assert reverse.next_timer_ns(TIMEOUT) == 1500 + TIMEOUT
    reverse.expire(1500 + TIMEOUT, TIMEOUT)
    assert reverse.next_timer_ns(TIMEOUT) is None


def test_remembered_probes_are_bounded():
    reverse = ReversePaths(CANDIDATES, random.Random(2), limit=4)
    for request_id in range(100):
        reverse.probe_sent(request_id, 0x107, request_id)
    assert reverse.probe_answered(91, 91) is None
    assert reverse.probe_answered(92, 92) == reverse.probe_answered(96, 96) == 0
    assert len(reverse._probes) == len(reverse._given_up) == 3


def test_an_answer_after_the_time_out_still_tells_how_long_it_took():
    reverse = ReversePaths(CANDIDATES, random.Random(2))
    reverse.probe_sent(7, 0x107, 100)
    reverse.expire(100 + TIMEOUT, TIMEOUT)
    assert reverse.next_timer_ns(TIMEOUT) is None
    assert reverse.probe_answered(7, 100 + 5 * TIMEOUT) == 5 * TIMEOUT
    assert reverse.probe_answered(7, 100 + 5 * TIMEOUT) is None


def test_a_plane_without_paths_is_refused():
    with pytest.raises(ValueError, match="at least one EV on each plane"):
        ReversePaths({0: [1], 1: []}, random.Random(1))
