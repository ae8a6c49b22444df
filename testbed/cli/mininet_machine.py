# SPDX-License-Identifier: Apache-2.0
"""`mrc doctor`, `mrc calibrate`, `mrc clean`: this machine and the Mininet world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from testbed.cli.output import FAILED, PASSED, BadInput, console, refuses_bad_input, table
from testbed.mininet.errors import MininetWorldError


@refuses_bad_input
def doctor(
    link_mininet: Annotated[
        bool,
        typer.Option("--link-mininet", help="Link Debian's Mininet modules into this environment."),
    ] = False,
) -> None:
    """Show what the Mininet world needs, and what of it is here; exit status 1 when it is not all.

    Debian's package `mininet` has its Python modules for the system's Python only; --link-mininet
    makes them, and nothing else of it, known to this environment.
    """
    from testbed.mininet import requirements

    if link_mininet:
        try:
            typer.echo(f"linked {requirements.link_mininet()}")
        except MininetWorldError as error:
            raise BadInput(str(error)) from error
    rows = table()
    for name in ("", "needed", "otherwise"):
        rows.add_column(name)
    missing = False
    for found in requirements.requirements():
        mark = "[green]ok[/green]" if found.found else "[bold red]missing[/bold red]"
        if found.optional and not found.found:
            mark = "not there"
        rows.add_row(mark, escape(found.name), "" if found.found else escape(found.advice))
        missing = missing or not (found.found or found.optional)
    console().print(rows)
    raise typer.Exit(FAILED if missing else PASSED)


@refuses_bad_input
def calibrate(
    switch: Annotated[
        str | None, typer.Option(help="bmv2 or soft; by default each that is installed.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder for logs.")] = Path("results"),
) -> None:
    """Measure what a packet costs on this machine, and keep it: rates of fabrics follow from it.

    Takes about 15 s a kind of switch. Let nothing else run meanwhile.
    """
    from testbed.mininet import requirements
    from testbed.mininet.signals import orderly_end

    try:
        kinds = _kinds(switch)
        for kind in kinds:
            requirements.check(kind)
        from testbed.mininet.calibration import calibration_file, store_costs
        from testbed.mininet.measure_machine import measure

        with orderly_end():
            for kind in kinds:
                logs = results / "calibration" / kind
                store_costs(kind, measure(kind, logs, lambda text: typer.echo(text, err=True)))
    except MininetWorldError as error:
        raise BadInput(str(error)) from error
    _show_costs()
    typer.echo(f"kept in {calibration_file()}")


def _kinds(switch: str | None) -> list[str]:
    from testbed.mininet import requirements

    chosen = requirements.choose_switch(switch)
    if switch is not None or chosen == "soft":
        return [chosen]
    return list(requirements.SWITCH_KINDS)


def _show_costs() -> None:
    from testbed.mininet.calibration import load_costs
    from testbed.mininet.requirements import SWITCH_KINDS
    from testbed.mininet.run import example_rates

    rows = table("Of a data packet and its SACK, processor time in µs")
    rows.add_column("switches")
    for name in ("two agents", "a switch", "round trip\nwithout load", "a NIC port of\ntiny, Mb/s"):
        rows.add_column(name, justify="right")
    for kind in SWITCH_KINDS:
        costs = load_costs(kind)
        if costs is not None:
            rows.add_row(
                kind,
                f"{costs.agents_us:,.0f}",
                f"{costs.hop_us:,.0f}",
                f"{costs.path_rtt_us:,.0f}",
                f"{example_rates('tiny', kind, costs) / 1e6:.2f}",
            )
    console().print(rows)


@refuses_bad_input
def clean() -> None:
    """End and remove what crashed runs left behind, by the ids that they recorded.

    Running fabrics are left alone.
    """
    from testbed.mininet.run_folder import clear_run, find_runs, runs_folder

    found = find_runs()
    for run in found:
        if run.alive:
            assert run.owner is not None
            typer.echo(f"{run.path.name}: {run.what}: runs in process {run.owner.pid}, left alone")
            continue
        try:
            ended = clear_run(run.path)
        except MininetWorldError as error:
            raise BadInput(str(error)) from error
        typer.echo(f"{run.path.name}: {run.what}: cleared, {ended} processes ended")
    if not found:
        typer.echo(f"nothing is left in {runs_folder()}")
