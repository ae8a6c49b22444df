# SPDX-License-Identifier: Apache-2.0
"""The Clustermapper's map as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from controller.clustermap import ElementKind
from testbed.cli.output import table
from testbed.mapped import MapFinding, MapResult
from testbed.report.wording import micros, nanos, number, percent
from topologies.fabric import Fabric


def show_map(out: Console, found: MapResult) -> None:
    """What was named and cleared, and how soon each fault was."""
    out.print(
        f"[bold]Map[/bold]  each T0 probed every {nanos(found.interval_ns)} by every NIC, "
        f"{percent(found.t1_share)} of the T1s; {found.probes:,} probes, "
        f"{found.probes_lost:,} lost; policy: {found.policy}"
    )
    out.print(findings_table(found.findings))
    if found.faults:
        rows = table()
        rows.add_column("fault")
        rows.add_column("named after", justify="right")
        for fault in found.faults:
            named = "never" if fault.named_us is None else micros(fault.named_us)
            rows.add_row(escape(fault.label), named)
        out.print(rows)
    if found.wrong:
        out.print(f"[bold red]Named wrongly[/bold red]  {escape(', '.join(found.wrong))}")
    out.print()


def findings_table(findings: Sequence[MapFinding]) -> Table:
    """One row for each finding, in order of time."""
    rows = table()
    for name in ("element", "what"):
        rows.add_column(name)
    for name in ("loops lost", "of", "share", "first lost", "named", "cleared"):
        rows.add_column(name, justify="right")
    for found in findings:
        rows.add_row(
            escape(found.element) + ("" if found.certain else " (suspect)"),
            found.kind,
            number(found.lost),
            number(found.sent),
            percent(found.share),
            nanos(found.onset_ns),
            nanos(found.found_ns),
            "–" if found.cleared_ns is None else nanos(found.cleared_ns),
            style="red" if found.cleared_ns is None else "dim",
        )
    return rows


def state_table(fabric: Fabric, findings: Sequence[MapFinding], now_ns: int) -> Table:
    """How many links and switches are in order now, and which are not."""
    spec = fabric.spec
    counts = {
        ElementKind.NIC_T0: spec.planes * fabric.nic_count,
        ElementKind.T0: spec.planes * spec.t0s,
        ElementKind.T0_T1: spec.planes * spec.t0s * spec.t1s,
        ElementKind.T1: spec.planes * spec.t1s,
    }
    rows = table(f"{fabric.name} at {nanos(now_ns)}")
    rows.add_column("")
    rows.add_column("in order", justify="right")
    rows.add_column("losing probes")
    for kind, count in counts.items():
        bad = [f for f in findings if f.kind == kind.value and f.cleared_ns is None]
        names = ", ".join(
            f"{f.element} {percent(f.share)}" + ("" if f.certain else " (suspect)") for f in bad
        )
        rows.add_row(
            f"{kind.value}s", f"{count - len(bad):,}", f"[red]{escape(names)}[/red]" if bad else "–"
        )
    return rows
