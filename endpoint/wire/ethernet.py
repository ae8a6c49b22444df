# SPDX-License-Identifier: Apache-2.0
"""Ethernet II header, 14 bytes (IEEE 802.3).

====== ===== ===========
offset bytes field
====== ===== ===========
0      6     destination
6      6     source
12     2     ethertype
====== ===== ===========
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.fields import Buffer, check_bytes, check_unsigned, unpack_header

ETHERTYPE_IPV6: Final = 0x86DD

_LAYOUT: Final = Struct("!6s6sH")
SIZE: Final = _LAYOUT.size


class Ethernet(NamedTuple):
    """One Ethernet II header; addresses are 6 raw bytes."""

    destination: bytes
    source: bytes
    ethertype: int = ETHERTYPE_IPV6

    def pack(self) -> bytes:
        """The 14 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            check_bytes("ethernet.destination", self.destination, 6),
            check_bytes("ethernet.source", self.source, 6),
            check_unsigned("ethernet.ethertype", self.ethertype, 16),
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Ethernet:
        """Read a header at ``offset``; FrameError when the buffer is too short."""
        return cls._make(unpack_header(_LAYOUT, buffer, offset, "ethernet"))
