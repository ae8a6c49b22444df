# SPDX-License-Identifier: Apache-2.0
"""`mrc map SCENARIO`: the Clustermapper's map, live, while a scenario runs in virtual time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live

from testbed.cli.output import FAILED, PASSED, console, print_json, refuses_bad_input
from testbed.cli.runs import Results, Seed, complete_scenario
from testbed.map_options import MapOptions
from testbed.scenario import load_scenario

if TYPE_CHECKING:
    from testbed.virtual.world import VirtualWorld

_ROWS = 12
"""Findings that the live table shows, the newest."""


@refuses_bad_input
def map_(
    scenario: Annotated[
        str,
        typer.Argument(
            help="Name (see `mrc scenarios`) or YAML file; one without a map section is probed "
            "with the defaults.",
            autocompletion=complete_scenario,
        ),
    ] = "map-every-fault",
    seed: Seed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the map as JSON.")] = False,
    results: Results = Path("results"),
) -> None:
    """Probe every link while a scenario runs, and show which are found to lose probes.

    Exit status 1 when the scenario fails, or the map names what is not broken.
    """
    from testbed.cli.map_tables import show_map
    from testbed.cli.run_tables import show_checks
    from testbed.report import write_report
    from testbed.run import run_scenario

    loaded = load_scenario(scenario)
    if loaded.map is None:
        loaded = loaded.model_copy(update={"map": MapOptions()})
    chosen = loaded.seed if seed is None else seed
    folder = results / f"{loaded.name}-{chosen}-map"
    with _LiveMap(quiet=as_json) as live:
        result = run_scenario(
            loaded, seed=chosen, progress=live.draw, prepare=live.watch, results_dir=folder
        )
    write_report(folder)
    found = result.map
    assert found is not None
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        out = console()
        show_map(out, found)
        show_checks(out, result)
        out.print(f"results in {folder} (open report.html)", soft_wrap=True)
    raise typer.Exit(PASSED if result.passed and not found.wrong else FAILED)


class _LiveMap:
    """Draws on stderr while the run goes on; nothing without a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._world: VirtualWorld | None = None
        shown = not quiet and sys.stderr.isatty()
        self._live = Live(console=Console(stderr=True), transient=True) if shown else None

    def __enter__(self) -> _LiveMap:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._live is not None:
            self._live.stop()

    def watch(self, world: VirtualWorld) -> None:
        """The world whose map is drawn."""
        self._world = world

    def draw(self, now_ns: int, _: int) -> None:
        """What the map knows now."""
        if self._live is None or self._world is None or self._world.mapper is None:
            return
        from testbed.cli.map_tables import findings_table, state_table
        from testbed.mapped import map_findings

        findings = map_findings(self._world.mapper.map.findings)
        state = state_table(self._world.fabric, findings, now_ns)
        self._live.update(Group(state, findings_table(findings[-_ROWS:])))
