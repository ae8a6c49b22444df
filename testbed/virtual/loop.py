# SPDX-License-Identifier: Apache-2.0
"""The event loop of the virtual world: integer nanoseconds, first come first served in a tie."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

Call = Callable[[int, Any], None]
"""An event: called with the time and the one argument it was scheduled with."""

Entry = tuple[int, int, Call, Any]


class EventLoop:
    """Events in order of time; equal times in the order in which they were scheduled.

    The heap and the sequence are open to the parts that carry packets: they push
    ``(time_ns, next(sequence), call, argument)`` themselves, which saves a call an event.
    """

    __slots__ = ("events", "heap", "now", "sequence")

    def __init__(self) -> None:
        self.now = 0
        self.heap: list[Entry] = []
        self.sequence = count()
        self.events = 0

    def at(self, time_ns: int, call: Call, argument: Any = None) -> None:
        """Schedule an event; one in the past would break causality and is refused."""
        if time_ns < self.now:
            raise ValueError(f"an event at {time_ns} ns, but it is {self.now} ns already")
        heappush(self.heap, (time_ns, next(self.sequence), call, argument))

    def run(self, until_ns: int) -> None:
        """Run every event up to and including ``until_ns``; then it is ``until_ns``."""
        heap = self.heap
        done = 0
        while heap and heap[0][0] <= until_ns:
            time_ns, _, call, argument = heappop(heap)
            self.now = time_ns
            call(time_ns, argument)
            done += 1
        self.events += done
        self.now = until_ns

    def redirect(self, old: Call, new: Call) -> int:
        """Let pending events that would call ``old`` call ``new``; returns how many there were.

        Time and sequence stay, so the heap's order is untouched.
        """
        heap = self.heap
        found = 0
        for i, (time_ns, sequence, call, argument) in enumerate(heap):
            if call is old:
                heap[i] = (time_ns, sequence, new, argument)
                found += 1
        return found
