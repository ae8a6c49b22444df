# SPDX-License-Identifier: Apache-2.0
"""Proves what each report does to an EV set: states, replacement, floor, operator, events."""

import random

import pytest

from endpoint.ev_set import EvSet
from endpoint.ev_states import FLOOR, EvInput, EvState
from endpoint.readmit import ReadmitPolicy


def admit(evs, ev, now_ns=0, answers=3):
    """As many answered probes as given; whether the last one readmitted the EV."""
    return [evs.probe_answered(ev, now_ns) for _ in range(answers)][-1]


def as_rows(evs):
    return [
        (e.time_ns, e.ev, e.plane, e.old.value, e.new.value, e.cause) for e in evs.drain_events()
    ]


RETIREMENTS = [EvInput.LOSS, EvInput.TIMEOUT, EvInput.ALWAYS_SKIP]


@pytest.mark.fact("ev.good-skip")
def test_congestion_makes_skip_and_a_missed_turn_makes_good(make_set):
    evs = make_set(1, 4)
    evs.skip(2, 10)
    assert evs.state(2) is EvState.SKIP
    for now in range(11, 19):
        evs.next(now)
    assert evs.state(2) is EvState.GOOD
    skipped, back = evs.drain_events()
    assert skipped == (10, 2, 0, EvState.GOOD, EvState.SKIP, "congested")
    assert 10 < back.time_ns < 19
    assert back[1:] == (2, 0, EvState.SKIP, EvState.GOOD, "turn_missed")


@pytest.mark.fact("ev.retire")
@pytest.mark.parametrize("cause", RETIREMENTS)
@pytest.mark.parametrize("skipped_before", [False, True])
def test_a_loss_retires_at_once_from_good_and_from_skip(make_set, cause, skipped_before):
    evs = make_set(1, 8)
    if skipped_before:
        evs.skip(5, 1)
    assert evs.retire(5, 2, cause) is EvState.ASSUMED_BAD
    assert evs.state(5) is EvState.ASSUMED_BAD
    assert 5 not in {evs.next(3) for _ in range(40)}
    assert as_rows(evs)[-1] == (2, 5, 0, "skip" if skipped_before else "good", "assumed_bad", cause)


def test_inputs_that_do_not_retire_are_refused(make_set):
    with pytest.raises(ValueError, match="congested"):
        make_set(1, 8).retire(5, 2, EvInput.CONGESTED)


@pytest.mark.fact("ev.replacement")
def test_a_replacement_comes_from_the_same_plane(make_set):
    evs = make_set(4, 4, backup=2)
    victim = next(ev for ev in evs.active() if ev >> 8 == 2)
    heir = next(ev for ev in evs.backup() if ev >> 8 == 2)
    evs.retire(victim, 1)
    assert heir in evs.active() and heir not in evs.backup()
    assert [sum(ev >> 8 == plane for ev in evs.active()) for plane in range(4)] == [4] * 4


@pytest.mark.fact("ev.shrink")
def test_a_plane_without_backup_shrinks(make_set):
    evs = make_set(4, 4)
    evs.retire(0x201, 1)
    assert [sum(ev >> 8 == plane for ev in evs.active()) for plane in range(4)] == [4, 4, 3, 4]


@pytest.mark.fact("ev.rejoin")
def test_readmission_joins_the_active_set_where_the_plane_is_below_its_count(make_set):
    evs = make_set(2, 4)
    evs.retire(0x101, 1)
    assert not admit(evs, 0x101, 5, answers=2)
    assert evs.state(0x101) is EvState.ASSUMED_BAD
    assert admit(evs, 0x101, 6, answers=1)
    assert 0x101 in evs.active()


@pytest.mark.fact("ev.rejoin")
def test_readmission_joins_the_backup_where_the_plane_is_full(make_set):
    evs = make_set(2, 4, backup=1)
    victim = evs.active()[0]
    evs.retire(victim, 1)
    assert admit(evs, victim, 5)
    assert evs.state(victim) is EvState.GOOD
    assert victim in evs.backup() and victim not in evs.active()
    assert victim not in {evs.next(6) for _ in range(30)}


def test_a_lost_probe_starts_the_row_again(make_set):
    evs = make_set(2, 4)
    evs.retire(1, 1)
    admit(evs, 1, 5, answers=2)
    evs.probe_lost(1, 6)
    assert not admit(evs, 1, 7, answers=2)
    assert admit(evs, 1, 8, answers=1)


def test_an_answer_that_arrived_marked_returns_the_ev_as_skip(make_set):
    evs = make_set(2, 4)
    evs.retire(1, 1)
    for _ in range(3):
        evs.probe_answered(1, 5, marked=True)
    assert evs.state(1) is EvState.SKIP
    assert [row[3:] for row in as_rows(evs)[1:]] == [
        ("assumed_bad", "good", "probes_passed"),
        ("good", "skip", "congested"),
    ]


def test_answers_to_probes_from_before_the_retirement_do_not_count(make_set):
    evs = make_set(2, 4)
    evs.retire(1, 100)
    assert not any(evs.probe_answered(1, 120, sent_ns=99) for _ in range(9))
    assert evs.probe_answered(1, 120, sent_ns=100) is False
    evs.probe_lost(1, 121, sent_ns=90)
    evs.probe_answered(1, 122, sent_ns=101)
    assert evs.probe_answered(1, 123, sent_ns=102)


def test_a_loss_from_before_the_readmission_is_old_news(make_set):
    evs = make_set(2, 4)
    evs.retire(1, 100, sent_ns=80)
    assert admit(evs, 1, 200)
    assert evs.retire(1, 210, EvInput.TIMEOUT, sent_ns=90) is EvState.GOOD
    assert evs.retire(1, 220, EvInput.LOSS, sent_ns=205) is EvState.ASSUMED_BAD


# -- the floor ------------------------------------------------------------------------------------


@pytest.mark.fact("ev.floor")
def test_the_floor_is_a_quarter_of_the_set_and_at_least_one(make_set):
    assert make_set(4, 4).min_active == 4
    assert make_set(8, 32).min_active == 64
    assert make_set(1, 3).min_active == 1
    assert make_set(2, 4, min_active=6).min_active == 6


@pytest.mark.fact("ev.floor")
def test_several_lossy_evs_at_the_floor_stay_in_use_and_each_says_so_once(make_set):
    evs = make_set(2, 4, min_active=3)
    for ev in evs.active()[:5]:
        assert evs.retire(ev, 1) is EvState.ASSUMED_BAD
    left = evs.active()
    evs.drain_events()
    for now in (2, 3):
        for ev in left:
            assert evs.retire(ev, now) is EvState.GOOD
    assert evs.active() == left
    assert as_rows(evs) == [(2, ev, ev >> 8, "good", "good", FLOOR) for ev in left]
    assert {evs.next(4) for _ in range(3)} == set(left)


def test_above_the_floor_again_a_lossy_ev_can_be_retired(make_set):
    evs = make_set(1, 3, min_active=2)
    evs.retire(0, 1)
    evs.retire(1, 2)
    assert evs.state(1) is EvState.GOOD
    admit(evs, 0, 3)
    assert evs.retire(1, 4) is EvState.ASSUMED_BAD
    admit(evs, 1, 5, answers=2)
    evs.retire(2, 6)
    assert [row[-1] for row in as_rows(evs)] == ["loss", FLOOR, "probes_passed", "loss", FLOOR]


def test_a_second_stay_at_the_floor_is_a_second_event(make_set):
    evs = make_set(1, 3, min_active=2)
    for now in (1, 2):
        evs.retire(0, now)
        assert evs.retire(1, now) is EvState.GOOD
        admit(evs, 0, now)
    assert [e.ev for e in evs.drain_events() if e.cause == FLOOR] == [1, 1]


def test_the_floor_does_not_hold_back_an_ev_that_has_a_replacement(make_set):
    evs = make_set(1, 2, backup=1, min_active=2)
    first, second = evs.active()
    assert evs.retire(first, 1) is EvState.ASSUMED_BAD
    assert len(evs.active()) == 2
    assert evs.retire(second, 2) is EvState.GOOD


def test_at_the_floor_the_first_requirement_is_enough(make_set):
    evs = make_set(1, 2, min_active=1, readmit=ReadmitPolicy(3, 192, 10**9))
    for now in range(10, 15):
        evs.retire(0, now)
        assert admit(evs, 0, now), now
    fresh = make_set(1, 4, min_active=1)
    for now in (10, 11):
        fresh.retire(0, now)
        answers = [fresh.probe_answered(0, now) for _ in range(6)]
        assert answers.index(True) == (2 if now == 10 else 5)


def test_everything_lost_at_once_leaves_the_floor_in_use(make_set):
    evs = make_set(4, 4)
    for ev in evs.active():
        evs.retire(ev, 1)
    assert len(evs.active()) == 4
    assert sorted(evs.next(2) for _ in range(4)) == evs.active()


# -- the operator ---------------------------------------------------------------------------------


@pytest.mark.fact("ev.denied")
@pytest.mark.parametrize("before", [EvState.GOOD, EvState.SKIP, EvState.ASSUMED_BAD])
def test_deny_from_any_state_and_allow(make_set, before):
    evs = make_set(1, 4, min_active=1)
    if before is EvState.SKIP:
        evs.skip(3, 0)
    if before is EvState.ASSUMED_BAD:
        evs.retire(3, 0)
    evs.deny(3, 1)
    assert evs.state(3) is EvState.DENIED
    assert 3 not in {evs.next(2) for _ in range(12)}
    assert 3 not in evs.probes_due(10**9, 1)
    for report in (evs.skip, evs.retire, evs.probe_answered, evs.probe_lost):
        report(3, 3)
    assert evs.state(3) is EvState.DENIED
    evs.allow(3, 4)
    assert evs.state(3) is EvState.GOOD
    assert 3 in {evs.next(5) for _ in range(12)}


def test_losses_from_before_an_ev_was_allowed_again_are_old_news(make_set):
    evs = make_set(1, 4)
    evs.deny(3, 10)
    evs.allow(3, 20)
    assert evs.retire(3, 30, sent_ns=9) is EvState.GOOD
    assert evs.retire(3, 30, sent_ns=21) is EvState.ASSUMED_BAD


def test_a_denied_ev_is_replaced_and_returns_to_the_backup(make_set):
    evs = make_set(1, 3, backup=1)
    victim, heir = evs.active()[0], evs.backup()[0]
    evs.deny(victim, 1)
    assert heir in evs.active()
    evs.allow(victim, 2)
    assert evs.backup() == [victim]


def test_a_denied_backup_ev_is_no_replacement(make_set):
    evs = make_set(1, 3, backup=1)
    evs.deny(evs.backup()[0], 1)
    evs.retire(evs.active()[0], 2)
    assert evs.backup() == [] and len(evs.active()) == 2


def test_the_operator_overrides_the_floor(make_set):
    evs = make_set(1, 2, min_active=2)
    evs.deny(0, 1)
    evs.deny(1, 1)
    assert evs.active() == [] and evs.next(2) is None


def test_an_unknown_ev_is_ignored_from_the_wire_and_refused_from_the_operator(make_set):
    evs = make_set(1, 2)
    evs.skip(77, 1)
    assert evs.retire(77, 1) is None
    assert not evs.probe_answered(77, 1)
    evs.probe_lost(77, 1)
    assert evs.next(2, avoid=77) in (0, 1)
    assert evs.drain_events() == []
    for call in (evs.deny, evs.allow, evs.state):
        with pytest.raises(ValueError, match="0x0000004d"):
            call(77)


# -- construction and bounds ----------------------------------------------------------------------


@pytest.mark.fact("ev.equal-planes")
def test_every_plane_gets_the_same_number_and_a_random_subset():
    candidates = {plane: list(range(plane * 100, plane * 100 + 40)) for plane in range(4)}
    subsets = []
    for seed in (1, 2):
        evs = EvSet(candidates, 32, random.Random(seed))
        assert [sum(ev // 100 == p for ev in evs.active()) for p in range(4)] == [8] * 4
        assert [sum(ev // 100 == p for ev in evs.backup()) for p in range(4)] == [8] * 4
        assert not set(evs.active()) & set(evs.backup())
        subsets.append(evs.active())
    assert subsets[0] != subsets[1]


def test_the_plane_with_the_fewest_paths_sets_the_number():
    evs = EvSet({0: [1, 2, 3, 4], 1: [11, 12]}, 8, random.Random(1))
    assert [sum(ev // 10 == p for ev in evs.active()) for p in range(2)] == [2, 2]
    assert [ev // 10 for ev in evs.backup()] == [0, 0]


@pytest.mark.parametrize(
    ("candidates", "count", "complaint"),
    [
        ({}, 4, "no plane"),
        ({0: []}, 4, "plane 0 has no candidate"),
        ({0: [1], 1: [1]}, 4, "0x00000001 is a candidate twice"),
        ({40: [1]}, 4, "plane 40"),
        ({0: [1]}, 0, "count must be at least 1"),
    ],
)
def test_bad_input_is_named(candidates, count, complaint):
    with pytest.raises(ValueError, match=complaint):
        EvSet(candidates, count, random.Random(1))


def test_undrained_events_are_bounded_and_counted(make_set):
    evs = make_set(1, 4, event_limit=10)
    for now in range(100):
        evs.skip(evs.next(now), now)
    assert evs.events_lost > 0
    assert len(evs.drain_events()) == 10
