# SPDX-License-Identifier: Apache-2.0
"""One direction of a link: rate, delay, and what breaks it.

A healthy direction costs nothing: the sender schedules the receiver's own method. Only while
something is wrong with it (or it is captured) does a frame pass through `Direction` at its
arrival, which decides whether it gets there. Frames in flight when a direction dies are lost too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from testbed.losses import Losses
from testbed.virtual.loop import Call, EventLoop
from topologies.timing import ETHERNET_OVERHEAD_BYTES

DEAD = 1.0


class Condition:
    """What is wrong with a direction: each frame (of one address, if given) lost with a share."""

    __slots__ = ("address", "cause", "occurrence", "share")

    def __init__(
        self, occurrence: int, cause: str, share: float = DEAD, address: bytes | None = None
    ) -> None:
        self.occurrence = occurrence
        self.cause = cause
        self.share = share
        self.address = address


class Direction:
    """From one port to the port at the other end.

    ``deliver`` is what a sender schedules for the arrival of a frame. The time on the wire of a
    frame of n bytes is ``(n + 24) × ns_per_byte`` with the fraction carried over, so that no rate
    is rounded: a sender keeps the remainder (`serialise` shows how).
    """

    __slots__ = (
        "_arrival",
        "_conditions",
        "_loop",
        "_losses",
        "_rng",
        "_tap",
        "delay_ns",
        "deliver",
        "denominator",
        "name",
        "numerator",
        "place",
        "sink",
    )

    def __init__(
        self,
        loop: EventLoop,
        name: str,
        place: str,
        *,
        rate_bps: int,
        delay_ns: int,
        sink: Call,
        losses: Losses,
        rng: random.Random,
    ) -> None:
        ns_per_byte = Fraction(8_000_000_000, rate_bps)
        self.numerator = ns_per_byte.numerator
        self.denominator = ns_per_byte.denominator
        self.delay_ns = delay_ns
        self.name = name
        self.place = place
        self.sink = sink
        self.deliver = sink
        self._loop = loop
        self._losses = losses
        self._rng = rng
        self._tap: Callable[[int, bytes], None] | None = None
        self._conditions: list[Condition] = []
        # A bound method is a new object each time it is asked for; `redirect` compares identity.
        self._arrival: Call = self._arrive

    def serialise(self, length: int, remainder: int) -> tuple[int, int]:
        """Nanoseconds on the wire of a frame of ``length`` bytes, and the remainder to carry."""
        return divmod(
            (length + ETHERNET_OVERHEAD_BYTES) * self.numerator + remainder, self.denominator
        )

    @property
    def dead(self) -> bool:
        """Whether nothing at all gets across."""
        return any(c.share >= DEAD and c.address is None for c in self._conditions)

    def add(self, condition: Condition) -> None:
        """Break it. Frames in flight meet the condition too."""
        self._conditions.append(condition)
        self._rewire()

    def remove(self, occurrence: int) -> None:
        """Mend what one occurrence broke. What is in flight now was sent into it, and is lost."""
        gone = [c for c in self._conditions if c.occurrence == occurrence]
        if not gone:
            return
        if any(c.share >= DEAD and c.address is None for c in gone):
            condition = gone[0]
            self._loop.redirect(self._arrival, lambda now, frame: self._lose(now, frame, condition))
        self._conditions = [c for c in self._conditions if c.occurrence != occurrence]
        self._rewire()

    def tap(self, write: Callable[[int, bytes], None]) -> None:
        """Show every frame that is sent to ``write(time_ns, frame)``, lost ones included."""
        self._tap = write
        self._rewire()

    def _rewire(self) -> None:
        wanted = self._arrival if self._conditions or self._tap else self.sink
        self._loop.redirect(self.deliver, wanted)
        self.deliver = wanted

    def _arrive(self, now: int, frame: bytes) -> None:
        if self._tap is not None:
            self._tap(now - self.delay_ns, frame)
        for condition in self._conditions:
            address = condition.address
            if address is not None and frame[38:54] != address:
                continue
            if condition.share >= DEAD or self._rng.random() < condition.share:
                self._lose(now, frame, condition)
                return
            self._losses.passed(now - self.delay_ns, frame, condition.occurrence)
        self.sink(now, frame)

    def _lose(self, now: int, frame: bytes, condition: Condition) -> None:
        self._losses.lost(
            now - self.delay_ns, frame, self.place, condition.cause, condition.occurrence
        )
