# SPDX-License-Identifier: Apache-2.0
"""The earliest timer over all queue pairs of a NIC, without asking all of them.

A timer moves with almost every packet, nearly always later. So a heap entry is a time not later
than the real one, and is corrected when it comes to the top.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush, heapreplace

from endpoint.queue_pair import QueuePair

_FEW = 16
"""Outdated heap entries that are not worth clearing out."""


class QpTimers:
    """`owners` is the live table of queue pairs by number; ones that left it are forgotten."""

    def __init__(self, owners: Mapping[int, QueuePair]) -> None:
        self._owners = owners
        self._heap: list[tuple[int, int]] = []
        self._entry: dict[int, int] = {}  # QPN -> time of its one entry that counts
        self._due: dict[int, int | None] = {}
        self._changed: dict[int, None] = {}  # a set that keeps its order

    def changed(self, qpn: int) -> None:
        """The timer of a queue pair may have moved."""
        self._changed[qpn] = None

    def next_ns(self) -> int | None:
        """The earliest time at which any queue pair wants to be called."""
        self._look_again()
        heap, entry = self._heap, self._entry
        while heap:
            time_ns, qpn = heap[0]
            if entry.get(qpn) != time_ns:
                heappop(heap)
                continue
            due = self._due.get(qpn)
            if due is None or qpn not in self._owners:
                heappop(heap)
                del entry[qpn]
            elif due > time_ns:
                heapreplace(heap, (due, qpn))
                entry[qpn] = due
            else:
                return time_ns
        return None

    def _look_again(self) -> None:
        for qpn in self._changed:
            owner = self._owners.get(qpn)
            if owner is None:
                self._due.pop(qpn, None)
                continue
            due = self._due[qpn] = owner.next_timer_ns()
            armed = self._entry.get(qpn)
            if due is not None and (armed is None or due < armed):
                self._entry[qpn] = due
                heappush(self._heap, (due, qpn))
        self._changed.clear()
        if len(self._heap) > 2 * len(self._entry) + _FEW:
            self._heap = sorted((due, qpn) for qpn, due in self._entry.items())

    def due(self, now_ns: int) -> list[QueuePair]:
        """The queue pairs to be called now; each must be reported as changed afterwards."""
        called: list[QueuePair] = []
        while (time_ns := self.next_ns()) is not None and time_ns <= now_ns:
            _, qpn = heappop(self._heap)
            del self._entry[qpn]
            called.append(self._owners[qpn])
        return called
