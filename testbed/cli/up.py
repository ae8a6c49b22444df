# SPDX-License-Identifier: Apache-2.0
"""`mrc up TOPOLOGY`: a fabric of real packets, and a prompt to act on it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

import topologies
from testbed.cli.output import BadInput, refuses_bad_input
from testbed.cli.runs import AsDescribed, Results, Switch
from testbed.cli.topo import Fabric
from testbed.mininet.errors import MininetWorldError


@refuses_bad_input
def up(
    topology: Fabric = "tiny",
    switch: Switch = None,
    as_described: AsDescribed = False,
    senders: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Hosts that will send at once: fewer get faster ports. All by default; "
            "scenarios need all.",
        ),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="Run the prompt's commands from this file, and end.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the agents' random choices.")] = 1,
    results: Results = Path("results"),
) -> None:
    """Bring a fabric up with real packets, and give a prompt: write, fail, heal, look.

    Everything is taken down again when the prompt ends (exit, Ctrl-D), or is interrupted.
    """
    from testbed.mininet import requirements

    described = topologies.load(topology)
    try:
        kind = requirements.choose_switch(switch)
        requirements.check(kind)
        from testbed.cli.up_session import run_prompt

        run_prompt(
            described,
            kind,
            as_described=as_described,
            senders=senders,
            script=script,
            seed=seed,
            results=results / f"up-{described.name}-{kind}",
        )
    except MininetWorldError as error:
        raise BadInput(str(error)) from error
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdout.flush()
