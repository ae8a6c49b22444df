# SPDX-License-Identifier: Apache-2.0
"""How fast a port may send: a bit rate, a rate of data frames, or both.

Switches in software collapse when they are flooded, so senders keep to the rate of the link. A
port's credit grows with time up to a burst, since a process cannot wake up for every frame.
"""

from topologies.timing import link_bytes

_SECOND_NS = 1_000_000_000
_WAKE_NS = 200_000
"""How often a port should need to be woken at most, about."""
_LEAST_BURST, _MOST_BURST = 4, 64


class Meter:
    """Time on an imagined wire that is `burst` frames ahead of the real one.

    `frame_ns`: what one full frame takes. The generic cell rate algorithm (ITU-T I.371).
    """

    __slots__ = ("_ahead_ns", "_free_ns", "frame_ns")

    def __init__(self, frame_ns: int, burst: int) -> None:
        self.frame_ns = frame_ns
        self._ahead_ns = (burst - 1) * frame_ns
        self._free_ns = 0

    def room(self, now_ns: int) -> int:
        """Full frames that may go now."""
        ahead = self._ahead_ns
        if self._free_ns > now_ns:
            ahead -= self._free_ns - now_ns
        return 0 if ahead < 0 else ahead // self.frame_ns + 1

    def take(self, duration_ns: int, now_ns: int) -> None:
        """A frame of that duration goes now, whether there is room or not."""
        self._free_ns = max(self._free_ns, now_ns) + duration_ns

    def when(self, frames: int) -> int:
        """When there will be room for so many full frames (at most the burst)."""
        return self._free_ns - self._ahead_ns + (frames - 1) * self.frame_ns


class Pacer:
    """Pace of one port.

    `rate_bps`: bits per second on the link, framing overhead counted, of all frames. `rate_fps`:
    data frames per second; control frames are not counted, as they have a queue of their own in
    switches that limit frames and not bits. 0 is no limit. `frame_bytes`: a full data frame.
    `burst`: most frames at once (None: 200 µs' worth, 4 to 64).
    """

    def __init__(
        self, rate_bps: int, rate_fps: int, frame_bytes: int, burst: int | None = None
    ) -> None:
        if rate_bps < 0 or rate_fps < 0:
            raise ValueError(f"pace: {rate_bps} bit/s or {rate_fps} frames/s is negative")
        if burst is not None and burst < 1:
            raise ValueError(f"pace: a burst of {burst} frames is less than one")
        self.rate_bps = rate_bps
        self.rate_fps = rate_fps
        frame_bits = 8 * link_bytes(frame_bytes)
        by_bits = max(1, frame_bits * _SECOND_NS // rate_bps) if rate_bps else 0
        by_frames = max(1, _SECOND_NS // rate_fps) if rate_fps else 0
        slowest = max(by_bits, by_frames)
        if burst is None:
            wanted = _WAKE_NS // slowest if slowest else _MOST_BURST
            burst = min(_MOST_BURST, max(_LEAST_BURST, wanted))
        self.burst = burst
        self.refill = max(1, burst // 2)
        """Frames that a waiting port should have room for before it is worth waking up."""
        self._bits = Meter(by_bits, burst) if by_bits else None
        self._frames = Meter(by_frames, burst) if by_frames else None

    def room(self, now_ns: int) -> int:
        """Data frames that may go now, at most the burst."""
        room = self.burst
        if self._bits is not None:
            room = self._bits.room(now_ns)
        if self._frames is not None:
            room = min(room, self._frames.room(now_ns))
        return room

    def sent(self, length: int, urgent: bool, now_ns: int) -> None:
        """A frame of `length` bytes was sent; `urgent` for control."""
        if self._bits is not None:
            bits = 8 * link_bytes(length)
            self._bits.take(bits * _SECOND_NS // self.rate_bps, now_ns)
        if self._frames is not None and not urgent:
            self._frames.take(self._frames.frame_ns, now_ns)

    def ready_ns(self) -> int:
        """When a port without room should be asked again."""
        times = [m.when(self.refill) for m in (self._bits, self._frames) if m is not None]
        return max(times, default=0)
