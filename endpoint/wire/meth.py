# SPDX-License-Identifier: Apache-2.0
"""MRC extended transport header, 4 bytes, in every request packet (OCP MRC 1.0).

====== ===== ===============================================================
offset bytes field
====== ===== ===============================================================
0      2     RQMSN: counts the messages that consume a receive (WRITE_IMM only)
2      2     MSN: counts all messages
====== ===== ===============================================================
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.fields import Buffer, check_unsigned, unpack_header

_LAYOUT: Final = Struct("!HH")
SIZE: Final = _LAYOUT.size


class Meth(NamedTuple):
    """Message sequence numbers of a request packet, both modulo 65,536."""

    rqmsn: int
    msn: int

    def pack(self) -> bytes:
        """The 4 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            check_unsigned("meth.rqmsn", self.rqmsn, 16), check_unsigned("meth.msn", self.msn, 16)
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Meth:
        """Read a header at ``offset``; FrameError when the buffer is too short."""
        return cls._make(unpack_header(_LAYOUT, buffer, offset, "meth"))
