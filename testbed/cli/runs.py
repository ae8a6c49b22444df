# SPDX-License-Identifier: Apache-2.0
"""`mrc demo`, `mrc run`, `mrc scenarios`, `mrc report`: run scenarios and show what came out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from testbed.cli.output import (
    FAILED,
    PASSED,
    BadInput,
    console,
    print_json,
    progress_bar,
    refuses_bad_input,
    table,
    towards,
)
from testbed.scenario import load_scenario, shipped_scenarios

Seed = Annotated[
    int | None, typer.Option(min=0, help="Seed of everything random; the scenario's by default.")
]
Json = Annotated[bool, typer.Option("--json", help="Print result.json and nothing else.")]
Results = Annotated[Path, typer.Option(help="Folder under which the run gets its own.")]
Pcap = Annotated[
    list[str] | None,
    typer.Option(metavar="LINK", help="Capture this link, e.g. h1-p0t0a. Can be repeated."),
]
Trace = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FLOW",
        help="virtual: record window, round trip and bytes in flight of this flow, e.g. h5-h1, "
        "or of all. Can be repeated.",
    ),
]

Switch = Annotated[
    str | None,
    typer.Option(help="mininet: bmv2 or soft; by default BMv2 where it is installed."),
]
AsDescribed = Annotated[
    bool,
    typer.Option(
        "--as-described",
        help="mininet: refuse rates that this machine cannot carry instead of slowing down.",
    ),
]


def complete_scenario(incomplete: str) -> list[str]:
    """Names of scenarios, for the shell."""
    return [name for name in shipped_scenarios() if name.startswith(incomplete)]


@refuses_bad_input
def demo(
    seed: Seed = None, as_json: Json = False, pcap: Pcap = None, results: Results = Path("results")
) -> None:
    """Three faults on a 4-plane fabric: a link dies, then a switch, then a NIC port."""
    raise typer.Exit(_run("demo", "virtual", seed, as_json, pcap, results))


@refuses_bad_input
def run(
    scenario: Annotated[
        str,
        typer.Argument(
            help="Name (see `mrc scenarios`) or YAML file.", autocompletion=complete_scenario
        ),
    ],
    seed: Seed = None,
    as_json: Json = False,
    pcap: Pcap = None,
    trace: Trace = None,
    results: Results = Path("results"),
    world: Annotated[str, typer.Option(help="virtual, or mininet: real packets.")] = "virtual",
    switch: Switch = None,
    as_described: AsDescribed = False,
    compare: Annotated[
        bool, typer.Option(help="mininet: show the same faults in virtual time beside.")
    ] = True,
) -> None:
    """Run a scenario and check what it expects; exit status 1 when something did not hold."""
    if world == "mininet":
        from testbed.cli.mininet_run import run_and_show

        if trace:
            raise BadInput("--trace: flows are sampled in the virtual world only")
        status = run_and_show(scenario, seed, switch, as_described, compare, as_json, pcap, results)
        raise typer.Exit(status)
    raise typer.Exit(_run(scenario, world, seed, as_json, pcap, results, trace))


def _run(
    name: str,
    world: str,
    seed: int | None,
    as_json: bool,
    pcap: list[str] | None,
    results: Path,
    trace: list[str] | None = None,
) -> int:
    from testbed.cli.run_tables import show_run
    from testbed.report import read_run, write_report
    from testbed.run import run_scenario

    scenario = load_scenario(name)
    chosen = scenario.seed if seed is None else seed
    folder = results / f"{scenario.name}-{chosen}"
    expected_ns = getattr(scenario.workload, "until", None) or scenario.duration
    with progress_bar(scenario.name, quiet=as_json) as progress:
        result = run_scenario(
            scenario,
            world=world,
            seed=chosen,
            progress=towards(progress, expected_ns),
            capture=[*scenario.capture, *(pcap or [])],
            trace=[*scenario.measure.trace, *(trace or [])],
            results_dir=folder,
        )
    write_report(folder)
    if as_json:
        sys.stdout.write(result.to_json())
    else:
        show_run(console(), *read_run(folder), folder)
    return PASSED if result.passed else FAILED


@refuses_bad_input
def scenarios(
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the scenarios that come with the project."""
    loaded = [load_scenario(name) for name in shipped_scenarios()]
    if as_json:
        print_json([json.loads(scenario.model_dump_json()) for scenario in loaded])
        return
    rows = table()
    rows.add_column("name", no_wrap=True)  # to be copied into a command
    for column in ("fabric", "workload", "faults", "what it shows"):
        rows.add_column(column, overflow="fold")
    for scenario in loaded:
        kinds = list(dict.fromkeys(fault.kind for fault in scenario.faults))
        rows.add_row(
            scenario.name,
            escape(scenario.topology),
            scenario.workload.kind,
            ", ".join(kinds) or "none",
            escape(scenario.description),
        )
    console().print(rows)


@refuses_bad_input
def report(
    result_dir: Annotated[Path, typer.Argument(help="Folder that holds a result.json.")],
) -> None:
    """Make report.html again from the result.json in a folder."""
    from testbed.report import write_report

    typer.echo(write_report(result_dir))
