# SPDX-License-Identifier: Apache-2.0
"""When a retired path may be used again: probes in a row, more of them for a path that relapses.

A path that loses 20 % of its packets answers three probes in a row every other time, so three are
enough only for a path without a record.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadmitPolicy:
    """Answered probes in a row that a retired EV needs (protocol decision).

    ``first`` at its first retirement, twice as many at each further one up to ``most``, and
    ``first`` again once ``loss_free_ns`` have passed without a loss on it (1 s; 10 ms suits
    virtual time, where a run lasts milliseconds).
    """

    first: int = 3
    most: int = 192
    loss_free_ns: int = 1_000_000_000

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.most:
            raise ValueError(f"ReadmitPolicy: need 1 <= first <= most, got {self}")
        if self.loss_free_ns < 0:
            raise ValueError(f"ReadmitPolicy: loss_free_ns is negative: {self.loss_free_ns}")


class Record:
    """One EV's record of losses and answered probes."""

    __slots__ = ("in_a_row", "last_loss_ns", "needed", "readmitted_ns", "since_ns")

    def __init__(self) -> None:
        self.needed = 0
        """Answers in a row asked for; 0 before the first retirement."""
        self.in_a_row = 0
        self.last_loss_ns: int | None = None
        self.since_ns = 0
        """Start of the present probation: answers to probes sent before it do not count."""
        self.readmitted_ns: int | None = None
        """Losses of packets sent before this time were paid for by the last retirement."""

    def retired(self, policy: ReadmitPolicy, now_ns: int) -> None:
        """A new retirement."""
        if self._clean(policy, now_ns):
            self.needed = policy.first
        else:
            self.needed = min(2 * self.needed, policy.most)
        self.last_loss_ns = now_ns
        self.restarted(now_ns)

    def restarted(self, now_ns: int) -> None:
        """Probation starts over, for instance because the port went down meanwhile."""
        self.in_a_row = 0
        self.since_ns = now_ns

    def probe_lost(self, now_ns: int) -> None:
        """A probe was not answered in time: the row starts again, and it counts as a loss."""
        self.in_a_row = 0
        self.last_loss_ns = now_ns

    def probe_answered(self, policy: ReadmitPolicy, now_ns: int, urgent: bool) -> bool:
        """One more answer; true when the EV has earned its return.

        ``urgent`` (no more EVs in use than the floor): ``first`` answers are enough for any EV,
        since a path with a record is better than none.
        """
        self.in_a_row += 1
        if urgent or self._clean(policy, now_ns):
            enough = policy.first
        else:
            enough = self.needed
        if self.in_a_row < enough:
            return False
        self.readmitted_ns = now_ns
        return True

    def _clean(self, policy: ReadmitPolicy, now_ns: int) -> bool:
        last = self.last_loss_ns
        return last is None or now_ns - last >= policy.loss_free_ns
