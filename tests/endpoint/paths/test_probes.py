# SPDX-License-Identifier: Apache-2.0
"""Proves when Reliability Probes are due, and that ids, answers and time-outs are kept apart."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.probes import ProbeBook, ProbePurpose, ProbeSchedule

RTT = 100


# -- schedule -------------------------------------------------------------------------------------


@pytest.mark.fact("probe.pace")
def test_one_probe_every_four_round_trips():
    schedule = ProbeSchedule()
    schedule.add(7, 1000)
    sent = [now for now in range(1000, 3000) if schedule.due(now, RTT)]
    assert sent == [1400, 1800, 2200, 2600]


def test_the_timer_says_when():
    schedule = ProbeSchedule()
    assert schedule.next_ns() is None
    assert schedule.due(0, RTT) == []
    schedule.add(7, 1000)
    schedule.add(8, 1100)
    assert schedule.next_ns() == 1400
    assert schedule.due(1399, RTT) == []
    assert schedule.due(1400, RTT) == [7]
    assert schedule.next_ns() == 1500


def test_a_new_round_trip_applies_to_probes_already_waiting():
    schedule = ProbeSchedule()
    schedule.add(7, 1000)
    assert schedule.due(1200, RTT) == []
    assert schedule.due(1200, RTT // 2) == [7]


def test_a_late_call_sends_one_probe_not_all_that_were_missed():
    schedule = ProbeSchedule()
    schedule.add(7, 0)
    assert schedule.due(100 * RTT, RTT) == [7]
    assert schedule.due(100 * RTT, RTT) == []


def test_a_removed_ev_is_not_probed_and_one_added_again_starts_anew():
    schedule = ProbeSchedule()
    schedule.add(7, 0)
    schedule.add(8, 0)
    schedule.remove(7)
    schedule.remove(99)
    assert 7 not in schedule and 8 in schedule
    assert schedule.due(4 * RTT, RTT) == [8]
    schedule.add(8, 5 * RTT)
    assert schedule.due(8 * RTT, RTT) == []
    schedule.remove(8)
    assert schedule.next_ns() is None


def test_no_round_trip_measured_yet_is_no_endless_loop():
    schedule = ProbeSchedule()
    schedule.add(7, 0)
    assert schedule.due(10, 0) == [7]


@given(
    steps=st.lists(st.tuples(st.sampled_from("apr"), st.integers(0, 9), st.integers(0, 300))),
)
def test_probes_of_one_ev_are_never_closer_than_the_interval(steps):
    schedule, now = ProbeSchedule(), 0
    last, members = {}, set()
    for what, ev, wait in steps:
        now += wait
        if what == "a":
            schedule.add(ev, now)
            members.add(ev)
            last[ev] = now
        elif what == "r":
            schedule.remove(ev)
            members.discard(ev)
        else:
            due = schedule.due(now, RTT)
            assert set(due) == {e for e in members if now - last[e] >= 4 * RTT}
            last.update(dict.fromkeys(due, now))
        assert len(schedule) == len(members)


def test_memory_does_not_grow_with_time():
    schedule = ProbeSchedule()
    for now in range(10_000):
        schedule.add(now % 5, now)
        schedule.due(now, 1000)
    assert len(schedule._heap) <= 2 * 5 + 17


# -- outstanding probes ---------------------------------------------------------------------------


@pytest.fixture
def book():
    return ProbeBook(random.Random(3))


def test_an_answer_finds_its_probe(book):
    first = book.send(11, 100)
    second = book.send(12, 200, ProbePurpose.COVER)
    probe, is_first = book.answer(second)
    assert (probe.ev, probe.sent_ns, probe.purpose, is_first) == (12, 200, ProbePurpose.COVER, True)
    probe, is_first = book.answer(first)
    assert (probe.ev, probe.purpose, is_first) == (11, ProbePurpose.HEALTH, True)


def test_the_other_sacks_of_one_answer_are_known_but_not_the_first(book):
    probe_id = book.send(11, 100)
    assert [book.answer(probe_id)[1] for _ in range(4)] == [True, False, False, False]


def test_unknown_ids_are_nobodys(book):
    probe_id = book.send(11, 100)
    assert book.answer(probe_id ^ 1) is None
    book.answer(probe_id)
    book.expire(500, 400)
    assert book.answer(probe_id) is None


def test_an_answer_after_the_time_out_is_known_to_be_late(book):
    probe_id = book.send(11, 100)
    assert not book.answer(book.send(12, 100))[0].late
    book.expire(500, 400)
    probe, is_first = book.answer(probe_id)
    assert (probe.ev, probe.sent_ns, probe.late, is_first) == (11, 100, True, True)
    assert len(book) == 0 and book.next_timer_ns(1) is None


def test_only_unanswered_probes_are_lost_and_each_once(book):
    ids = [book.send(ev, 10 * ev) for ev in range(5)]
    book.answer(ids[1])
    assert book.next_timer_ns(100) == 100
    assert [probe.ev for probe in book.expire(120, 100)] == [0, 2]
    assert [probe.ev for probe in book.expire(10_000, 100)] == [3, 4]
    assert book.expire(10_000, 100) == [] and len(book) == 0 and book.next_timer_ns(1) is None


def test_ids_are_serial_and_wrap_after_65536():
    book = ProbeBook(random.Random(3))
    first = book.send(0, 0)
    ids = [first]
    for now in range(1, 65_537):
        book.expire(now, 100)
        ids.append(book.send(0, now))
    assert all(0 <= i < 65_536 for i in ids)
    assert len(set(ids[:65_536])) == 65_536 and ids[65_536] == first


def test_the_first_id_depends_on_the_seed():
    assert ProbeBook(random.Random(1)).send(0, 0) != ProbeBook(random.Random(2)).send(0, 0)


def test_memory_is_bounded_and_the_oldest_counts_as_lost():
    book = ProbeBook(random.Random(3), limit=8)
    ids = [book.send(ev, ev) for ev in range(20)]
    assert len(book) == 8
    assert book.answer(ids[3]) is None
    assert book.answer(ids[4])[0].late and book.answer(ids[11])[0].late
    assert not book.answer(ids[12])[0].late
    assert len(book._probes) == 16
    assert [probe.ev for probe in book.expire(0, 1000)] == list(range(4, 12))


@pytest.mark.parametrize("limit", [0, 40_000])
def test_a_limit_that_ids_cannot_tell_apart_is_refused(limit):
    with pytest.raises(ValueError, match="limit"):
        ProbeBook(random.Random(1), limit)
