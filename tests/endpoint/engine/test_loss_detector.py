# SPDX-License-Identifier: Apache-2.0
"""Proves the loss rules one by one, on the detector alone."""

import pytest

from endpoint.loss import Fate, LossDetector, LossRule, Transmission
from endpoint.messages import Message

MESSAGE = Message(1, memoryview(bytes(100)), 0, 0, None, 10, 0, 0, 0)
A, B = 0xC000_0000, 0xC000_0001
DELAY = 1_000


class Sender:
    """Numbers the transmissions of one detector."""

    def __init__(self) -> None:
        self.detector = LossDetector()
        self.order = 0
        self.lost: list[Transmission] = []

    def send(self, psn: int, ev: int, now: int, keeps_order: bool = True) -> Transmission:
        self.order += 1
        prior = self.detector.current.get(psn)
        sent = Transmission(psn, MESSAGE, ev, now, self.order, 100, 0, keeps_order, prior)
        self.detector.sent(sent)
        return sent

    def ack(self, psn: int, exact: Transmission | None = None, shows_gaps: bool = True) -> None:
        self.detector.acknowledge(psn, exact)
        self.detector.overtaken(self.lost, lambda psn: shows_gaps)

    def missing(self, psn: int, cause: Transmission) -> bool:
        return self.detector.mark_missing(psn, cause.order, self.lost)

    def overdue(self, now: int) -> None:
        self.detector.overdue(now, DELAY, self.lost)


@pytest.mark.fact("rel.loss-a")
def test_rule_a_needs_both_a_gap_and_a_later_arrival_on_the_same_path() -> None:
    s = Sender()
    first = s.send(1, A, 0)
    other = s.send(2, B, 0)
    s.ack(2)
    assert s.missing(1, other)
    assert s.lost == []  # known missing, but nothing came later on its own path
    s.send(3, A, 0)
    s.ack(3)
    assert s.lost == [first]
    assert first.rule is LossRule.SAME_PATH


def test_rule_a_holds_when_the_gap_is_seen_after_the_arrival() -> None:
    s = Sender()
    first, later = s.send(1, A, 0), s.send(2, A, 0)
    s.ack(2)
    assert s.lost == []  # overtaken, yet no SACK says it is missing
    assert s.missing(1, later)
    assert s.lost == [first]


def test_rule_a_asks_again_when_the_sack_of_the_later_arrival_does_not_cover_the_gap() -> None:
    s = Sender()
    first = s.send(1, A, 0)
    other = s.send(2, B, 0)
    s.missing(1, other)  # it was late then, and its own SACK is lost
    later = s.send(3, A, 0)
    s.ack(3, shows_gaps=False)
    assert s.lost == []
    assert s.missing(1, later)
    assert s.lost == [first]


def test_what_one_sack_acknowledges_together_is_settled_before_rule_a_is_applied() -> None:
    s = Sender()
    first = s.send(1, A, 0)
    other = s.send(2, B, 0)
    later = s.send(3, A, 0)
    s.missing(1, other)  # it was late then
    s.detector.acknowledge(3, later)
    s.detector.acknowledge(1, None)  # by the bitmap of the same SACK
    s.detector.overtaken(s.lost, lambda psn: True)
    assert s.lost == []
    assert first.fate is not Fate.LOST


@pytest.mark.fact("rel.loss-known")
def test_a_gap_in_a_sack_caused_by_an_earlier_transmission_tells_nothing() -> None:
    s = Sender()
    early = s.send(1, A, 0)
    late = s.send(2, B, 0)
    assert not s.missing(2, early)
    assert not s.missing(2, late)
    assert not late.missing


@pytest.mark.fact("rel.loss-b")
def test_rule_b_waits_for_the_loss_delay_and_for_a_later_arrival() -> None:
    s = Sender()
    first, other = s.send(1, A, 100), s.send(2, B, 200)
    s.overdue(100 + DELAY)
    assert s.lost == []  # nothing sent later was acknowledged
    s.ack(2)
    s.missing(1, other)
    s.overdue(99 + DELAY)
    assert s.lost == []
    assert s.detector.next_due_ns(DELAY) == 100 + DELAY
    s.overdue(100 + DELAY)
    assert s.lost == [first]
    assert first.rule is LossRule.TIME


def test_one_that_is_due_but_not_covered_is_not_lost_until_a_sack_covers_it() -> None:
    s = Sender()
    first, other = s.send(1, A, 0), s.send(2, B, 0)
    s.ack(2)
    s.overdue(DELAY)
    assert s.lost == []
    assert list(s.detector.uncovered) == [1]
    s.missing(1, other)
    assert s.lost == [first]
    assert not s.detector.uncovered


def test_an_uncovered_one_that_arrived_after_all_is_forgotten() -> None:
    s = Sender()
    s.send(1, A, 0)
    s.send(2, B, 0)
    s.ack(2)
    s.overdue(DELAY)
    s.ack(1)
    assert not s.detector.uncovered
    assert s.detector.inflight == 0
    assert s.lost == []


def test_a_psn_sent_twice_proves_nothing_unless_the_sack_names_which() -> None:
    s = Sender()
    victim = s.send(1, A, 0)
    s.send(2, B, 0)
    s.detector.expire(0)
    s.send(1, A, 10)
    again = s.send(2, A, 10)
    assert victim.rule is LossRule.TIMER
    s.missing(1, again)
    s.ack(2)  # the first, on B, or the second, on A?
    assert s.lost == []
    s.send(3, B, 20)
    last = s.send(3, A, 30)
    s.ack(3, last)
    assert [t.psn for t in s.lost] == [1]


def test_a_frame_too_short_to_cut_may_overtake_and_proves_nothing_about_its_path() -> None:
    s = Sender()
    s.send(1, A, 0)
    short = s.send(2, A, 0, keeps_order=False)
    s.ack(2)
    s.missing(1, short)
    assert s.lost == []


@pytest.mark.fact("cc.inflight")
def test_inflight_counts_each_transmission_once() -> None:
    s = Sender()
    first = s.send(1, A, 0)
    s.send(2, B, 0)
    assert s.detector.inflight == 200
    assert [t.psn for t in s.detector.expire(0)] == [1, 2]
    assert s.detector.inflight == 0
    s.send(1, B, 5)
    assert s.detector.inflight == 100
    s.ack(1, first)  # the first one arrived after all
    assert s.detector.inflight == 0
    s.ack(1)
    s.ack(2)
    assert s.detector.inflight == 0


def test_a_nack_settles_only_the_transmission_it_names() -> None:
    s = Sender()
    first = s.send(1, A, 0)
    assert s.detector.find(1, B, 0) is None
    assert s.detector.find(1, A, 7) is None
    assert s.detector.find(1, A, 0) is first
    assert s.detector.settle_nacked(first)
    assert not s.detector.settle_nacked(first)
    again = s.send(1, B, 5)
    assert not s.detector.settle_nacked(first)
    assert s.detector.inflight == 100
    assert s.detector.find(1, B, 0) is again


def test_the_timer_takes_only_what_is_old_enough() -> None:
    s = Sender()
    s.send(1, A, 0)
    s.send(2, B, 500)
    assert [t.psn for t in s.detector.expire(499)] == [1]
    oldest = s.detector.oldest()
    assert oldest is not None and oldest.psn == 2


def test_queues_do_not_grow_with_what_is_settled() -> None:
    s = Sender()
    for psn in range(1000):
        s.send(psn, A, psn)
        s.ack(psn)
    assert len(s.detector._by_time) <= 1
    assert len(s.detector._by_ev[A]) <= 1
    assert not s.detector.current


def test_of_a_psn_that_is_sent_for_ever_the_last_sendings_are_known() -> None:
    detector = LossDetector()
    prior = None
    for order in range(1, 1_001):
        sent = Transmission(0, MESSAGE, order, order, order, 100, order, True, prior)
        detector.sent(sent)
        assert detector.settle_nacked(sent)
        prior = sent
    known = [tick for tick in range(1, 1_001) if detector.find(0, tick, tick)]
    assert known == list(range(1_001 - len(known), 1_001))
    assert 32 <= len(known) <= 64
