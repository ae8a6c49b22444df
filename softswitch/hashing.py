# SPDX-License-Identifier: Apache-2.0
"""Hash and checksum algorithms that ``simple_switch`` knows by name, over bytes."""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Callable

Algorithm = Callable[[bytes], int]


def gather(*parts: tuple[int, int, int]) -> bytes:
    """The bits of the valid parts one after another, zero bits at the end up to a whole byte.

    A part is (valid, value, width in bits); parts of invalid headers are left out.
    """
    bits = width = 0
    for valid, value, size in parts:
        if valid:
            bits = bits << size | value & ((1 << size) - 1)
            width += size
    padding = -width % 8
    return (bits << padding).to_bytes((width + padding) // 8, "big")


def csum16(data: bytes) -> int:
    """Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def crc32(data: bytes) -> int:
    """CRC-32 as in Ethernet."""
    return zlib.crc32(data)


def crc_ccitt(data: bytes) -> int:
    """CRC-16/CCITT with start value 0xFFFF."""
    return binascii.crc_hqx(data, 0xFFFF)


def _crc16_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0xA001 if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


_CRC16 = _crc16_table()


def crc16(data: bytes) -> int:
    """CRC-16/ARC."""
    remainder = 0
    for byte in data:
        remainder = remainder >> 8 ^ _CRC16[(remainder ^ byte) & 0xFF]
    return remainder


def _xor(data: bytes, size: int) -> int:
    data += bytes(-len(data) % size)
    result = 0
    for i in range(0, len(data), size):
        result ^= int.from_bytes(data[i : i + size], "big")
    return result


def xor16(data: bytes) -> int:
    """Exclusive or of 16-bit words, the last one filled with zeros."""
    return _xor(data, 2)


def xor32(data: bytes) -> int:
    """Exclusive or of 32-bit words, the last one filled with zeros."""
    return _xor(data, 4)


def identity(data: bytes) -> int:
    """The first eight bytes as a number."""
    return int.from_bytes(data[:8], "big")


#: BMv2's name to function and width of the result in bits.
ALGORITHMS: dict[str, tuple[Algorithm, int]] = {
    "csum16": (csum16, 16),
    "cksum16": (csum16, 16),
    "crc16": (crc16, 16),
    "crcCCITT": (crc_ccitt, 16),
    # As they are until a control plane changes their parameters, which it cannot here.
    "crc16_custom": (crc16, 16),
    "crc32_custom": (crc32, 32),
    "crc32": (crc32, 32),
    "xor16": (xor16, 16),
    "xor32": (xor32, 32),
    "identity": (identity, 64),
}
