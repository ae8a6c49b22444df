# SPDX-License-Identifier: Apache-2.0
"""Senders that share one queue, and nothing else: the smallest network for a control law."""

from __future__ import annotations

import random
from dataclasses import dataclass
from heapq import heappop, heappush

from endpoint.congestion import CongestionControl

PACKET = 4_188
RATE_BPS = 100_000_000_000
SERVICE_NS = PACKET * 8 * 1_000_000_000 // RATE_BPS


@dataclass
class Sender:
    """Always has something to send; `base_ns` is its round trip without queue."""

    control: CongestionControl
    base_ns: int
    inflight: int = 0
    delivered: int = 0
    trimmed: int = 0


class Bottleneck:
    """A queue of `trim_at` packets that marks from `mark_from` to `mark_all`, or never."""

    def __init__(
        self,
        senders: list[Sender],
        trim_at: int = 24,
        marks: tuple[int, int] | None = None,
        seed: int = 1,
    ) -> None:
        self.senders = senders
        self.trim_at = trim_at
        self.marks = marks
        self.now = 0
        self.depths: list[int] = []
        self._rng = random.Random(seed)
        self._free_ns = 0
        self._count = 0
        self._news: list[tuple[int, int, Sender, int, bool, bool]] = []

    def run(self, until_ns: int) -> None:
        """Runs on until a time; what was delivered before is forgotten, the queue is not."""
        self.depths.clear()
        for sender in self.senders:
            sender.delivered = sender.trimmed = 0
        self._send_all()
        while self._news[0][0] <= until_ns:
            self.now, _, sender, rtt, marked, cut = heappop(self._news)
            sender.inflight -= PACKET
            if cut:
                sender.trimmed += 1
                sender.control.on_nack(self.now, PACKET, True, sender.inflight)
            else:
                sender.delivered += PACKET
                sender.control.on_ack(
                    self.now, PACKET, PACKET, rtt, marked, 0, False, sender.inflight
                )
            self._send_all()

    def _send_all(self) -> None:
        for sender in self.senders:
            while sender.control.can_send(sender.inflight, PACKET):
                sender.inflight += PACKET
                self._queue(sender)

    def _queue(self, sender: Sender) -> None:
        wait = max(0, self._free_ns - self.now)
        depth = wait // SERVICE_NS
        self.depths.append(depth)
        self._count += 1
        cut = depth >= self.trim_at
        rtt = sender.base_ns
        if not cut:
            self._free_ns = self.now + wait + SERVICE_NS
            rtt += wait
        item = (self.now + rtt, self._count, sender, rtt, self._marked(depth), cut)
        heappush(self._news, item)

    def _marked(self, depth: int) -> bool:
        if self.marks is None:
            return False
        low, high = self.marks
        return self._rng.random() < (depth - low) / (high - low)

    # -- what came out ----------------------------------------------------------------------

    def utilisation(self, elapsed_ns: int) -> float:
        """Delivered, as a share of what the queue can send in that time."""
        return sum(s.delivered for s in self.senders) * 8e9 / RATE_BPS / elapsed_ns

    def depth_p99(self) -> int:
        """Packets that 99 % of arrivals found waiting, at most."""
        return sorted(self.depths)[len(self.depths) * 99 // 100]
