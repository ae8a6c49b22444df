# SPDX-License-Identifier: Apache-2.0
"""A run's result as tables for a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from testbed.cli.map_tables import show_map
from testbed.cli.output import table
from testbed.report.wording import PAPER_FAILOVER, nanos, number, percent, size
from testbed.results import Environment, FaultResult, RunResult

_WIDE = 110
"""Columns from which on the table of faults has all of its own."""

_WIDE_ONLY = (3, 4, 6)


def show_run(out: Console, result: RunResult, ran: Environment, folder: Path) -> None:
    """Everything a reader wants first: what ran, what broke, how long it took, what held."""
    _heading(out, result)
    if result.faults:
        _faults(out, result.faults)
    if result.map is not None:
        show_map(out, result.map)
    _completions(out, result)
    show_packets(out, result)
    show_checks(out, result)
    _totals(out, result, ran, folder)


def _heading(out: Console, result: RunResult) -> None:
    fabric = result.topology
    planes = "1 plane" if fabric.planes == 1 else f"{fabric.planes} planes"
    out.print(f"[bold]{escape(result.scenario)}[/bold]  {escape(result.description)}")
    out.print(
        f"fabric {escape(fabric.name)}: {fabric.hosts} NICs of {fabric.planes} × "
        f"{fabric.nic_t0_gbps:g} Gb/s, {planes} of {fabric.t0s_per_plane} T0s and "
        f"{fabric.t1s_per_plane} T1s, base RTT {nanos(fabric.base_rtt_ns)}"
    )
    out.print(escape(f"{result.workload} · seed {result.seed} · {result.world} world"))
    out.print()


def _faults(out: Console, faults: list[FaultResult]) -> None:
    wide = out.width >= _WIDE
    rows = table("Faults", padding=(0, 1, 0, 0))
    rows.add_column("fault")
    rows.add_column("at\nµs", justify="right")
    rows.add_column("data\nlost", justify="right")
    if wide:
        rows.add_column("control\nlost", justify="right")
        rows.add_column("probes\nlost", justify="right")
    rows.add_column("µs until no\npacket is\nsent into it", justify="right")
    if wide:
        rows.add_column("worst QP,\nin its RTTs", justify="right")
    rows.add_column("µs until\nall lost\nis placed", justify="right")
    rows.add_column("Gb/s\nbefore", justify="right")
    rows.add_column("Gb/s\nafter", justify="right")
    rows.add_column("share of\nmax-flow", justify="right")
    for fault in faults:
        rows.add_row(*_fault_cells(fault, wide))
        if fault.end_ns is not None:
            rows.add_row(*_mended_cells(fault, wide), style="dim")
    blank = [""] * (4 if wide else 2)
    rows.add_row("the paper, on hardware", *blank, PAPER_FAILOVER, style="dim")
    out.print(rows)
    out.print()


def _fault_cells(fault: FaultResult, wide: bool) -> list[str]:
    cells = [
        escape(fault.label),
        f"{fault.begin_ns / 1000:,.0f}",
        number(fault.data_packets_lost),
        number(fault.control_packets_lost),
        number(fault.probe_packets_lost),
        "none was" if fault.last_data_packet_us is None else f"{fault.last_data_packet_us:,.1f}",
        number(fault.worst_last_packet_rtts, 1),
        f"{fault.unrecovered:,} never was" if fault.unrecovered else number(fault.recovered_us, 1),
        number(fault.goodput_before_gbps),
        number(fault.goodput_after_gbps),
        percent(fault.goodput_after_share),
    ]
    return cells if wide else [cell for place, cell in enumerate(cells) if place not in _WIDE_ONLY]


def _mended_cells(fault: FaultResult, wide: bool) -> list[str]:
    assert fault.end_ns is not None
    gap = [""] * (7 if wide else 4)
    after, share = fault.goodput_mended_gbps, fault.goodput_mended_share
    return ["  mended", f"{fault.end_ns / 1000:,.0f}", *gap, number(after), percent(share)]


def _completions(out: Console, result: RunResult) -> None:
    rows = table("Message completion times")
    rows.add_column("group")
    for name in ("messages", "median", "99 %", "maximum"):
        rows.add_column(name, justify="right")
    # With one group only, "all" and that group are the same messages.
    groups = result.completion_times
    for times in groups[1:] if len(groups) == 2 else groups:
        rows.add_row(
            escape(times.group),
            number(times.completed),
            nanos(times.median_ns),
            nanos(times.p99_ns),
            nanos(times.max_ns),
        )
    if groups:
        out.print(rows)
        out.print()


def show_packets(out: Console, result: RunResult) -> None:
    """Data packets over the whole run, and what switches dropped."""
    packets = result.packets
    rows = table("Data packets")
    figures = {
        "sent": packets.data_sent,
        "re-sent": packets.data_retransmitted,
        "placed": packets.data_placed,
        "dupli-\ncates": packets.duplicates,
        "trimmed": packets.trimmed,
        "marked": packets.marked,
        "lost in\nfaults": packets.data_lost,
        "dropped,\ncongested": packets.congestion_drops,
        "timers\nfired": packets.timers_fired,
    }
    for name in figures:
        rows.add_column(name, justify="right")
    rows.add_row(*(number(value) for value in figures.values()))
    out.print(rows)
    drops = [d for d in result.switch_drops if d.reason != "congestion"]
    if drops:
        text = ", ".join(f"{d.switch} {d.reason} {d.packets:,}" for d in drops[:6])
        more = f" and {len(drops) - 6} more" if len(drops) > 6 else ""
        out.print(f"[bold]Dropped by switches[/bold]  {escape(text)}{more}")
    out.print()


def show_checks(out: Console, result: RunResult) -> None:
    """Every expectation, wanted and measured."""
    rows = table("Checks")
    for name in ("", "what", "wanted", "measured"):
        rows.add_column(name)
    for check in result.checks:
        mark = "[green]ok[/green]" if check.ok else "[bold red]FAILED[/bold red]"
        rows.add_row(mark, escape(check.name), escape(check.wanted), escape(check.measured))
    out.print(rows)
    out.print()


def _totals(out: Console, result: RunResult, ran: Environment, folder: Path) -> None:
    wrong = f", {result.bytes_wrong:,} B WRONG" if result.bytes_wrong else ""
    out.print(
        f"{size(result.bytes_verified)} verified byte for byte against their source "
        f"({result.bytes_verified:,} of {result.bytes_posted:,} B{wrong})"
    )
    rate = ran.packet_hops / ran.wall_seconds if ran.wall_seconds else 0.0
    out.print(
        f"{nanos(result.duration_ns)} of the fabric's time in {ran.wall_seconds:.1f} s of wall "
        f"time ({ran.packet_hops:,} packet-hops, {rate:,.0f} a second)"
    )
    verdict = "[bold green]PASSED[/bold green]" if result.passed else "[bold red]FAILED[/bold red]"
    out.print(f"{verdict}  results in {escape(str(folder))} (open report.html)", soft_wrap=True)
