# SPDX-License-Identifier: Apache-2.0
"""Puts the frames of several ports into the order of their arrival in the kernel.

The engine judges paths by what came before what. Were ports read one after the other, a process
that had not run for a while would seem to get one plane's packets long before another's, and
healthy paths would be taken for dead ones.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Protocol

Arrival = tuple[int, int, bytes]
"""When a frame reached this machine (ns of the real-time clock), port, frame."""


class Source(Protocol):
    """A port to read from."""

    def receive(self, arrivals: list[Arrival], most: int) -> bool:
        """Appends up to `most` frames in order; whether that may not be all."""


class ArrivalOrder:
    """Reads ports in turns. What may be overtaken by a frame not yet read is held back."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._held: list[Arrival] = []
        self._started_ns = 0
        self.more = False
        """Whether frames that have arrived may be left, held back or unread."""

    def collect(self, sources: Sequence[Source], now_ns: int) -> list[Arrival]:
        """The frames to feed now, in order; up to the budget is read from each source.

        `now_ns`: the real-time clock. All that came by now can be read by now, so frames are in
        order up to now, or up to the last one read from a source that was not read to its end.
        """
        arrivals, self._held = self._held, []
        horizon_ns = now_ns
        stepped_back = now_ns < self._started_ns  # somebody set the clock
        self._started_ns = now_ns
        self.more = False
        for source in sources:
            before = len(arrivals)
            if source.receive(arrivals, self._budget) and len(arrivals) > before:
                self.more = True
                horizon_ns = min(horizon_ns, arrivals[-1][0])
        if not arrivals:
            return arrivals
        arrivals.sort(key=itemgetter(0))
        if not stepped_back and arrivals[-1][0] > horizon_ns:
            ready = [arrival for arrival in arrivals if arrival[0] <= horizon_ns]
            self._held = arrivals[len(ready) :]
            self.more = True
            return ready
        return arrivals
