# SPDX-License-Identifier: Apache-2.0
"""Timestamp extended transport header, 4 bytes, present when BTH.TS is set (OCP MRC 1.0).

====== ===== ==================================================
offset bytes field
====== ===== ==================================================
0      2     transmit timestamp in ticks of 128 ns (wraps after 8.39 ms)
2      2     tsr (15) · reserved (14:4) · type (3:0) = 1
====== ===== ==================================================

PETH and ERTH end in the same four bytes.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.errors import FrameError
from endpoint.wire.fields import Buffer, check_unsigned, unpack_header

TYPE: Final = 1
TICK_NS: Final = 128

_LAYOUT: Final = Struct("!HH")
SIZE: Final = _LAYOUT.size


def ticks(time_ns: int) -> int:
    """The 16-bit timestamp of a time in nanoseconds (>= 0)."""
    return time_ns // TICK_NS & 0xFFFF


class Tseth(NamedTuple):
    """One timestamp, 0..65,535 ticks of 128 ns."""

    tx_timestamp: int
    tsr: bool = False

    def pack(self) -> bytes:
        """The 4 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            check_unsigned("tseth.tx_timestamp", self.tx_timestamp, 16), self.tsr << 15 | TYPE
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Tseth:
        """Read a header at ``offset``; FrameError when too short or not of type 1."""
        timestamp, word = unpack_header(_LAYOUT, buffer, offset, "tseth")
        check_type("tseth.type", word)
        return cls(timestamp, bool(word >> 15))


def check_type(field: str, word: int) -> None:
    """FrameError naming ``field`` unless the low four bits of ``word`` are type 1."""
    if word & 0x0F != TYPE:
        raise FrameError(field, f"is {word & 0x0F}, not {TYPE}")
