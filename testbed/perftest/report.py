# SPDX-License-Identifier: Apache-2.0
"""The report: perftest's columns as text, or the same figures under the same names as JSON.

A megabyte is 2^20 bytes, as in perftest, which calls it MB in older releases and MiB in newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv6Address
from typing import Any

from testbed.perftest.pair import End, PairFacts
from testbed.perftest.settings import Quantity, Settings
from testbed.perftest.statistics import BandwidthRow, LatencyOverTime, LatencyRow, Row
from testbed.quantities import format_time

RULE = "-" * 87
_MEGABYTE = 1 << 20
_GIGABIT = 125_000_000
_MILLION = 1e6
_USEC = 1e3

Columns = Sequence[tuple[str, int, int]]
"""Name, width, digits after the point."""


def columns(settings: Settings, *, gigabits: bool) -> Columns:
    """Those of a test."""
    if settings.quantity is Quantity.BANDWIDTH:
        unit = "Gb/sec" if gigabits else "MB/sec"
        return (
            ("#bytes", 11, 0),
            ("#iterations", 15, 0),
            (f"BW peak[{unit}]", 19, 2),
            (f"BW average[{unit}]", 22, 2),
            ("MsgRate[Mpps]", 0, 6),
        )
    if settings.duration_ns is not None:
        return (
            ("#bytes", 11, 0),
            ("#iterations", 15, 0),
            ("t_avg[usec]", 15, 2),
            ("tps average", 0, 2),
        )
    return (
        ("#bytes", 8, 0),
        ("#iterations", 15, 0),
        ("t_min[usec]", 15, 2),
        ("t_max[usec]", 13, 2),
        ("t_typical[usec]", 19, 2),
        ("t_avg[usec]", 15, 2),
        ("t_stdev[usec]", 17, 2),
        ("99% percentile[usec]", 24, 2),
        ("99.9% percentile[usec]", 0, 2),
    )


def figures(row: Row, *, gigabits: bool) -> tuple[float, ...]:
    """The row's figures, one a column. A peak that is not known is 0, as in perftest."""
    match row:
        case BandwidthRow():
            unit = _GIGABIT if gigabits else _MEGABYTE
            peak, average = (row.peak or 0.0) / unit, row.average / unit
            return row.size, row.iterations, peak, average, row.message_rate / _MILLION
        case LatencyOverTime():
            return row.size, row.iterations, row.average / _USEC, row.rate
        case LatencyRow():
            times = (
                *(row.least, row.most, row.typical, row.average, row.deviation),
                *(row.percentile_99, row.percentile_99_9),
            )
            return row.size, row.iterations, *(time / _USEC for time in times)


def lines(
    settings: Settings, facts: PairFacts, rows: Iterable[Row], *, gigabits: bool
) -> Iterator[str]:
    """The whole report, each line as soon as it is known."""
    yield from head(settings, facts)
    chosen = columns(settings, gigabits=gigabits)
    yield title(chosen)
    for row in rows:
        yield line(chosen, row, gigabits=gigabits)
    yield RULE


def head(settings: Settings, facts: PairFacts) -> Iterator[str]:
    """What is measured, and between whom."""
    both = "Bidirectional " if settings.bidirectional else ""
    kind = f"{both}BW" if settings.quantity is Quantity.BANDWIDTH else "Latency"
    yield RULE
    yield f"                    MRC Write {kind} Test"
    rate = f"{facts.rate_bps / 1e9:g} Gb/s" if facts.rate_bps else "unpaced"
    yield _two("World", facts.world, "Fabric", facts.fabric)
    yield _two("Number of qps", settings.qps, "Transport type", "MRC")
    yield _two("NIC ports", f"{facts.planes} x {rate}", "Paths in use", facts.paths)
    if settings.quantity is Quantity.BANDWIDTH:
        yield _two("TX depth", settings.tx_depth, "Congestion ctl", facts.congestion)
    if settings.duration_ns is not None:
        yield f" {'Duration':<16}: {format_time(settings.duration_ns)}"
    yield f" {'Mtu':<16}: {facts.path_mtu}[B]"
    yield RULE
    for near, far in facts.ends:
        yield from _address("local", near)
        yield from _address("remote", far)
    yield RULE


def _two(name: str, value: object, other: str, other_value: object) -> str:
    return f" {name:<16}: {value!s:<20} {other:<15}: {other_value}"


def _address(side: str, end: End) -> Iterator[str]:
    yield (
        f" {side} address: {end.host} QPN {end.qpn:#08x} PSN {end.psn:#08x} "
        f"RKey {end.rkey:#010x} VAddr {end.va:#018x}"
    )
    yield f" GID: {IPv6Address(end.address)}"


def title(columns_: Columns) -> str:
    """The line above the rows."""
    return " " + "".join(name.ljust(width) for name, width, _ in columns_)


def line(columns_: Columns, row: Row, *, gigabits: bool) -> str:
    """A row as text. Bandwidths below a tenth of a gigabit have more digits, as in perftest."""
    values = figures(row, gigabits=gigabits)
    slow = gigabits and isinstance(row, BandwidthRow) and row.average < _GIGABIT / 10
    cells = [
        f"{value:.{6 if slow and digits else digits}f}".ljust(width)
        for (_, width, digits), value in zip(columns_, values, strict=True)
    ]
    return (" " + "".join(cells)).rstrip()


def document(
    settings: Settings, facts: PairFacts, rows: Sequence[Row], *, gigabits: bool
) -> dict[str, Any]:
    """For JSON: perftest's names where it has one, and figures that are not rounded."""
    bandwidth = settings.quantity is Quantity.BANDWIDTH
    info: dict[str, Any] = {
        "test": f"Write_{'Bidirectional_' if settings.bidirectional else ''}"
        f"{'BW' if bandwidth else 'Latency'}_Test",
        "world": facts.world,
        "fabric": facts.fabric,
        "Number_of_qps": settings.qps,
        "Transport_type": "MRC",
        "Mtu": facts.path_mtu,
        "planes": facts.planes,
        "port_rate_bps": facts.rate_bps,
        "paths": facts.paths,
        "congestion": facts.congestion,
        "duration_ns": settings.duration_ns,
        "unit": ("Gb/sec" if gigabits else "MiB/sec") if bandwidth else "usec",
        "addresses": [{"local": _json_end(a), "remote": _json_end(b)} for a, b in facts.ends],
    }
    if bandwidth:
        info["TX_depth"] = settings.tx_depth
    return {
        "test_info": info,
        "results": [_json_row(row, gigabits=gigabits) for row in rows],
    }


def _json_end(end: End) -> dict[str, Any]:
    return {
        "host": end.host,
        "QPN": end.qpn,
        "PSN": end.psn,
        "RKey": end.rkey,
        "VAddr": end.va,
        "GID": str(IPv6Address(end.address)),
    }


_JSON_NAMES = {
    BandwidthRow: ("MsgSize", "n_iterations", "BW_peak", "BW_average", "MsgRate"),
    LatencyOverTime: ("MsgSize", "n_iterations", "t_avg", "tps_average"),
    LatencyRow: (
        *("MsgSize", "n_iterations", "t_min", "t_max", "t_typical", "t_avg", "t_stdev"),
        *("percentile_99", "percentile_99.9"),
    ),
}


def _json_row(row: Row, *, gigabits: bool) -> dict[str, Any]:
    named: dict[str, Any] = dict(
        zip(_JSON_NAMES[type(row)], figures(row, gigabits=gigabits), strict=True)
    )
    if isinstance(row, BandwidthRow) and row.peak is None:
        named["BW_peak"] = None
    return named
