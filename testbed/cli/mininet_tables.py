# SPDX-License-Identifier: Apache-2.0
"""A run with real packets as tables for a terminal: milliseconds, megabits, and virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from testbed.cli.output import table
from testbed.cli.run_tables import show_checks, show_packets
from testbed.report.wording import NONE, number, percent, size
from testbed.results import Environment, RunResult

if TYPE_CHECKING:
    from testbed.mininet.compare import VirtualTiming

_MOST_DROPS = 6


def show_mininet_run(
    out: Console,
    result: RunResult,
    ran: Environment,
    folder: Path,
    virtual: Sequence[VirtualTiming] = (),
) -> None:
    """What ran and how fast, each fault in both worlds, completion times, packets, checks."""
    _heading(out, result)
    if result.faults:
        _timings(out, result, virtual)
        _goodput(out, result)
    _completions(out, result)
    show_packets(out, result)
    _machine(out, result)
    show_checks(out, result)
    _totals(out, result, ran, folder)


def _heading(out: Console, result: RunResult) -> None:
    fabric, real = result.topology, result.real_time
    assert real is not None
    out.print(f"[bold]{escape(result.scenario)}[/bold]  {escape(result.description)}")
    out.print(
        f"fabric {escape(fabric.name)}: {fabric.hosts} NICs of {fabric.planes} × "
        f"{real.nic_mbps:.3g} Mb/s, base RTT {fabric.base_rtt_ns / 1e6:.3g} ms; described with "
        f"{real.described_nic_gbps:g} Gb/s, so time runs {result.time_scale:,.0f} times slower"
    )
    out.print(escape(f"{result.workload} · seed {result.seed} · Mininet, switches: {real.switch}"))
    out.print()


def _timings(out: Console, result: RunResult, virtual: Sequence[VirtualTiming]) -> None:
    real = result.real_time
    assert real is not None
    rows = table("Faults", padding=(0, 1, 0, 0))
    rows.add_column("fault")
    rows.add_column("at\nms", justify="right")
    rows.add_column("data\nlost", justify="right")
    for name in ("last packet\ninto it, ms", "in base\nRTTs", "stall\nms", "in base\nRTTs"):
        rows.add_column(name, justify="right")
    rows.add_column("longest gap\nbefore, ms", justify="right")
    for place, (fault, timing) in enumerate(zip(result.faults, real.faults, strict=True)):
        rows.add_row(
            escape(fault.label),
            f"{fault.begin_ns / 1e6:,.0f}",
            number(fault.data_packets_lost),
            _none_was(timing.last_packet_ms, 0),
            number(timing.last_packet_base_rtts, 2),
            number(timing.stall_ms, 0),
            number(timing.stall_base_rtts, 2),
            number(timing.calm_gap_ms, 0),
        )
        if place < len(virtual):
            rows.add_row(*_virtual_cells(virtual[place]), style="dim")
    out.print(rows)
    out.print()


def _virtual_cells(timing: VirtualTiming) -> list[str]:
    return [
        "  in virtual time, µs",
        "",
        "",
        _none_was(timing.last_packet_us, 1),
        number(timing.last_packet_base_rtts, 2),
        number(timing.stall_us, 1),
        number(timing.stall_base_rtts, 2),
        "",
    ]


def _none_was(value: float | None, digits: int) -> str:
    return "none was" if value is None else f"{value:,.{digits}f}"


def _goodput(out: Console, result: RunResult) -> None:
    rows = table("Goodput, Mb/s")
    rows.add_column("fault")
    for name in ("before", "after", "of max-flow", "mended", "of max-flow"):
        rows.add_column(name, justify="right")
    for fault in result.faults:
        rows.add_row(
            escape(fault.label),
            _mbps(fault.goodput_before_gbps),
            _mbps(fault.goodput_after_gbps),
            percent(fault.goodput_after_share),
            _mbps(fault.goodput_mended_gbps),
            percent(fault.goodput_mended_share),
        )
    out.print(rows)
    out.print()


def _mbps(gbps: float | None) -> str:
    return NONE if gbps is None else f"{gbps * 1000:,.2f}"


def _completions(out: Console, result: RunResult) -> None:
    rows = table("Message completion times, ms")
    rows.add_column("group")
    for name in ("messages", "median", "99 %", "maximum"):
        rows.add_column(name, justify="right")
    groups = result.completion_times
    # With one group only, "all" and that group are the same messages.
    for times in groups[1:] if len(groups) == 2 else groups:
        rows.add_row(
            escape(times.group),
            number(times.completed),
            *(f"{ns / 1e6:,.0f}" for ns in (times.median_ns, times.p99_ns, times.max_ns)),
        )
    if groups:
        out.print(rows)
        out.print()


def _machine(out: Console, result: RunResult) -> None:
    real = result.real_time
    assert real is not None
    if not real.machine_drops:
        return
    places = [
        f"{drop.node} port {drop.port} ({drop.place}) {drop.frames:,}"
        for drop in real.machine_drops
    ]
    more = f" and {len(places) - _MOST_DROPS} more" if len(places) > _MOST_DROPS else ""
    out.print(
        "[bold]Frames that this machine lost, and no link of the fabric[/bold]  "
        f"{escape(', '.join(places[:_MOST_DROPS]))}{more}"
    )
    out.print()


def _totals(out: Console, result: RunResult, ran: Environment, folder: Path) -> None:
    wrong = f", {result.bytes_wrong:,} B WRONG" if result.bytes_wrong else ""
    out.print(
        f"{size(result.bytes_verified)} verified byte for byte against their source "
        f"({result.bytes_verified:,} of {result.bytes_posted:,} B{wrong})"
    )
    out.print(f"{result.duration_ns / 1e9:.1f} s of traffic, {ran.wall_seconds:.1f} s in all")
    out.print(f"results in {escape(str(folder))}", soft_wrap=True)
