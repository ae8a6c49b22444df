# SPDX-License-Identifier: Apache-2.0
"""RDMA extended transport header, 16 bytes, and immediate data, 4 bytes.

RETH (InfiniBand 9.3.3; OCP MRC 1.0 puts it into *every* data packet):

====== ===== =================================================================
offset bytes field
====== ===== =================================================================
0      8     virtual address of this packet's first byte
8      4     rkey
12     4     length: this packet's payload bytes (decision: so a trimmed header
             still says what was lost)
====== ===== =================================================================

ImmDt (InfiniBand 9.3.6) is one 32-bit value, delivered to the consumer as it is.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.fields import Buffer, check_unsigned, unpack_header

_LAYOUT: Final = Struct("!QII")
SIZE: Final = _LAYOUT.size
_IMMDT: Final = Struct("!I")
IMMDT_SIZE: Final = _IMMDT.size


class Reth(NamedTuple):
    """Where in the peer's memory a packet's payload goes."""

    va: int
    rkey: int
    length: int

    def pack(self) -> bytes:
        """The 16 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            check_unsigned("reth.va", self.va, 64),
            check_unsigned("reth.rkey", self.rkey, 32),
            check_unsigned("reth.length", self.length, 32),
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Reth:
        """Read a header at ``offset``; FrameError when the buffer is too short."""
        return cls._make(unpack_header(_LAYOUT, buffer, offset, "reth"))


class ImmDt(NamedTuple):
    """Immediate data, 32 bits."""

    imm: int

    def pack(self) -> bytes:
        """The 4 bytes; FieldError when the value does not fit."""
        return _IMMDT.pack(check_unsigned("immdt.imm", self.imm, 32))

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> ImmDt:
        """Read the value at ``offset``; FrameError when the buffer is too short."""
        return cls._make(unpack_header(_IMMDT, buffer, offset, "immdt"))
