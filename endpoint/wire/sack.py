# SPDX-License-Identifier: Apache-2.0
"""Reliability SACK: SETH 28 bytes and CC_STATE 8 bytes (OCP MRC 1.0).

SETH:

====== ===== ========================================================================
offset bytes field
====== ===== ========================================================================
0      2     type (15:12) = 0 · next (11:7) · m (6:5) · reserved (4:2) · pr (1) · reserved (0)
2      2     ack_psn_offset, signed: the PSN that caused this SACK, from cack_psn;
             the probe id instead when pr = 1
4      4     echoed EV
8      2     spdcid
10     2     dpdcid
12     1     reserved
13     3     cack_psn: everything up to and including it has arrived
16     1     cc_type (7:4) · cc_flags (3:0)
17     1     MPR in units of 128 PSNs
18     2     sack_offset, signed: bitmap base = cack_psn + sack_offset
20     8     bitmap, least significant bit = base
====== ===== ========================================================================

CC_STATE, from byte 28:

====== ===== ========================================================================
28     2     reflected transmit timestamp
30     2     reserved (15) · ooo_count (14:0)
32     4     restore_cwnd (31) · rcv_cwnd_pen (30:24) · rcvd_bytes (23:0) in units of 256 B
====== ===== ========================================================================
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.errors import FieldError, FrameError
from endpoint.wire.fields import Buffer, check_signed, check_unsigned, unpack_header

MARK_NONE: Final = 0
MARK_SKIP_ONCE: Final = 1
"""The packet arrived with a congestion mark."""
MARK_ALWAYS_SKIP: Final = 2

BITMAP_BITS: Final = 64
MPR_UNIT_PSNS: Final = 128
RCVD_UNIT_BYTES: Final = 256

_TYPE: Final = 0
_LAYOUT: Final = Struct("!HHIHHIBBhQHHI")
SIZE: Final = _LAYOUT.size


def rcvd_units(byte_count: int) -> int:
    """``rcvd_bytes`` field of a count of bytes: units of 256 B, rounded up, modulo 2**24."""
    return -(-byte_count // RCVD_UNIT_BYTES) & 0xFFFFFF


class Sack(NamedTuple):
    """One selective acknowledgement with its congestion state.

    A SACK that answers a probe has ``probe_id`` (0..65,535) and no ``ack_psn_offset``; any other
    has ``probe_id`` None. A bit clear in ``bitmap`` means "not known", not "lost".
    """

    cack_psn: int
    ev: int
    ack_psn_offset: int = 0
    sack_offset: int = 1
    bitmap: int = 0
    mark: int = MARK_NONE
    probe_id: int | None = None
    mpr_units: int = 8
    tx_timestamp: int = 0
    ooo_count: int = 0
    rcvd_units: int = 0
    rcv_cwnd_pen: int = 0
    restore_cwnd: bool = False
    spdcid: int = 0
    dpdcid: int = 0
    cc_type: int = 0
    cc_flags: int = 0
    next_code: int = 0

    @property
    def ack_psn(self) -> int:
        """PSN of the packet that caused this SACK (not defined for a probe's answer)."""
        return self.cack_psn + self.ack_psn_offset & 0xFFFFFF

    @property
    def bitmap_base(self) -> int:
        """PSN that the least significant bit of the bitmap stands for."""
        return self.cack_psn + self.sack_offset & 0xFFFFFF

    def pack(self) -> bytes:
        """The 36 bytes; FieldError names a field that does not fit."""
        if self.mark > MARK_ALWAYS_SKIP or self.mark < 0:
            raise FieldError("seth.m", f"{self.mark} is outside 0..{MARK_ALWAYS_SKIP}")
        if self.probe_id is None:
            cause = check_signed("seth.ack_psn_offset", self.ack_psn_offset, 16) & 0xFFFF
        elif self.ack_psn_offset:
            raise FieldError("seth.ack_psn_offset", "its bytes hold probe_id in a probe's answer")
        else:
            cause = check_unsigned("seth.probe_id", self.probe_id, 16)
        return _LAYOUT.pack(
            _TYPE << 12
            | check_unsigned("seth.next", self.next_code, 5) << 7
            | self.mark << 5
            | (self.probe_id is not None) << 1,
            cause,
            check_unsigned("seth.ev", self.ev, 32),
            check_unsigned("seth.spdcid", self.spdcid, 16),
            check_unsigned("seth.dpdcid", self.dpdcid, 16),
            check_unsigned("seth.cack_psn", self.cack_psn, 24),
            check_unsigned("seth.cc_type", self.cc_type, 4) << 4
            | check_unsigned("seth.cc_flags", self.cc_flags, 4),
            check_unsigned("seth.mpr", self.mpr_units, 8),
            check_signed("seth.sack_offset", self.sack_offset, 16),
            check_unsigned("seth.bitmap", self.bitmap, BITMAP_BITS),
            check_unsigned("cc_state.tx_timestamp", self.tx_timestamp, 16),
            check_unsigned("cc_state.ooo_count", self.ooo_count, 15),
            self.restore_cwnd << 31
            | check_unsigned("cc_state.rcv_cwnd_pen", self.rcv_cwnd_pen, 7) << 24
            | check_unsigned("cc_state.rcvd_bytes", self.rcvd_units, 24),
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Sack:
        """Read both headers at ``offset``; FrameError when too short, of another type or mark."""
        (
            word,
            cause,
            ev,
            spdcid,
            dpdcid,
            cack,
            cc,
            mpr,
            sack_offset,
            bitmap,
            timestamp,
            ooo,
            rcvd,
        ) = unpack_header(_LAYOUT, buffer, offset, "seth")
        if word >> 12 != _TYPE:
            raise FrameError("seth.type", f"is {word >> 12}, not {_TYPE}")
        mark = word >> 5 & 3
        if mark > MARK_ALWAYS_SKIP:
            raise FrameError("seth.m", f"is {mark}, the highest is {MARK_ALWAYS_SKIP}")
        answers_probe = word >> 1 & 1
        signed_cause = cause - 0x10000 if cause & 0x8000 else cause
        return cls(
            cack_psn=cack & 0xFFFFFF,
            ev=ev,
            ack_psn_offset=0 if answers_probe else signed_cause,
            sack_offset=sack_offset,
            bitmap=bitmap,
            mark=mark,
            probe_id=cause if answers_probe else None,
            mpr_units=mpr,
            tx_timestamp=timestamp,
            ooo_count=ooo & 0x7FFF,
            rcvd_units=rcvd & 0xFFFFFF,
            rcv_cwnd_pen=rcvd >> 24 & 0x7F,
            restore_cwnd=bool(rcvd >> 31),
            spdcid=spdcid,
            dpdcid=dpdcid,
            cc_type=cc >> 4,
            cc_flags=cc & 0x0F,
            next_code=word >> 7 & 0x1F,
        )
