# SPDX-License-Identifier: Apache-2.0
"""IPv6 header, 40 bytes (RFC 8200 section 3).

====== ===== ==========================================================
offset bytes field
====== ===== ==========================================================
0      4     version 4 (= 6) · traffic class 8 (DSCP 6, ECN 2) · flow label 20
4      2     payload length: bytes behind this header
6      1     next header
7      1     hop limit
8      16    source address
24     16    destination address
====== ===== ==========================================================
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.errors import FrameError
from endpoint.wire.fields import Buffer, check_bytes, check_unsigned, unpack_header

NEXT_UDP: Final = 17
NEXT_IPV6: Final = 41
NEXT_ROUTING: Final = 43

ECN_NOT_ECT: Final = 0
ECN_ECT1: Final = 1
ECN_ECT0: Final = 2
ECN_CE: Final = 3

DEFAULT_HOP_LIMIT: Final = 64

_LAYOUT: Final = Struct("!IHBB16s16s")
SIZE: Final = _LAYOUT.size


class Ipv6(NamedTuple):
    """One IPv6 header; addresses are 16 raw bytes."""

    source: bytes
    destination: bytes
    next_header: int
    payload_length: int
    dscp: int = 0
    ecn: int = ECN_NOT_ECT
    flow_label: int = 0
    hop_limit: int = DEFAULT_HOP_LIMIT

    def pack(self) -> bytes:
        """The 40 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            6 << 28
            | check_unsigned("ipv6.dscp", self.dscp, 6) << 22
            | check_unsigned("ipv6.ecn", self.ecn, 2) << 20
            | check_unsigned("ipv6.flow_label", self.flow_label, 20),
            check_unsigned("ipv6.payload_length", self.payload_length, 16),
            check_unsigned("ipv6.next_header", self.next_header, 8),
            check_unsigned("ipv6.hop_limit", self.hop_limit, 8),
            check_bytes("ipv6.source", self.source, 16),
            check_bytes("ipv6.destination", self.destination, 16),
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Ipv6:
        """Read a header at ``offset``; FrameError when too short or not version 6."""
        word, length, next_header, hop_limit, source, destination = unpack_header(
            _LAYOUT, buffer, offset, "ipv6"
        )
        if word >> 28 != 6:
            raise FrameError("ipv6.version", f"is {word >> 28}, not 6")
        return cls(
            source=source,
            destination=destination,
            next_header=next_header,
            payload_length=length,
            dscp=word >> 22 & 0x3F,
            ecn=word >> 20 & 3,
            flow_label=word & 0xFFFFF,
            hop_limit=hop_limit,
        )
