# SPDX-License-Identifier: Apache-2.0
"""A direction of a link that delays, repeats and spoils frames, and shows them to a witness.

Only what runs over the wire is touched: a spoilt frame has one to three bits flipped anywhere
between its MAC addresses and its end, which every CRC-32 of this length finds where it covers
them, and which nothing finds in a trimmed header or in the outer header.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappush

from testbed.virtual.link import Direction
from testbed.virtual.loop import EventLoop

_MACS_BYTES = 12
Witness = Callable[[int, bytes], None]


class Disorder:
    """Stands between a direction and its receiver, from before the first frame on.

    ``late``, ``repeat`` and ``spoil`` are shares (0 to 1) of frames; ``late_ns`` is the longest
    extra delay, which lets later frames overtake. Counts are of frames.
    """

    def __init__(
        self, loop: EventLoop, direction: Direction, rng: random.Random, witness: Witness | None
    ) -> None:
        self.late = self.repeat = self.spoil = 0.0
        self.late_ns = 1
        self.delayed = self.repeated = self.spoilt = 0
        self._loop = loop
        self._rng = rng
        self._witness = witness
        self._receiver = direction.sink
        self._handed: Callable[[int, bytes], None] = self._hand
        direction.sink = direction.deliver = self._arrive

    @property
    def active(self) -> bool:
        """Whether anything is wrong now."""
        return bool(self.late or self.repeat or self.spoil)

    def begin(self, late: float, late_ns: int, repeat: float, spoil: float) -> None:
        """From now on these shares of frames are late by up to ``late_ns``, sent twice, spoilt."""
        self.late, self.late_ns, self.repeat, self.spoil = late, late_ns, repeat, spoil

    def end(self) -> None:
        """Frames pass unharmed again; what is delayed still comes."""
        self.late = self.repeat = self.spoil = 0.0

    def _arrive(self, now: int, frame: bytes) -> None:
        if self.active:
            rng = self._rng
            if rng.random() < self.repeat:
                self.repeated += 1
                self._later(now + rng.randrange(self.late_ns), frame)
            if rng.random() < self.spoil:
                self.spoilt += 1
                frame = self._flipped(frame)
            if rng.random() < self.late:
                self.delayed += 1
                self._later(now + 1 + rng.randrange(self.late_ns), frame)
                return
        self._hand(now, frame)

    def _later(self, at: int, frame: bytes) -> None:
        heappush(self._loop.heap, (at, next(self._loop.sequence), self._handed, frame))

    def _hand(self, now: int, frame: bytes) -> None:
        if self._witness is not None:
            self._witness(now, frame)
        self._receiver(now, frame)

    def _flipped(self, frame: bytes) -> bytes:
        out = bytearray(frame)
        for _ in range(self._rng.randint(1, 3)):
            out[self._rng.randrange(_MACS_BYTES, len(out))] ^= 1 << self._rng.randrange(8)
        return bytes(out)
