# SPDX-License-Identifier: Apache-2.0
"""All commands in one place. Each command's module says what it does."""

from __future__ import annotations

from importlib import metadata

import typer

from testbed.cli import controller, map, mininet_machine, perftest, runs, send, topo, up


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mrc-p4 {metadata.version('mrc-p4')}")
        raise typer.Exit


app = typer.Typer(
    help="Multipath Reliable Connection on fabrics of P4 switches.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    pass


app.command("demo")(runs.demo)
app.command("run")(runs.run)
app.command("map")(map.map_)
app.command("up")(up.up)
app.command("send")(send.send)
app.command("write-bw")(perftest.write_bw)
app.command("write-lat")(perftest.write_lat)
app.command("doctor")(mininet_machine.doctor)
app.command("calibrate")(mininet_machine.calibrate)
app.command("clean")(mininet_machine.clean)
app.command("scenarios")(runs.scenarios)
app.command("report")(runs.report)
app.add_typer(topo.app, name="topo")
app.add_typer(controller.app, name="controller")
