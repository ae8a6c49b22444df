# SPDX-License-Identifier: Apache-2.0
"""Captures with a comment for each packet (pcapng, draft-ietf-opsawg-pcapng).

Written by hand, since the committed bytes must not depend on the version of a library.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

_BLOCK = Struct("<II")
_SECTION = Struct("<IHHq")
_INTERFACE = Struct("<HHI")
_PACKET = Struct("<IIIII")
_OPTION = Struct("<HH")

_SECTION_HEADER = 0x0A0D0D0A
_INTERFACE_DESCRIPTION = 1
_ENHANCED_PACKET = 6
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_LINKTYPE_ETHERNET = 1
_OPT_COMMENT = 1
_OPT_IF_TSRESOL = 9


def _padded(raw: bytes) -> bytes:
    return raw + bytes(-len(raw) & 3)


def _block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return _BLOCK.pack(kind, length) + body + length.to_bytes(4, "little")


def _options(code: int, value: bytes) -> bytes:
    return _OPTION.pack(code, len(value)) + _padded(value) + bytes(4)


def pcapng(packets: Iterable[tuple[str, bytes]], step_ns: int = 1000) -> bytes:
    """A capture of (comment, Ethernet frame) pairs, ``step_ns`` nanoseconds apart from time 0."""
    blocks = [
        _block(_SECTION_HEADER, _SECTION.pack(_BYTE_ORDER_MAGIC, 1, 0, -1)),
        _block(
            _INTERFACE_DESCRIPTION,
            _INTERFACE.pack(_LINKTYPE_ETHERNET, 0, 0) + _options(_OPT_IF_TSRESOL, b"\x09"),
        ),
    ]
    for number, (comment, frame) in enumerate(packets):
        high, low = divmod(number * step_ns, 1 << 32)
        head = _PACKET.pack(0, high, low, len(frame), len(frame))
        text = _options(_OPT_COMMENT, comment.encode())
        blocks.append(_block(_ENHANCED_PACKET, head + _padded(frame) + text))
    return b"".join(blocks)
