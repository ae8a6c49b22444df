# SPDX-License-Identifier: Apache-2.0
"""Reliability Probes: when an EV is due for one, and which are on their way.

A probe takes no PSN and no window. Its id (16 bits) returns in the ack_psn_offset field of each
SACK that answers it, and there may be several: one for every 64 PSNs outstanding (SPEC).
"""

import heapq
import random
from collections import deque
from enum import Enum

from endpoint.serial import ID_MASK

PROBE_INTERVAL_RTTS = 4
"""One probe an EV in ASSUMED_BAD every 4 smoothed round trips (protocol decision)."""


class ProbeSchedule:
    """The EVs to be probed, each every 4 smoothed round trips.

    The round trip is the newest one passed in, so a time since the last probe is kept for each
    EV, not a time of the next one. Work is logarithmic in the EVs due.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int]] = []
        self._entry: dict[int, tuple[int, int, int]] = {}
        self._added = 0
        self._interval_ns = 0

    def __contains__(self, ev: int) -> bool:
        return ev in self._entry

    def __len__(self) -> int:
        return len(self._entry)

    def add(self, ev: int, now_ns: int) -> None:
        """First probe one interval after ``now_ns``; an EV already there starts anew."""
        self._push(ev, now_ns)

    def add_spread(self, evs: list[int], now_ns: int) -> None:
        """First probes spread evenly over the coming interval, in the order given: a port that
        comes up must not meet a burst of probes."""
        for k, ev in enumerate(evs):
            self._push(ev, now_ns - self._interval_ns * (len(evs) - 1 - k) // len(evs))

    def remove(self, ev: int) -> None:
        """No more probes of an EV, if it was there."""
        self._entry.pop(ev, None)

    def pace(self, srtt_ns: int) -> None:
        """The newest round trip, for what is added before ``due`` is called next."""
        self._interval_ns = PROBE_INTERVAL_RTTS * max(1, srtt_ns)

    def due(self, now_ns: int, srtt_ns: int) -> list[int]:
        """The EVs to probe now; they count as probed."""
        self.pace(srtt_ns)
        if not self._entry:
            return []
        evs = []
        until = now_ns - self._interval_ns
        while self._purged() and self._heap[0][0] <= until:
            evs.append(heapq.heappop(self._heap)[2])
        for ev in evs:
            self._push(ev, now_ns)
        return evs

    def next_ns(self) -> int | None:
        """When the next probe is due by the last round trip passed to ``due``."""
        return self._heap[0][0] + self._interval_ns if self._purged() else None

    def _push(self, ev: int, since_ns: int) -> None:
        self._added += 1
        entry = (since_ns, self._added, ev)
        self._entry[ev] = entry
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._entry) + 16:
            self._heap = sorted(self._entry.values())

    def _purged(self) -> bool:
        """Drops outdated entries from the top; whether one is left."""
        heap = self._heap
        while heap and self._entry.get(heap[0][2]) is not heap[0]:
            heapq.heappop(heap)
        return bool(heap)


class ProbePurpose(Enum):
    """Why a probe was sent."""

    HEALTH = "health"
    """Whether an EV in ASSUMED_BAD works again."""
    COVER = "cover"
    """What became of a PSN that no SACK covers, asked by another plane. Losing such a probe says
    nothing about the health of its EV."""


class Probe:
    """A probe on its way, or answered not long ago. ``order`` is its place among all sendings.

    ``late``: its time-out has passed. Its answer says nothing about its path then, but how long
    it took tells that the time-out was too short.
    """

    __slots__ = ("answered", "ev", "late", "order", "probe_id", "purpose", "sent_ns")

    def __init__(
        self, probe_id: int, ev: int, sent_ns: int, purpose: ProbePurpose, order: int
    ) -> None:
        self.probe_id = probe_id
        self.ev = ev
        self.sent_ns = sent_ns
        self.purpose = purpose
        self.order = order
        self.answered = False
        self.late = False


class ProbeBook:
    """Ids of probes, and the probes sent less than a time-out ago (at most ``limit``, 1..32,768).

    A probe stays for its time-out after it was answered, because the later ones of its several
    SACKs need its send time too. ``limit`` bounds the memory; the oldest expires early. Of those
    that were not answered in time, the last ``limit`` are remembered as late.
    """

    def __init__(self, rng: random.Random, limit: int = 4096) -> None:
        if not 1 <= limit <= 1 << 15:
            raise ValueError(f"ProbeBook: limit must be 1..32768, got {limit}")
        self._next_id = rng.getrandbits(16)
        self._limit = limit
        self._probes: dict[int, Probe] = {}
        self._order: deque[Probe] = deque()
        self._early: deque[Probe] = deque(maxlen=limit)
        self._late: deque[Probe] = deque()

    def __len__(self) -> int:
        return len(self._order)

    def send(
        self, ev: int, now_ns: int, purpose: ProbePurpose = ProbePurpose.HEALTH, order: int = 0
    ) -> int:
        """Notes a probe sent on ``ev``; its id."""
        if len(self._order) >= self._limit:
            oldest = self._pop()
            if not oldest.answered:
                self._early.append(oldest)
        probe = Probe(self._next_id, ev, now_ns, purpose, order)
        self._next_id = self._next_id + 1 & ID_MASK
        self._probes[probe.probe_id] = probe
        self._order.append(probe)
        return probe.probe_id

    def answer(self, probe_id: int) -> tuple[Probe, bool] | None:
        """The probe that a SACK with pr = 1 names, and whether this is its first answer.

        None for an id that is unknown.
        """
        probe = self._probes.get(probe_id)
        if probe is None:
            return None
        first = not probe.answered
        probe.answered = True
        return probe, first

    def expire(self, now_ns: int, timeout_ns: int) -> list[Probe]:
        """Forgets probes sent ``timeout_ns`` ago or earlier; those never answered, oldest first."""
        lost = list(self._early)
        self._early.clear()
        until = now_ns - timeout_ns
        while self._order and self._order[0].sent_ns <= until:
            probe = self._pop()
            if not probe.answered:
                lost.append(probe)
        return lost

    def next_timer_ns(self, timeout_ns: int) -> int | None:
        """When ``expire`` has something to do."""
        return self._order[0].sent_ns + timeout_ns if self._order else None

    def _pop(self) -> Probe:
        probe = self._order.popleft()
        if probe.answered:
            self._forget(probe)
        else:
            probe.late = True
            self._late.append(probe)
            if len(self._late) > self._limit:
                self._forget(self._late.popleft())
        return probe

    def _forget(self, probe: Probe) -> None:
        if self._probes.get(probe.probe_id) is probe:  # its id may have come round
            del self._probes[probe.probe_id]
