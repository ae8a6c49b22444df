# SPDX-License-Identifier: Apache-2.0
"""Holds received frames back for a fixed time: the delay of a path, where links have none.

Interfaces of one machine pass frames on at once. A fabric described with long delays then has a
far shorter round trip than its windows and thresholds are made for; holding every frame at its
end, whatever it is and wherever it comes from, gives it the one that was described.
"""

from collections import deque
from collections.abc import Iterable

from endpoint.agent.arrivals import Arrival


class DelayLine:
    """Frames in order of arrival; each leaves `hold_ns` after it came."""

    def __init__(self, hold_ns: int) -> None:
        if hold_ns < 0:
            raise ValueError(f"hold: {hold_ns} ns is negative")
        self._hold_ns = hold_ns
        self._waiting: deque[Arrival] = deque()

    def add(self, arrivals: Iterable[Arrival]) -> None:
        """Frames that have come, in order."""
        hold_ns = self._hold_ns
        self._waiting.extend((stamp + hold_ns, port, frame) for stamp, port, frame in arrivals)

    def due(self, now_ns: int) -> list[Arrival]:
        """Frames whose time is up by `now_ns`, each with the time at which it was."""
        waiting = self._waiting
        found = []
        while waiting and waiting[0][0] <= now_ns:
            found.append(waiting.popleft())
        return found

    def wait_ns(self, now_ns: int) -> int | None:
        """How long until the next frame is due, None when none waits."""
        return max(0, self._waiting[0][0] - now_ns) if self._waiting else None
