# SPDX-License-Identifier: Apache-2.0
"""Run one scenario in one world and judge it: the one entry that commands and tests share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import p4src
import topologies
from controller.limits import not_installable
from softswitch import Program, load_program
from testbed.expectations import judge
from testbed.faults import FaultNames
from testbed.results import RunResult, environment, write_results
from testbed.scenario import Scenario, ScenarioError, load_scenario
from testbed.virtual.harvest import harvest
from testbed.virtual.provisioning import P4RuntimeProvisioning
from testbed.virtual.world import VirtualWorld
from testbed.workload import check_workload
from topologies.fabric import Fabric

Progress = Callable[[int, int], None]
"""Called now and then with the world's time and the scenario's duration, in ns."""

WORLDS = ("virtual", "mininet")


@cache
def compiled_program() -> Program:
    """The project's P4 program, as compiled and committed."""
    return load_program(p4src.JSON.read_bytes())


def run_scenario(
    scenario: Scenario | str | Path,
    *,
    world: str = "virtual",
    seed: int | None = None,
    progress: Progress | None = None,
    capture: Sequence[str] | None = None,
    trace: Sequence[str] | None = None,
    results_dir: Path | None = None,
    program: Program | None = None,
    prepare: Callable[[VirtualWorld], None] | None = None,
    over_p4runtime: bool = False,
) -> RunResult:
    """Run a scenario (or the one of this name or file) to its end, and check its expectations.

    ``seed`` replaces the scenario's. ``results_dir`` receives ``result.json``,
    ``environment.json`` and a pcap of each link in ``capture`` (the scenario's own list when
    None). ``trace`` names flows to sample (``measure.trace``; the scenario's own list when None).
    ``program`` replaces what the switches run; ``prepare`` is called with the world before it
    starts. With ``over_p4runtime`` the controller installs program and tables over gRPC. The
    world ``mininet`` takes none of these four, and needs a results folder; its further options
    are those of `testbed.mininet.run`.

    Raises `ScenarioError` or `topologies.TopologyError` for bad input; a run that does
    not meet its expectations is no error: see ``passed`` and ``checks``.
    """
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario)
    if trace is not None:
        measure = scenario.measure.model_copy(update={"trace": list(trace)})
        scenario = scenario.model_copy(update={"measure": measure})
    if world not in WORLDS:
        raise ScenarioError(f"no world {world!r} (there are: {', '.join(WORLDS)})")
    if world == "mininet":
        return _with_real_packets(scenario, seed, progress, capture, results_dir)
    fabric = topologies.load(scenario.topology)
    reason = not_installable(fabric)
    if reason is not None:
        raise ScenarioError(f"{scenario.source}: topology: {reason}")
    links = list(scenario.capture if capture is None else capture)
    check_names(scenario, fabric, links)
    if links and results_dir is None:
        raise ScenarioError(f"{scenario.source}: capture: needs a results folder to write to")
    started = time.perf_counter()
    with ExitStack() as services:
        provisioning = None
        if over_p4runtime:
            provisioning = services.enter_context(P4RuntimeProvisioning(fabric))
        running = VirtualWorld(
            scenario,
            fabric,
            program or compiled_program(),
            scenario.seed if seed is None else seed,
            provisioning,
        )
        for link in links:
            running.capture(link, Path(str(results_dir)))
        if prepare is not None:
            prepare(running)
        running.run(progress)
    result = harvest(running)
    result.checks = judge(result, scenario.expect)
    result.passed = all(check.ok for check in result.checks)
    if results_dir is not None:
        surroundings = environment(
            wall_seconds=time.perf_counter() - started,
            events=running.loop.events,
            packet_hops=running.packet_hops,
        )
        write_results(results_dir, result, surroundings)
    return result


def _with_real_packets(
    scenario: Scenario,
    seed: int | None,
    progress: Progress | None,
    capture: Sequence[str] | None,
    results_dir: Path | None,
) -> RunResult:
    """In the Mininet world, which is only imported where it is used."""
    from testbed.mininet.run import MininetOptions, run_in_mininet

    if results_dir is None:
        raise ScenarioError(f"{scenario.source}: the world mininet needs a results folder")
    return run_in_mininet(
        scenario,
        MininetOptions(),
        seed=scenario.seed if seed is None else seed,
        results_dir=results_dir,
        capture=scenario.capture if capture is None else capture,
        progress=progress,
    )


def check_names(scenario: Scenario, fabric: Fabric, capture: Sequence[str] = ()) -> None:
    """Raise `ScenarioError` for all that this fabric does not have or cannot do, at once."""
    links = frozenset(link.name for link in fabric.links())
    names = FaultNames(
        links=links,
        switches=frozenset(switch.name for switch in fabric.switches()),
        hosts=frozenset(host.name for host in fabric.hosts),
        planes=fabric.spec.planes,
        uplinks=fabric.spec.t1s,
    )
    problems = names.problems(scenario.faults)
    problems += [
        (f"capture[{i}]", f"no link {name!r} in this fabric")
        for i, name in enumerate(capture)
        if name not in links
    ]
    lines = [f"{scenario.source}: {field}: {text}" for field, text in problems]
    try:
        check_workload(scenario.workload, [host.name for host in fabric.hosts])
    except ScenarioError as problem:
        lines.append(f"{scenario.source}: {problem}")
    if lines:
        raise ScenarioError("\n".join(lines))
