# SPDX-License-Identifier: Apache-2.0
"""Times and sizes as people write them: ``200us``, ``1.5 ms``, ``64KiB``.

Times become integer nanoseconds, sizes integer bytes. A time without a unit is refused: nobody
remembers whether a bare 200 meant microseconds.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, Field

_TIME_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_SIZE_UNITS = {
    "": 1,
    "B": 1,
    "kB": 1_000,
    "MB": 1_000_000,
    "GB": 1_000_000_000,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ]*)\s*")


def _parse(text: str, units: dict[str, int], what: str, example: str) -> int:
    match = _QUANTITY.fullmatch(text)
    if match is None or match.group(2) not in units:
        known = ", ".join(unit for unit in units if unit)
        raise ValueError(f"{text!r} is not a {what}: write it like {example} (units: {known})")
    value = Decimal(match.group(1)) * units[match.group(2)]
    if value != int(value):
        raise ValueError(
            f"{text!r} is not a whole number of {'ns' if units is _TIME_UNITS else 'B'}"
        )
    return int(value)


def parse_time_ns(value: object) -> int:
    """Nanoseconds of a time such as ``200us``; an ``int`` is taken as nanoseconds only if 0."""
    if isinstance(value, str):
        return _parse(value, _TIME_UNITS, "time", "200us")
    if value == 0 and isinstance(value, int):
        return 0
    raise ValueError(f"{value!r} has no unit: write it like 200us")


def parse_size_bytes(value: object) -> int:
    """Bytes of a size such as ``64KiB``; a bare integer is bytes."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{value!r} is not a size: write it like 64KiB")
    return value if isinstance(value, int) else _parse(value, _SIZE_UNITS, "size", "64KiB")


def format_time(ns: int) -> str:
    """``ns`` in the largest unit that keeps it at or above 1, for messages and labels."""
    for unit, scale in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
        if abs(ns) >= scale:
            return f"{ns / scale:g}{unit}"
    return f"{ns}ns"


TimeNs = Annotated[int, BeforeValidator(parse_time_ns), Field(ge=0)]
"""Model field: a time at or after 0, kept as integer nanoseconds."""

SizeBytes = Annotated[int, BeforeValidator(parse_size_bytes), Field(ge=1)]
"""Model field: a size of at least one byte, kept as an integer of bytes."""
