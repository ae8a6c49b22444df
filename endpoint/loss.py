# SPDX-License-Identifier: Apache-2.0
"""Which transmissions are in flight, and which are lost: rules (a) and (b), and the timer.

Spraying reorders, so a gap says little. A transmission is *known missing* once a SACK caused by
a later transmission shows its PSN as not received. A known-missing one is lost when (a) a later
transmission on the same path was acknowledged, since a path is a FIFO, or (b) any later one was
acknowledged and its own send time plus the loss delay has passed. One that is due under (b) but
that no SACK covers is *uncovered*: it asks for a probe, not for a retransmission. So does the
tail, of which nothing was acknowledged at all.

Cost: every transmission enters and leaves each of two queues once, whatever the number in
flight. A queue's front is thrown away as soon as it is settled.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from endpoint.messages import Message


class Fate(enum.IntEnum):
    """What is known of one transmission."""

    IN_FLIGHT = 0
    ACKNOWLEDGED = 1
    NACKED = 2
    LOST = 3


class LossRule(enum.Enum):
    """Why a transmission was declared lost."""

    SAME_PATH = "loss"
    TIME = "loss by time"
    TIMER = "timer"


IN_FLIGHT = Fate.IN_FLIGHT
_SENDINGS_KNOWN = 32


class Transmission:
    """One sending of one PSN. `order` counts the sendings of the queue pair, probes included.

    `keeps_order` is false for a frame too short to be cut: it may travel in the trimmed class
    and overtake data of its own path, so it proves nothing under rule (a). `prior` is the sending
    before it of the same PSN; `known` is how many of them can be reached that way, itself counted.
    """

    __slots__ = ("ev", "fate", "keeps_order", "known", "message", "missing", "order", "prior",
                 "psn", "rule", "sent_ns", "size", "tick")  # fmt: skip

    def __init__(
        self,
        psn: int,
        message: Message,
        ev: int,
        sent_ns: int,
        order: int,
        size: int,
        tick: int,
        keeps_order: bool,
        prior: Transmission | None,
    ) -> None:
        self.psn = psn
        self.message = message
        self.ev = ev
        self.sent_ns = sent_ns
        self.order = order
        self.size = size
        self.tick = tick
        self.keeps_order = keeps_order
        self.prior = prior
        self.known = 1
        if prior is not None:
            self.known = prior.known + 1
            if self.known > 2 * _SENDINGS_KNOWN:
                self._forget_old()
        self.fate = IN_FLIGHT
        self.missing = False
        self.rule: LossRule | None = None

    def _forget_old(self) -> None:
        """A receiver may refuse one PSN for ever; its first sendings are of no interest then."""
        self.known = _SENDINGS_KNOWN
        oldest = self
        for _ in range(_SENDINGS_KNOWN - 1):
            assert oldest.prior is not None
            oldest = oldest.prior
        oldest.prior = None


class LossDetector:
    """The transmissions of one queue pair whose PSN is not acknowledged yet."""

    def __init__(self) -> None:
        self.current: dict[int, Transmission] = {}  # by PSN: the latest transmission
        self.inflight = 0  # bytes of transmissions whose fate is IN_FLIGHT
        self.uncovered: dict[int, Transmission] = {}
        self._by_ev: dict[int, deque[Transmission]] = {}
        self._by_time: deque[Transmission] = deque()
        self._ev_acked: dict[int, int] = {}  # newest order acknowledged on each path
        self._moved: dict[int, None] = {}  # paths with news for rule (a), in order
        self._newest_acked = 0

    def sent(self, transmission: Transmission) -> None:
        """Takes a transmission just handed out; orders must rise."""
        self.current[transmission.psn] = transmission
        self.inflight += transmission.size
        by_time = self._by_time
        while by_time and by_time[0].fate:
            by_time.popleft()
        by_time.append(transmission)
        queue = self._by_ev.get(transmission.ev)
        if queue is None:
            self._by_ev[transmission.ev] = deque((transmission,))
            return
        while queue and queue[0].fate:
            queue.popleft()
        queue.append(transmission)

    def find(self, psn: int, ev: int, tick: int) -> Transmission | None:
        """The transmission of an unacknowledged PSN that went on `ev` with that timestamp."""
        candidate = self.current.get(psn)
        while candidate is not None and (candidate.ev != ev or candidate.tick != tick):
            candidate = candidate.prior
        return candidate

    def acknowledge(self, psn: int, exact: Transmission | None) -> Transmission | None:
        """Settles a PSN; returns its latest transmission, or None when it was settled before.

        `exact` is the transmission that is known to have arrived, if one is: a PSN sent twice
        does not say which did, and then proves nothing about any path. What it proves under rule
        (a) waits for `overtaken`, when everything that the same SACK acknowledges is settled.
        """
        latest = self.current.pop(psn, None)
        if latest is None:
            return None
        self.uncovered.pop(psn, None)
        if latest.fate is IN_FLIGHT:
            self.inflight -= latest.size
        latest.fate = Fate.ACKNOWLEDGED
        if exact is None and latest.prior is None:
            exact = latest
        if exact is not None:
            if exact.order > self._newest_acked:
                self._newest_acked = exact.order
            if exact.keeps_order and exact.order > self._ev_acked.get(exact.ev, 0):
                self._ev_acked[exact.ev] = exact.order
                self._moved[exact.ev] = None
        return latest

    def overtaken(self, lost: list[Transmission], still_missing: Callable[[int], bool]) -> None:
        """Rule (a) for what is known missing already: appends to `lost` what a later arrival on
        its path has overtaken, if the SACK that brings the news shows it missing still
        (`still_missing` of its PSN). If not it is in doubt again: it may have arrived since it
        was last looked at, and its own SACK may have been lost. What becomes known missing later
        is caught by `mark_missing`."""
        for ev in self._moved:
            order = self._ev_acked[ev]
            queue = self._by_ev[ev]
            while queue and queue[0].order <= order:
                passed = queue.popleft()
                if passed.missing and passed.fate is IN_FLIGHT:
                    if still_missing(passed.psn):
                        self._lose(passed, LossRule.SAME_PATH, lost)
                    else:
                        passed.missing = False
        self._moved.clear()

    def mark_missing(self, psn: int, cause_order: int, lost: list[Transmission]) -> bool:
        """A SACK caused by transmission `cause_order` shows `psn` as not received.

        Returns False when that SACK is too old to tell, so that a later one must be looked at.
        What rule (a) finds is appended to `lost`.
        """
        transmission = self.current.get(psn)
        if transmission is None or transmission.fate:
            return True
        if transmission.order >= cause_order:
            return False
        transmission.missing = True
        if self._ev_acked.get(transmission.ev, 0) > transmission.order:
            self._lose(transmission, LossRule.SAME_PATH, lost)
        elif psn in self.uncovered:
            self._lose(transmission, LossRule.TIME, lost)
        return True

    def overdue(self, now_ns: int, loss_delay_ns: int, lost: list[Transmission]) -> None:
        """Rule (b): appends the lost among those whose time has come to `lost`; those that no
        SACK covers become `uncovered`."""
        queue = self._by_time
        while queue:
            front = queue[0]
            if front.fate is IN_FLIGHT:
                if front.order > self._newest_acked or front.sent_ns + loss_delay_ns > now_ns:
                    break
                if front.missing:
                    self._lose(front, LossRule.TIME, lost)
                else:
                    self.uncovered[front.psn] = front
            queue.popleft()

    def next_due_ns(self, loss_delay_ns: int) -> int | None:
        """When rule (b) next applies to a transmission, if one has been overtaken."""
        front = self._oldest_by_time()
        if front is None or front.order > self._newest_acked:
            return None
        return front.sent_ns + loss_delay_ns

    def tail_due_ns(self, loss_delay_ns: int) -> int | None:
        """When to ask after the oldest transmission in flight if no later one was acknowledged:
        two loss delays after it was sent. Either all of them are lost, or their SACKs are."""
        front = self._oldest_by_time()
        if front is None or front.order <= self._newest_acked:
            return None
        return front.sent_ns + 2 * loss_delay_ns

    def oldest(self) -> Transmission | None:
        """The transmission that has been in flight for longest."""
        if self.uncovered:
            return next(iter(self.uncovered.values()))
        return self._oldest_by_time()

    def _oldest_by_time(self) -> Transmission | None:
        queue = self._by_time
        while queue and queue[0].fate:
            queue.popleft()
        return queue[0] if queue else None

    def settle_nacked(self, transmission: Transmission) -> bool:
        """A NACK names this transmission; False when it is no longer in flight."""
        if transmission.fate is not IN_FLIGHT or self.current.get(transmission.psn) is not (
            transmission
        ):
            return False
        self.inflight -= transmission.size
        transmission.fate = Fate.NACKED
        self.uncovered.pop(transmission.psn, None)
        return True

    def expire(self, sent_until_ns: int) -> list[Transmission]:
        """The timer: everything in flight that was sent up to then is lost, oldest first."""
        lost: list[Transmission] = []
        for transmission in list(self.uncovered.values()):
            self._lose(transmission, LossRule.TIMER, lost)
        queue = self._by_time
        while queue and (queue[0].fate or queue[0].sent_ns <= sent_until_ns):
            front = queue.popleft()
            if front.fate is IN_FLIGHT:
                self._lose(front, LossRule.TIMER, lost)
        return lost

    def forget(self) -> None:
        """With nothing left in flight, lets go of all transmissions and the data they hold."""
        if not self.current:
            self._by_ev.clear()
            self._by_time.clear()
            self._moved.clear()

    def _lose(self, transmission: Transmission, rule: LossRule, lost: list[Transmission]) -> None:
        transmission.fate = Fate.LOST
        transmission.rule = rule
        self.inflight -= transmission.size
        self.uncovered.pop(transmission.psn, None)
        lost.append(transmission)
        queue = self._by_ev[transmission.ev]
        while queue and queue[0].fate:
            queue.popleft()
