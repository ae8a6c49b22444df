# SPDX-License-Identifier: Apache-2.0
"""IPv6 segment routing header with exactly one segment, 24 bytes (RFC 8754 section 2).

====== ===== =====================================================
offset bytes field
====== ===== =====================================================
0      1     next header
1      1     header length in 8-byte units behind the first: 2
2      1     routing type: 4
3      1     segments left: 1 until the segment is used, then 0
4      1     last entry: 0
5      1     flags
6      2     tag
8      16    segment 0
====== ===== =====================================================

Paths longer than one uSID container need it; the fabrics here fit into one container.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.errors import FrameError
from endpoint.wire.fields import Buffer, check_bytes, check_unsigned, unpack_header
from endpoint.wire.ipv6 import NEXT_IPV6

ROUTING_TYPE: Final = 4
_UNITS: Final = 2

_LAYOUT: Final = Struct("!BBBBBBH16s")
SIZE: Final = _LAYOUT.size


class Srh(NamedTuple):
    """A one-segment SRH. ``segments_left`` is 0 or 1."""

    segment: bytes
    segments_left: int = 1
    next_header: int = NEXT_IPV6
    flags: int = 0
    tag: int = 0

    def pack(self) -> bytes:
        """The 24 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            check_unsigned("srh.next_header", self.next_header, 8),
            _UNITS,
            ROUTING_TYPE,
            check_unsigned("srh.segments_left", self.segments_left, 1),
            0,
            check_unsigned("srh.flags", self.flags, 8),
            check_unsigned("srh.tag", self.tag, 16),
            check_bytes("srh.segment", self.segment, 16),
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Srh:
        """Read a header at ``offset``; FrameError for any other routing header."""
        next_header, units, kind, left, last, flags, tag, segment = unpack_header(
            _LAYOUT, buffer, offset, "srh"
        )
        if kind != ROUTING_TYPE:
            raise FrameError("srh.routing_type", f"is {kind}, not {ROUTING_TYPE}")
        if units != _UNITS:
            raise FrameError("srh.header_length", f"is {units}, not {_UNITS} (one segment)")
        if last != 0:
            raise FrameError("srh.last_entry", f"is {last}, not 0 (one segment)")
        if left > 1:
            raise FrameError("srh.segments_left", f"is {left}, with one segment")
        return cls(segment, left, next_header, flags, tag)
