# SPDX-License-Identifier: Apache-2.0
"""UDP header, 8 bytes (RFC 768), as RoCEv2 uses it.

====== ===== ==================================================================
offset bytes field
====== ===== ==================================================================
0      2     source port: EV[31:16] (decision; the low half is in the flow label)
2      2     destination port
4      2     length: this header and everything behind it
6      2     checksum: 0 (RFC 6935 allows it; the ICRC protects the packet)
====== ===== ==================================================================
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.fields import Buffer, check_unsigned, unpack_header

PORT: Final = 4791
"""Destination port that is sent (decision): IANA's RoCEv2 port, which Wireshark decodes."""
PORT_AS_PRINTED: Final = 4971
"""Destination port that is also accepted: OCP MRC 1.0 prints it."""

_LAYOUT: Final = Struct("!HHHH")
SIZE: Final = _LAYOUT.size


class Udp(NamedTuple):
    """One UDP header; ``length`` counts from its first byte."""

    source_port: int
    destination_port: int
    length: int
    checksum: int = 0

    def pack(self) -> bytes:
        """The 8 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            check_unsigned("udp.source_port", self.source_port, 16),
            check_unsigned("udp.destination_port", self.destination_port, 16),
            check_unsigned("udp.length", self.length, 16),
            check_unsigned("udp.checksum", self.checksum, 16),
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Udp:
        """Read a header at ``offset``; FrameError when the buffer is too short."""
        return cls._make(unpack_header(_LAYOUT, buffer, offset, "udp"))
