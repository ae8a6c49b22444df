# SPDX-License-Identifier: Apache-2.0
"""Reliability NACK: NETH with its congestion bytes, 20 bytes (OCP MRC 1.0).

====== ===== ===============================================
offset bytes field
====== ===== ===============================================
0      2     reserved
2      1     reason
3      1     vendor
4      4     echoed EV
8      2     spdcid
10     2     dpdcid
12     1     reserved
13     3     nack_psn
16     1     cc_type (7:4) = 2 · cc_flags (3:0)
17     1     reserved
18     2     reflected transmit timestamp
====== ===== ===============================================
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.errors import FrameError
from endpoint.wire.fields import Buffer, check_unsigned, unpack_header

TRIMMED: Final = 0x01
TRIMMED_LASTHOP: Final = 0x02
NO_BITMAP: Final = 0x06
NO_PKT_BUFFER: Final = 0x07
NO_RESOURCE: Final = 0x0A
PSN_OOR_WINDOW: Final = 0x0B
UNEXP_EVENT: Final = 0x19

REASON_NAMES: Final[dict[int, str]] = {
    TRIMMED: "TRIMMED",
    TRIMMED_LASTHOP: "TRIMMED_LASTHOP",
    NO_BITMAP: "NO_BITMAP",
    NO_PKT_BUFFER: "NO_PKT_BUFFER",
    NO_RESOURCE: "NO_RESOURCE",
    PSN_OOR_WINDOW: "PSN_OOR_WINDOW",
    UNEXP_EVENT: "UNEXP_EVENT",
}

_CC_TYPE: Final = 2
_LAYOUT: Final = Struct("!HBBIHHIBBH")
SIZE: Final = _LAYOUT.size


class Nack(NamedTuple):
    """One negative acknowledgement of one PSN.

    ``reason`` is one of the codes above; a code that is none of them is delivered as it came,
    since what to do about it is the sender's to decide.
    """

    nack_psn: int
    reason: int
    ev: int
    tx_timestamp: int = 0
    vendor: int = 0
    spdcid: int = 0
    dpdcid: int = 0
    cc_flags: int = 0

    def pack(self) -> bytes:
        """The 20 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            0,
            check_unsigned("neth.reason", self.reason, 8),
            check_unsigned("neth.vendor", self.vendor, 8),
            check_unsigned("neth.ev", self.ev, 32),
            check_unsigned("neth.spdcid", self.spdcid, 16),
            check_unsigned("neth.dpdcid", self.dpdcid, 16),
            check_unsigned("neth.nack_psn", self.nack_psn, 24),
            _CC_TYPE << 4 | check_unsigned("neth.cc_flags", self.cc_flags, 4),
            0,
            check_unsigned("neth.tx_timestamp", self.tx_timestamp, 16),
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Nack:
        """Read a header at ``offset``; FrameError when too short or of another cc_type."""
        _, reason, vendor, ev, spdcid, dpdcid, psn, cc, _, timestamp = unpack_header(
            _LAYOUT, buffer, offset, "neth"
        )
        if cc >> 4 != _CC_TYPE:
            raise FrameError("neth.cc_type", f"is {cc >> 4}, not {_CC_TYPE}")
        return cls(psn & 0xFFFFFF, reason, ev, timestamp, vendor, spdcid, dpdcid, cc & 0x0F)
