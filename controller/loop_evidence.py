# SPDX-License-Identifier: Apache-2.0
"""What a series of probes says about the loss on its way: bounds on binomial tails, in nats.

The chance of at least k losses in n independent probes that are each lost with chance p is at most
exp(-n D(k/n || p)), D being the relative entropy of two coins (Chernoff's bound, which holds for
every n); the same bounds the chance of at most k.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Outcome = tuple[int, bool]
"""When a probe was sent, in ns, and whether it came back."""

TOLERATED = 0.01
"""A way that loses no more than this share of its probes is in order."""
ACCUSES = math.log(1e6) - 1e-9
"""Strength that accuses: a healthy way looks like this once in a million."""
REFUTES = math.log(1e3)
"""Strength with which another way must contradict before it is taken for healthy."""
MENDED = math.log(1e4)
"""Strength with which probes that come back must contradict what a way was accused of."""


def relative_entropy(share: float, chance: float) -> float:
    """D(share || chance) in nats; both 0 to 1, infinite where chance excludes share."""
    total = 0.0
    for a, b in ((share, chance), (1 - share, 1 - chance)):
        if a > 0:
            if b <= 0:
                return math.inf
            total += a * math.log(a / b)
    return total


@dataclass(frozen=True, slots=True)
class Evidence:
    """Losses of a way since `onset_ns`, when the first of them was sent; the newest `clean` of the
    probes sent since then all came back."""

    onset_ns: int
    sent: int
    lost: int
    clean: int = 0

    @property
    def share(self) -> float:
        """Of the probes since the onset."""
        return self.lost / self.sent

    @property
    def share_while_lossy(self) -> float:
        """Up to the newest loss: what has come back since then may be the mending."""
        return self.lost / (self.sent - self.clean)

    @property
    def strength(self) -> float:
        """How strongly it speaks against a healthy way, in nats; 0 when it does not."""
        return _strength(self.sent, self.lost)


def _strength(sent: int, lost: int) -> float:
    share = lost / sent
    return 0.0 if share <= TOLERATED else sent * relative_entropy(share, TOLERATED)


def find_loss(outcomes: Sequence[Outcome]) -> Evidence | None:
    """The strongest evidence of loss up to now, if it accuses; `outcomes` by time of sending."""
    best: tuple[int, int, int] | None = None  # onset, sent, lost
    most = 0.0
    sent = lost = clean = 0
    for sent_ns, came_back in reversed(outcomes):
        sent += 1
        if came_back:
            continue
        if not lost:
            clean = sent - 1
        lost += 1
        strength = _strength(sent, lost)
        if strength >= most:
            best, most = (sent_ns, sent, lost), strength
    return Evidence(*best, clean) if best is not None and most >= ACCUSES else None


def contradicts(outcomes: Iterable[Outcome], suspected: Evidence, crossings: int = 1) -> bool:
    """Whether these probes, sent since the onset, were lost so much less than what is suspected
    that they went another, healthy way: less than half its share, and less than the least share
    that it leaves possible, divided by how often the suspected way crosses what these probes cross
    once. What is suspected first has had the worst luck, not the most loss."""
    sent = lost = 0
    for sent_ns, came_back in outcomes:
        if sent_ns >= suspected.onset_ns:
            sent += 1
            lost += not came_back
    share = min(suspected.share / 2, least_share(suspected)) / crossings
    if not sent or lost / sent >= share:
        return False
    return sent * relative_entropy(lost / sent, share) >= REFUTES


def least_share(found: Evidence) -> float:
    """The least share of loss that the evidence does not contradict."""
    low, high = 0.0, found.share
    for _ in range(30):
        middle = (low + high) / 2
        if found.sent * relative_entropy(found.share, middle) >= REFUTES:
            low = middle
        else:
            high = middle
    return high


def mended_since(outcomes: Sequence[Outcome], share: float) -> int | None:
    """When the first of the newest probes was sent that together contradict half this share of
    loss, a stray one among them or not; None when there are none. Half, because a share is an
    estimate, and every look at the map is one more chance to be wrong."""
    half = share / 2
    lost = 0
    for sent, (sent_ns, came_back) in enumerate(reversed(outcomes), start=1):
        lost += not came_back
        if lost < half * sent and sent * relative_entropy(lost / sent, half) >= MENDED:
            return sent_ns
    return None
