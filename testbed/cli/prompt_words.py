# SPDX-License-Identifier: Apache-2.0
"""Words of the prompt's commands: sizes, percentages, numbers."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMG]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class BadCommand(ValueError):
    """A command is not written as it should be; the message says what is wrong, if it is clear."""


def size_bytes(text: str) -> int:
    """Bytes of `8M`, `64k`, `1000`; units are powers of 1024."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise BadCommand(f"{text!r} is no size (like 64K, 8M)")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def percentage(text: str) -> float:
    """The share (above 0, to 1) of `20` or `20%`."""
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        raise BadCommand(f"{text!r} is no percentage") from None
    if not 0 < share <= 1:
        raise BadCommand(f"{text} is not above 0 and at most 100 percent")
    return share


def plain_number(text: str, what: str) -> int:
    """A number from 0 on."""
    if not text.isascii() or not text.isdigit():
        raise BadCommand(f"{text!r} is no {what}")
    return int(text)
