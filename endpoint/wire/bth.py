# SPDX-License-Identifier: Apache-2.0
"""Base transport header, 12 bytes (InfiniBand specification 9.2; byte 8 as OCP MRC 1.0).

====== ===== =======================================================================
offset bytes field
====== ===== =======================================================================
0      1     opcode
1      1     SE solicited event (7) · M migration (6) · pad count (5:4) · version (3:0)
             (decision: InfiniBand's bit order)
2      2     partition key
4      1     reserved (ones when the ICRC is computed)
5      3     destination QP
8      1     A ack request (7) · R (6) · RTX retransmission (5) · TS: TSETH follows (4) ·
             reserved (3:0)
9      3     PSN
====== ===== =======================================================================
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.errors import FrameError
from endpoint.wire.fields import Buffer, check_unsigned, unpack_header

FLAG_ACK_REQUEST: Final = 0x80
FLAG_R: Final = 0x40
FLAG_RTX: Final = 0x20
FLAG_TS: Final = 0x10

DEFAULT_PKEY: Final = 0xFFFF
VERSION: Final = 0

_LAYOUT: Final = Struct("!BBHII")
SIZE: Final = _LAYOUT.size


class Bth(NamedTuple):
    """One base transport header. ``pad_count`` (0..3) bytes stand between payload and ICRC."""

    opcode: int
    dest_qp: int
    psn: int
    ack_request: bool = False
    rtx: bool = False
    ts: bool = False
    r: bool = False
    pad_count: int = 0
    solicited: bool = False
    migration: bool = False
    pkey: int = DEFAULT_PKEY

    def pack(self) -> bytes:
        """The 12 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            check_unsigned("bth.opcode", self.opcode, 8),
            self.solicited << 7
            | self.migration << 6
            | check_unsigned("bth.pad_count", self.pad_count, 2) << 4
            | VERSION,
            check_unsigned("bth.pkey", self.pkey, 16),
            check_unsigned("bth.dest_qp", self.dest_qp, 24),
            self.ack_request << 31
            | self.r << 30
            | self.rtx << 29
            | self.ts << 28
            | check_unsigned("bth.psn", self.psn, 24),
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Bth:
        """Read a header at ``offset``; FrameError when too short or of another version."""
        opcode, bits, pkey, qp, word = unpack_header(_LAYOUT, buffer, offset, "bth")
        if bits & 0x0F != VERSION:
            raise FrameError("bth.version", f"is {bits & 0x0F}, not {VERSION}")
        return cls(
            opcode=opcode,
            dest_qp=qp & 0xFFFFFF,
            psn=word & 0xFFFFFF,
            ack_request=bool(word >> 31),
            r=bool(word >> 30 & 1),
            rtx=bool(word >> 29 & 1),
            ts=bool(word >> 28 & 1),
            pad_count=bits >> 4 & 3,
            solicited=bool(bits >> 7),
            migration=bool(bits >> 6 & 1),
            pkey=pkey,
        )
