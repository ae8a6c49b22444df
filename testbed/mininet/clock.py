# SPDX-License-Identifier: Apache-2.0
"""Time of a run, and time of its scenario, which stands still while a switch comes back."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from time import monotonic_ns

Action = Callable[[], None]


class RunClock:
    """`now_ns` since the run began, of the machine's monotonic clock.

    A scenario says when things happen as if mending took no time. A switch in software needs a
    second or more to be there again, so the scenario's clock is paused for that long, and what
    comes later comes as much later.
    """

    def __init__(self) -> None:
        self.zero_ns = monotonic_ns()
        self.shift_ns = 0
        """How long the scenario's clock has stood still so far."""
        self._paused_at: int | None = None
        self._agenda: list[tuple[int, int, Action]] = []
        self._order = itertools.count()

    def begin(self) -> None:
        """The run begins now."""
        self.zero_ns = monotonic_ns()

    def now_ns(self) -> int:
        return monotonic_ns() - self.zero_ns

    def of(self, monotonic_time_ns: int) -> int:
        """A time that an agent tells, as time of the run."""
        return monotonic_time_ns - self.zero_ns

    @property
    def paused(self) -> bool:
        return self._paused_at is not None

    def pause(self) -> None:
        self._paused_at = self.now_ns()

    def resume(self) -> None:
        if self._paused_at is not None:
            self.shift_ns += self.now_ns() - self._paused_at
            self._paused_at = None

    def scenario_ns(self) -> int:
        """Time of the scenario."""
        at = self.now_ns() if self._paused_at is None else self._paused_at
        return at - self.shift_ns

    def at(self, scenario_ns: int, action: Action) -> None:
        """Do something at a time of the scenario."""
        heapq.heappush(self._agenda, (scenario_ns, next(self._order), action))

    def run_due(self) -> None:
        """Do everything whose time has come."""
        while not self.paused and self._agenda and self._agenda[0][0] <= self.scenario_ns():
            heapq.heappop(self._agenda)[2]()

    def wait_s(self, most_s: float) -> float:
        """How long nothing is due, at most `most_s`."""
        if self.paused or not self._agenda:
            return most_s
        return min(most_s, max(0.0, (self._agenda[0][0] - self.scenario_ns()) / 1e9))

    @property
    def empty(self) -> bool:
        """Whether nothing is left to be done."""
        return not self._agenda
