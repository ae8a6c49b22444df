# SPDX-License-Identifier: Apache-2.0
"""Checks shared by all codecs: value ranges on the way out, lengths on the way in."""

from __future__ import annotations

from struct import Struct
from typing import Any, TypeAlias

from endpoint.wire.errors import FieldError, FrameError

Buffer: TypeAlias = bytes | bytearray | memoryview
"""What codecs read from. A memoryview must be contiguous with items of one byte."""


def check_unsigned(field: str, value: int, bits: int) -> int:
    """Return ``value`` if it fits ``bits`` unsigned bits; else FieldError naming ``field``."""
    if value >> bits:
        raise FieldError(field, f"{value} is outside 0..{(1 << bits) - 1}")
    return value


def check_signed(field: str, value: int, bits: int) -> int:
    """Return ``value`` if it fits ``bits`` bits of two's complement; else FieldError."""
    limit = 1 << (bits - 1)
    if not -limit <= value < limit:
        raise FieldError(field, f"{value} is outside {-limit}..{limit - 1}")
    return value


def check_bytes(field: str, value: Buffer, length: int) -> bytes:
    """Return ``value`` as bytes if it has ``length`` of them; else FieldError."""
    if len(value) != length:
        raise FieldError(field, f"needs {length} bytes, got {len(value)}")
    return bytes(value)


def unpack_header(layout: Struct, buffer: Buffer, offset: int, header: str) -> tuple[Any, ...]:
    """Unpack one fixed-size header; FrameError naming ``header`` when the buffer ends in it."""
    left = len(buffer) - offset
    if left < layout.size or offset < 0:
        raise FrameError(header, f"needs {layout.size} bytes, {max(left, 0)} left")
    return layout.unpack_from(buffer, offset)
