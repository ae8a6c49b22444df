# SPDX-License-Identifier: Apache-2.0
"""Which paths data packets took, and when the last one did: how long a dead path stays in use."""

from collections.abc import Iterable

_FLOW_LABEL = slice(56, 58)  # low half, of the inner IPv6 header
_SOURCE_PORT = slice(94, 96)  # of UDP


class PathUse:
    """By EV. Reads it from the frames that the engine builds (no SRH): UDP source port, then the
    low half of the inner flow label."""

    def __init__(self) -> None:
        self._used: dict[bytes, list[int]] = {}

    def sent(self, frame: bytes, now_ns: int) -> None:
        """A data frame goes out."""
        ev = frame[_SOURCE_PORT] + frame[_FLOW_LABEL]
        used = self._used.get(ev)
        if used is None:
            self._used[ev] = [1, now_ns]
        else:
            used[0] += 1
            used[1] = now_ns

    def of(self, ev: int) -> tuple[int, int]:
        """Data packets sent on an EV, and the time of the last (0 when there was none)."""
        packets, last_ns = self._used.get(ev.to_bytes(4, "big"), (0, 0))
        return packets, last_ns

    def forget(self, evs: Iterable[int]) -> None:
        """These EVs are no longer used."""
        for ev in evs:
            self._used.pop(ev.to_bytes(4, "big"), None)
