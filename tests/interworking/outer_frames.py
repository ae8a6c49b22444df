# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames with an outer IPv6 header and, if wanted, a segment routing header (RFC 8754).

The flow label is the frame's number, since no node on the way changes it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address

SOURCE = int(IPv6Address("fd4d:5243::1"))
_IPV6, _ROUTING, _NO_NEXT_HEADER, _SRH = 0x86DD, 43, 59, 4
_ETHERNET = struct.Struct("!6s6sH")
_HEADER = struct.Struct("!IHBB16s16s")
_EXTENSION = struct.Struct("!BBBBBBH")


@dataclass(frozen=True, slots=True)
class Outer:
    """What a frame is, its number and its MAC addresses aside. Addresses are integers.

    `segments`: of the SRH, none without; `last_entry`, `ip_length`: as the segments and the
    payload give them, unless set.
    """

    destination: int
    segments: Sequence[int] = ()
    segments_left: int = 0
    last_entry: int | None = None
    routing_type: int = _SRH
    hop_limit: int = 64
    traffic_class: int = 0
    payload: bytes = b"\xa5" * 30
    ip_length: int | None = None
    version: int = 6
    ether_type: int = _IPV6
    source: int = SOURCE
    to_mac: bytes | None = None

    def frame(self, number: int, to_mac: bytes, from_mac: bytes) -> bytes:
        """The whole frame; `number` is 20 bits."""
        extension, next_header = b"", _NO_NEXT_HEADER
        if self.segments:
            count, next_header = len(self.segments), _ROUTING
            last = count - 1 if self.last_entry is None else self.last_entry
            left = self.segments_left
            extension = _EXTENSION.pack(
                _NO_NEXT_HEADER, 2 * count, self.routing_type, left, last, 0, 0
            ) + b"".join(segment.to_bytes(16, "big") for segment in self.segments)
        body = extension + self.payload
        return b"".join(
            (
                _ETHERNET.pack(self.to_mac or to_mac, from_mac, self.ether_type),
                _HEADER.pack(
                    self.version << 28 | self.traffic_class << 20 | number,
                    len(body) if self.ip_length is None else self.ip_length,
                    next_header,
                    self.hop_limit,
                    self.source.to_bytes(16, "big"),
                    self.destination.to_bytes(16, "big"),
                ),
                body,
            )
        )


def number_of(frame: bytes) -> int:
    """The number that a frame was made with."""
    return int.from_bytes(frame[15:18], "big") & 0xFFFFF


def is_multicast(frame: bytes) -> bool:
    """Whether an IPv6 stack spoke of its own accord (a listener report)."""
    return len(frame) >= 54 and frame[38] == 0xFF


@dataclass(frozen=True, slots=True)
class Left:
    """What can be told of a frame that left: by which port, and what is in its headers."""

    port: int
    destination: str
    hop_limit: int = 63
    segments_left: int | None = None

    @classmethod
    def read(cls, port: int, frame: bytes) -> Left:
        routed = frame[20] == _ROUTING
        destination = str(IPv6Address(frame[38:54]))
        return cls(port, destination, frame[21], frame[57] if routed else None)
