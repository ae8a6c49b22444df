# SPDX-License-Identifier: Apache-2.0
"""Proves how many answered probes a retired EV needs, and that a lossy path stays out."""

import random

import pytest

from endpoint.readmit import ReadmitPolicy

SECOND = 1_000_000_000


def answers_until_back(evs, ev, now):
    for n in range(1, 1000):
        if evs.probe_answered(ev, now):
            return n
    raise AssertionError("never readmitted")


@pytest.mark.fact("ev.readmit")
def test_three_then_double_at_each_retirement_up_to_192(make_set):
    evs = make_set(1, 8)
    needed = []
    for now in range(10):
        evs.retire(3, now)
        needed.append(answers_until_back(evs, 3, now))
    assert needed == [3, 6, 12, 24, 48, 96, 192, 192, 192, 192]


@pytest.mark.fact("ev.readmit-reset")
def test_back_to_three_after_a_second_without_loss(make_set):
    evs = make_set(1, 8)
    needed = []
    for now in (0, 10, 10 + SECOND - 1, 9 + 2 * SECOND):
        evs.retire(3, now)
        needed.append(answers_until_back(evs, 3, now))
    assert needed == [3, 6, 12, 3]


def test_the_loss_free_time_may_pass_while_the_ev_is_out(make_set):
    evs = make_set(1, 8, readmit=ReadmitPolicy(loss_free_ns=10_000_000))
    for now in range(6):
        evs.retire(3, now)
        answers_until_back(evs, 3, now)
    evs.retire(3, 6)
    assert not any(evs.probe_answered(3, 10_000_005) for _ in range(100))
    assert evs.probe_answered(3, 10_000_006)


def test_a_lost_probe_is_a_loss(make_set):
    evs = make_set(1, 8)
    evs.retire(3, 0)
    evs.retire(3, 0)
    evs.probe_lost(3, SECOND)
    answers_until_back(evs, 3, SECOND + 1)
    evs.retire(3, SECOND + 2)
    assert answers_until_back(evs, 3, SECOND + 3) == 6


def test_each_ev_has_its_own_record(make_set):
    evs = make_set(1, 8)
    for _ in range(3):
        evs.retire(3, 0)
        answers_until_back(evs, 3, 0)
    evs.retire(4, 0)
    assert answers_until_back(evs, 4, 0) == 3


@pytest.mark.parametrize(
    "bad", [{"first": 0}, {"first": 5, "most": 4}, {"loss_free_ns": -1}], ids=str
)
def test_a_policy_that_makes_no_sense_is_refused(bad):
    with pytest.raises(ValueError, match="ReadmitPolicy"):
        ReadmitPolicy(**bad)


def test_a_path_that_loses_a_fifth_is_out_of_use_nearly_always(make_set):
    evs = make_set(4, 4, readmit=ReadmitPolicy(loss_free_ns=10_000_000))
    rng = random.Random(4)
    rtt, lossy, used, sent, now = 10_000, 0x202, 0, 0, 0
    while now < 20_000_000:
        now += 1_000
        ev = evs.next(now)
        sent += 1
        if ev == lossy:
            used += 1
            if rng.random() < 0.2:
                evs.retire(ev, now)
        for probed in evs.probes_due(now, rtt):
            if rng.random() < 0.2:
                evs.probe_lost(probed, now)
            else:
                evs.probe_answered(probed, now)
    assert sent == 20_000
    assert used < sent / 16 / 8, "less than an eighth of a healthy path's share"
