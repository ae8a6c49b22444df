# SPDX-License-Identifier: Apache-2.0
"""Canonical P4Runtime bytestrings for `bit<W>` values (P4Runtime specification, "Bytestrings")."""


class BytestringError(ValueError):
    """A bytestring is empty, or see `TooWideError`."""


class TooWideError(BytestringError):
    """A bytestring holds a value wider than its type."""


def encode(value: int) -> bytes:
    """Shortest big-endian string for `value` (>= 0); zero takes one byte."""
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def decode(data: bytes, width: int) -> int:
    """Integer held by `data`, which may be padded with leading zero bytes.

    Raises BytestringError when `data` is empty, TooWideError when its value needs more than
    `width` bits.
    """
    if not data:
        raise BytestringError("bytestring is empty")
    value = int.from_bytes(data, "big")
    if value.bit_length() > width:
        raise TooWideError(f"bytestring 0x{data.hex()} does not fit in {width} bits")
    return value
