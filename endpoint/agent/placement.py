# SPDX-License-Identifier: Apache-2.0
"""When payload reached memory, by queue pair: what an application would see of a fault.

Looked at after each batch of received frames, so times are as exact as a batch is short.
"""

from heapq import heappushpop

from endpoint.agent.values import Gap, Placement
from endpoint.nic import Nic

GAPS_KEPT = 16


class _Track:
    __slots__ = ("first_ns", "gaps", "last_ns", "placed")

    def __init__(self) -> None:
        self.placed = 0
        self.first_ns = 0
        self.last_ns = 0
        self.gaps = [(0, 0)] * GAPS_KEPT  # a heap of (length, begin)

    def advance(self, placed: int, now_ns: int) -> None:
        if self.placed:
            heappushpop(self.gaps, (now_ns - self.last_ns, self.last_ns))
        else:
            self.first_ns = now_ns
        self.placed = placed
        self.last_ns = now_ns


class PlacementClock:
    """Placements of all queue pairs of one NIC."""

    def __init__(self, nic: Nic) -> None:
        self._nic = nic
        self._tracks: dict[int, _Track] = {}

    def look(self, now_ns: int) -> None:
        """Frames were received: notes which queue pairs placed something."""
        tracks = self._tracks
        for qp in self._nic.queue_pairs():
            placed = qp.stats.data_bytes_received
            if placed:
                track = tracks.get(qp.qpn)
                if track is None:
                    track = tracks[qp.qpn] = _Track()
                if track.placed != placed:
                    track.advance(placed, now_ns)

    def forget(self, qpn: int) -> None:
        """The queue pair is gone."""
        self._tracks.pop(qpn, None)

    def of(self, qpn: int) -> Placement:
        """What is known of a queue pair; the longest gaps first."""
        track = self._tracks.get(qpn)
        if track is None:
            return Placement()
        longest = sorted((gap for gap in track.gaps if gap[0]), key=lambda gap: (-gap[0], gap[1]))
        return Placement(
            track.placed,
            track.first_ns,
            track.last_ns,
            tuple(Gap(begin, length) for length, begin in longest),
        )
