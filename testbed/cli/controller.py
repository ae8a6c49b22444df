# SPDX-License-Identifier: Apache-2.0
"""`mrc controller install`: write a fabric's tables into switches over P4Runtime."""

from __future__ import annotations

import dataclasses
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

import topologies
from testbed.cli.output import BadInput, console, print_json, progress_bar, refuses_bad_input, table
from testbed.cli.topo import Fabric

if TYPE_CHECKING:
    from controller.install import InstallReport  # imports gRPC, which takes its time

app = typer.Typer(help="The controller: install tables on P4Runtime switches.")


@app.callback()
def _controller() -> None:
    pass  # with a callback, typer keeps the name of the only command


@app.command("install")
@refuses_bad_input
def install(
    fabric: Fabric,
    switches: Annotated[
        Path, typer.Option(help="YAML file: switch name to {address: HOST:PORT, device_id: N}.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Switches that hold another program may lose it.")
    ] = False,
    wait: Annotated[float, typer.Option(help="Seconds for a switch to answer.")] = 5.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Install program and tables on every switch, read them back, and say what changed.

    Running it again changes nothing. Exit status 1 when a switch failed; the others are finished.
    """
    from controller import install as installation
    from controller.client import Timeouts
    from controller.limits import NotInstallableError, check_installable
    from controller.pipeline import PipelineFileError, load_pipeline
    from controller.tables import switch_entries
    from controller.targets import TargetsError, load_targets

    loaded = topologies.load(fabric)
    compiled = Path(str(resources.files("p4src"))) / "compiled"
    try:
        check_installable(loaded)
        targets = load_targets(switches, loaded)
        pipeline = load_pipeline(compiled / "mrc.json", compiled / "mrc.p4info.txt")
    except (NotInstallableError, TargetsError, PipelineFileError) as error:
        raise BadInput(str(error)) from error
    with progress_bar("installing", quiet=as_json) as progress:
        finished = 0

        def on_done(_: installation.SwitchReport) -> None:
            nonlocal finished
            finished += 1
            progress(finished, len(targets))

        report = installation.install(
            targets,
            pipeline,
            lambda name: switch_entries(loaded, name),
            installation.InstallOptions(replace=replace, timeouts=Timeouts(connect_s=wait)),
            on_done=on_done,
        )
    if as_json:
        print_json(dataclasses.asdict(report))
    else:
        _show(report)
    raise typer.Exit(report.exit_status)


def _show(report: InstallReport) -> None:
    rows = table()
    rows.add_column("switch")
    rows.add_column("program")
    for name in ("inserted", "modified", "deleted", "unchanged", "seconds"):
        rows.add_column(name, justify="right")
    for switch in report.switches:
        if switch.error is None:
            rows.add_row(
                escape(switch.name),
                "pushed" if switch.pushed else "was there",
                str(switch.inserted),
                str(switch.modified),
                str(switch.deleted),
                str(switch.unchanged),
                f"{switch.seconds:.2f}",
            )
        else:
            rows.add_row(escape(switch.name), "[bold red]FAILED[/bold red]")
    out = console()
    out.print(rows)
    for error in report.errors:
        typer.echo(f"mrc: {error}", err=True)
    done = len(report.switches) - len(report.errors)
    out.print(f"{done} of {len(report.switches)} switches installed, {report.changes} changes")
