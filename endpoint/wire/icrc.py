# SPDX-License-Identifier: Apache-2.0
"""Invariant CRC of RoCEv2 over IPv6 (InfiniBand annex A17.3.3), of the inner packet.

CRC-32 (as in Ethernet and zlib) over eight bytes FF, then the packet from its IPv6 header to the
last pad byte, with these taken as ones: traffic class, flow label, hop limit, UDP checksum and
BTH byte 4. It is sent least significant byte first, unlike everything else. The flow label, and
with it EV[15:0], is therefore not covered.
"""

from __future__ import annotations

from struct import Struct
from typing import Final
from zlib import crc32

from endpoint.wire.fields import Buffer

SIZE: Final = 4
_LAYOUT: Final = Struct("<I")

_IPV6_SIZE: Final = 40
_UDP_CHECKSUM: Final = 46
_BTH_RESERVED: Final = 52
_MASKED_SIZE: Final = 53

_PSEUDO_LRH: Final = b"\xff" * 8
_MASKED_IPV6_WORD: Final = b"\x6f\xff\xff\xff"


def icrc(packet: Buffer) -> int:
    """ICRC of an IPv6/UDP/BTH packet without its last four bytes (the ICRC itself).

    ``packet`` starts at the IPv6 header, at least 60 bytes to the end of the BTH.
    """
    head = bytearray(packet[:_MASKED_SIZE])
    head[0:4] = _MASKED_IPV6_WORD
    head[7] = 0xFF
    head[_UDP_CHECKSUM : _UDP_CHECKSUM + 2] = b"\xff\xff"
    head[_BTH_RESERVED] = 0xFF
    return crc32(memoryview(packet)[_MASKED_SIZE:], crc32(head, _LRH_CRC))


def pack_icrc(value: int) -> bytes:
    """The four bytes as they are sent."""
    return _LAYOUT.pack(value)


def unpack_icrc(buffer: Buffer, offset: int) -> int:
    """The ICRC sent at ``offset``; the caller has checked that four bytes are there."""
    value: int = _LAYOUT.unpack_from(buffer, offset)[0]
    return value


def icrc_of_ip_udp(ipv6_and_udp: Buffer) -> int:
    """CRC state after the masked IPv6 and UDP headers (48 bytes), for templates to go on from."""
    head = bytearray(ipv6_and_udp[: _UDP_CHECKSUM + 2])
    head[0:4] = _MASKED_IPV6_WORD
    head[7] = 0xFF
    head[_UDP_CHECKSUM:] = b"\xff\xff"
    return crc32(head, _LRH_CRC)


def bth_reserved_as_ones(length: int) -> int:
    """What to XOR to the CRC of ``length`` bytes that start with a BTH whose byte 4 is 0.

    A CRC is linear: flipping given bits of a message flips given bits of its CRC, whatever the
    rest of the message. So the byte need not be ones in a buffer while the CRC is taken.
    """
    zeros = bytes(length)
    ones_at_4 = zeros[:4] + b"\xff" + zeros[5:]
    return crc32(zeros) ^ crc32(ones_at_4)


_LRH_CRC: Final = crc32(_PSEUDO_LRH)
