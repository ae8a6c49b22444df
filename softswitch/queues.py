# SPDX-License-Identifier: Apache-2.0
"""The traffic manager of one port, between ingress and egress.

Three queues: data (priority 0), trimmed (1), control (2). Time is passed in, in nanoseconds;
there is no clock here.

``mode="strict"``: one rate of the port. Control goes first; then trimmed, with at most a quarter
of the bytes while data waits; then data. Work-conserving.

``mode="bmv2"``: BMv2's rules (``QueueingLogicPriRL``). Each queue has a packet rate of its own
and there is none of the port. A packet's departure is fixed when it is queued: now, or the
previous departure plus the queue's interval, whichever is later. Of the packets that are due
the highest priority goes first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

DATA, TRIMMED, CONTROL = 0, 1, 2
CLASSES = 3
#: BMv2's default queue capacity in packets.
BMV2_CAPACITY = 64
#: Bytes of trimmed headers that may go at once after a time with data only.
TRIMMED_BURST = 1500
#: Data bytes that earn one trimmed byte: 3 to 1 is a quarter of the sum.
DATA_PER_TRIMMED = 3

MODES = ("strict", "bmv2")


class PortScheduler:
    """Queues of one port.

    rate_bps: bits per second of the port, strict mode; 0 means that ``dequeue`` never waits.
    capacities: packets that each class holds (data, trimmed, control).
    overhead_bytes: added to each packet's length when its time on the wire is computed.
    rates_pps: packets per second of each class, bmv2 mode; 0 is unlimited.
    stamp: write ``enq_us`` and ``enq_qdepth`` on packets (``Program.stamps_packets``).
    """

    __slots__ = (
        "_busy_ps",
        "_credit",
        "_intervals",
        "_last_departure",
        "_queues",
        "capacities",
        "dropped",
        "mode",
        "out_of_range",
        "overhead_bytes",
        "rate_bps",
        "stamp",
    )

    def __init__(
        self,
        rate_bps: int = 0,
        capacities: Sequence[int] = (BMV2_CAPACITY,) * CLASSES,
        *,
        mode: str = "strict",
        overhead_bytes: int = 0,
        rates_pps: Sequence[int] = (0,) * CLASSES,
        stamp: bool = False,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"queue mode {mode!r} is none of {', '.join(MODES)}")
        if len(capacities) != len(rates_pps):
            raise ValueError("capacities and rates_pps must have one value a class")
        if mode == "strict" and len(capacities) != CLASSES:
            raise ValueError(f"strict mode has {CLASSES} classes, not {len(capacities)}")
        self.rate_bps = rate_bps
        self.capacities = list(capacities)
        self.mode = mode
        self.overhead_bytes = overhead_bytes
        self.stamp = stamp
        self.dropped = [0] * len(capacities)
        self.out_of_range = 0
        self._queues: list[deque[Any]] = [deque() for _ in capacities]
        self._busy_ps = 0
        self._credit = TRIMMED_BURST * DATA_PER_TRIMMED
        self._intervals: list[int] | None = None
        self._last_departure = [-(1 << 62)] * len(capacities)
        if mode == "bmv2":
            self._intervals = [0] * len(capacities)
            for priority, pps in enumerate(rates_pps):
                self.set_rate(priority, pps)

    # -- both modes --------------------------------------------------------------------------

    def enqueue(self, priority: int, packet: Any, now_ns: int) -> bool:
        """False when the packet was dropped: its queue is full (``dropped[priority]``) or there
        is no such queue (``out_of_range``)."""
        if not 0 <= priority < len(self._queues):
            self.out_of_range += 1
            return False
        queue = self._queues[priority]
        depth = len(queue)
        if depth >= self.capacities[priority]:
            self.dropped[priority] += 1
            return False
        if self.stamp:
            packet.enq_us = now_ns // 1000
            packet.enq_qdepth = depth
        if self._intervals is None:
            queue.append(packet)
            return True
        departure = max(now_ns, self._last_departure[priority] + self._intervals[priority])
        self._last_departure[priority] = departure
        queue.append((departure, packet))
        return True

    def dequeue(self, now_ns: int) -> tuple[int, Any] | None:
        """The next packet and its priority, or None when nothing may leave yet."""
        if self._intervals is not None:
            return self._dequeue_by_rate(now_ns)
        if self.rate_bps and now_ns * 1000 < self._busy_ps:
            return None
        data, trimmed, control = self._queues
        if control:
            priority = CONTROL
            packet = control.popleft()
        elif trimmed and (not data or self._credit > 0):
            priority = TRIMMED
            packet = trimmed.popleft()
            if data:
                wire_bytes = packet.length + self.overhead_bytes
                self._credit -= wire_bytes * DATA_PER_TRIMMED
        elif data:
            priority = DATA
            packet = data.popleft()
            credit = self._credit + packet.length + self.overhead_bytes
            self._credit = min(credit, TRIMMED_BURST * DATA_PER_TRIMMED)
        else:
            return None
        if self.rate_bps:
            self._occupy(packet.length, now_ns)
        return priority, packet

    def next_dequeue_ns(self) -> int | None:
        """Earliest time at which ``dequeue`` may give a packet (a time in the past means now);
        None when all queues are empty."""
        if self._intervals is not None:
            return min((q[0][0] for q in self._queues if q), default=None)
        if not any(self._queues):
            return None
        return -(-self._busy_ps // 1000)

    def depth(self, priority: int) -> int:
        """Packets waiting in one class."""
        return len(self._queues[priority])

    def __len__(self) -> int:
        return sum(map(len, self._queues))

    def clear(self) -> list[Any]:
        """Empty all queues; returns what was in them, lowest priority first."""
        lost: list[Any] = []
        for queue in self._queues:
            lost += queue if self._intervals is None else [packet for _, packet in queue]
            queue.clear()
        return lost

    # -- strict mode -------------------------------------------------------------------------

    @property
    def busy_until_ns(self) -> int:
        """When the last dequeued packet will have left the port (strict mode with a rate)."""
        return -(-self._busy_ps // 1000)

    def _occupy(self, length: int, now_ns: int) -> None:
        # Called up to a nanosecond after the port fell free, since time comes in whole ones:
        # the next packet then starts at the exact time, or rates would be missed by the rounding.
        now_ps = now_ns * 1000
        start = self._busy_ps if now_ps - self._busy_ps < 1000 else now_ps
        bits = (length + self.overhead_bytes) * 8
        self._busy_ps = start + bits * 1_000_000_000_000 // self.rate_bps

    # -- bmv2 mode ---------------------------------------------------------------------------

    def set_rate(self, priority: int, pps: int) -> None:
        """Packets per second of one queue, 0 for no limit; packets that wait keep their time."""
        if self._intervals is None:
            raise ValueError("packet rates belong to bmv2 mode")
        self._intervals[priority] = 1_000_000_000 // pps if pps else 0

    def _dequeue_by_rate(self, now_ns: int) -> tuple[int, Any] | None:
        for priority in range(len(self._queues) - 1, -1, -1):
            queue = self._queues[priority]
            if queue and queue[0][0] <= now_ns:
                return priority, queue.popleft()[1]
        return None
