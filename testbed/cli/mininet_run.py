# SPDX-License-Identifier: Apache-2.0
"""`mrc run SCENARIO --world mininet`: with real packets, shown beside virtual time."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from testbed.cli.output import (
    FAILED,
    PASSED,
    BadInput,
    console,
    progress_bar,
    refuses_bad_input,
    towards,
)
from testbed.scenario import load_scenario


@refuses_bad_input
def run_and_show(
    name: str,
    seed: int | None,
    switch: str | None,
    as_described: bool,
    compare: bool,
    as_json: bool,
    pcap: list[str] | None,
    results: Path,
) -> int:
    """The exit status: 0 when everything held."""
    from testbed.cli.mininet_tables import show_mininet_run
    from testbed.mininet import requirements
    from testbed.mininet.errors import MininetWorldError
    from testbed.mininet.signals import orderly_end
    from testbed.report import read_run, write_report

    scenario = load_scenario(name)
    chosen = scenario.seed if seed is None else seed
    try:
        kind = requirements.choose_switch(switch)
        requirements.check(kind)
        from testbed.mininet.run import MininetOptions, run_in_mininet

        folder = results / f"{scenario.name}-{chosen}-{kind}"
        expected_ns = getattr(scenario.workload, "until", None) or scenario.duration
        with orderly_end(), progress_bar(scenario.name, quiet=as_json) as progress:
            result = run_in_mininet(
                scenario,
                MininetOptions(kind, as_described),
                seed=chosen,
                results_dir=folder,
                capture=[*scenario.capture, *(pcap or [])],
                progress=towards(progress, expected_ns),
                say=lambda text: None if as_json else typer.echo(text, err=True),
            )
    except MininetWorldError as error:
        raise BadInput(str(error)) from error
    write_report(folder)
    if as_json:
        sys.stdout.write(result.to_json())
        return PASSED if result.passed else FAILED
    virtual = []
    if compare and result.faults:
        from testbed.mininet.compare import virtual_timings

        virtual = virtual_timings(scenario, chosen)
    show_mininet_run(console(), *read_run(folder), folder, virtual)
    return PASSED if result.passed else FAILED
