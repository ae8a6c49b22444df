# SPDX-License-Identifier: Apache-2.0
"""Acknowledge extended transport header, 4 bytes (InfiniBand 9.3.5).

====== ===== =========
offset bytes field
====== ===== =========
0      1     syndrome
1      3     MSN
====== ===== =========
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.fields import Buffer, check_unsigned, unpack_header

SYNDROME_ACK: Final = 0x1F
"""Positive acknowledgement without end-to-end credits (InfiniBand table 45)."""
SYNDROME_REMOTE_ACCESS_ERROR: Final = 0x62

_LAYOUT: Final = Struct("!I")
SIZE: Final = _LAYOUT.size


class Aeth(NamedTuple):
    """Transport acknowledgement: 8-bit syndrome, 24-bit message sequence number."""

    syndrome: int
    msn: int

    def pack(self) -> bytes:
        """The 4 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            check_unsigned("aeth.syndrome", self.syndrome, 8) << 24
            | check_unsigned("aeth.msn", self.msn, 24)
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Aeth:
        """Read a header at ``offset``; FrameError when the buffer is too short."""
        (word,) = unpack_header(_LAYOUT, buffer, offset, "aeth")
        return cls(word >> 24, word & 0xFFFFFF)
