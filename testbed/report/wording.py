# SPDX-License-Identifier: Apache-2.0
"""Figures as people read them, the same in the terminal and in the HTML report."""

from __future__ import annotations

NONE = "–"

PAPER_FAILOVER = "a few tens"
"""What the paper says of its hardware (P1, abstract): failover in "a few tens of microseconds"."""


def number(value: float | None, digits: int = 0) -> str:
    """A figure with thousands separators, or a dash."""
    return NONE if value is None else f"{value:,.{digits}f}"


_MOST_MICROS = 100_000


def micros(value: float | None) -> str:
    """Microseconds with their unit, long times in milliseconds; or a dash."""
    if value is None:
        return NONE
    return f"{value:,.1f} µs" if value < _MOST_MICROS else f"{value / 1000:,.1f} ms"


def gbps(value: float | None, digits: int = 0) -> str:
    """A figure in Gb/s, with three significant digits where that is less than one; or a dash."""
    return number(value, digits) if value is None or value >= 1 else f"{value:.3g}"


def nanos(value: int | None) -> str:
    """Integer nanoseconds as `micros` shows them, or a dash."""
    return NONE if value is None else micros(value / 1000)


def percent(share: float | None) -> str:
    """A share of 1 as a percentage, or a dash."""
    return NONE if share is None else f"{share * 100:.1f} %"


def size(count: int) -> str:
    """Bytes in the largest binary unit that keeps the figure at or above 1."""
    if count < 1024:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024:
            return f"{value:,.1f} {unit}"
    return f"{value:,.1f} GiB"
