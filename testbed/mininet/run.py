# SPDX-License-Identifier: Apache-2.0
"""Runs one scenario with real packets and judges it: what `mrc run --world mininet` does."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import topologies
from controller.limits import not_installable
from testbed.expectations import judge
from testbed.mininet import bmv2, requirements
from testbed.mininet.calibration import (
    Costs,
    check_rates,
    load_costs,
    most_nic_rate_bps,
    store_costs,
)
from testbed.mininet.flows import hosts_of
from testbed.mininet.harvest import Harvest
from testbed.mininet.live import LiveFabric
from testbed.mininet.measure_machine import measure
from testbed.mininet.net import Say
from testbed.mininet.scaling import SlowMotion, hold_ns, scale_scenario, slow_motion
from testbed.mininet.scenario_run import Progress, ScenarioRun
from testbed.mininet.switch_figures import RECEIVED
from testbed.results import Environment, RunResult, environment, write_results
from testbed.run import check_names
from testbed.scenario import Scenario, ScenarioError
from testbed.workload import pairs
from topologies.fabric import Fabric

LOGS = "logs"
"""Folder of the logs of switches and agents, in the results folder."""


@dataclass(frozen=True, slots=True)
class MininetOptions:
    """`switch`: bmv2 or soft, None for BMv2 where it is there. `as_described`: refuse rates that
    this machine cannot carry, where they would otherwise be lowered."""

    switch: str | None = None
    as_described: bool = False


def known_costs(switch_kind: str, logs: Path, say: Say) -> Costs:
    """What was measured on this machine, measured now if it never was."""
    costs = load_costs(switch_kind)
    if costs is None:
        say(f"this machine has not been measured with {switch_kind} switches: measuring it once")
        costs = measure(switch_kind, logs / "calibration", say)
        store_costs(switch_kind, costs)
    return costs


def made_bearable(
    described: Fabric, senders: int, switch_kind: str, costs: Costs, *, as_described: bool
) -> SlowMotion:
    """The fabric as described where this machine carries it, else in slow motion.

    NotReady with `as_described`, where it does not carry it.
    """
    if as_described:
        check_rates(described, senders, switch_kind, costs)
    most = most_nic_rate_bps(described, senders, switch_kind, costs)
    if described.nic_rate_bps <= most:
        return SlowMotion(described, 1.0)
    return slow_motion(described, _three_digits(most), path_rtt_ns(costs))


def example_rates(topology: str, switch_kind: str, costs: Costs) -> float:
    """Bits per second of a NIC port of a fabric in which every host sends."""
    fabric = topologies.load(topology)
    return most_nic_rate_bps(fabric, fabric.nic_count, switch_kind, costs)


def run_in_mininet(
    scenario: Scenario,
    options: MininetOptions,
    *,
    seed: int,
    results_dir: Path,
    capture: Sequence[str] = (),
    progress: Progress | None = None,
    say: Say = lambda text: None,
) -> RunResult:
    """Run a scenario to its end and write its results.

    ScenarioError or TopologyError for bad input, MininetWorldError when this machine cannot run
    it or something broke that no fault has broken.
    """
    kind = requirements.choose_switch(options.switch)
    requirements.check(kind)
    described = topologies.load(scenario.topology)
    check_scenario(scenario, described, capture)
    started = time.perf_counter()
    costs = known_costs(kind, results_dir / LOGS, say)
    hosts = [host.name for host in described.hosts]
    senders = most_ends(scenario, hosts, seed)
    slow = made_bearable(described, senders, kind, costs, as_described=options.as_described)
    say(speed_line(slow, kind))
    scaled = scale_scenario(scenario, slow.time_scale)
    with ExitStack() as stack:
        live = stack.enter_context(
            LiveFabric(
                slow.fabric,
                kind,
                logs=results_dir / LOGS,
                seed=seed,
                hold_ns=hold_ns(slow.fabric, path_rtt_ns(costs)),
                say=say,
                hosts=hosts_of(scenario, hosts, seed),
            )
        )
        for link in capture:
            stack.callback(live.capture(link, results_dir).close)
        say("running")
        run = ScenarioRun(live, scaled, seed, live.run.path)
        run.run(progress)
        result = Harvest(run, described, slow.time_scale).result()
    result.checks = judge(result, scaled.expect)
    result.passed = all(check.ok for check in result.checks)
    surroundings = run_environment(run, kind, time.perf_counter() - started)
    write_results(results_dir, result, surroundings)
    return result


def most_ends(scenario: Scenario, hosts: Sequence[str], seed: int) -> int:
    """Hosts that send, or hosts that receive, whichever are more."""
    ends = pairs(scenario.workload, hosts, seed)
    return max(len({a for _, a, _ in ends}), len({b for _, _, b in ends}))


def check_scenario(scenario: Scenario, fabric: Fabric, capture: Sequence[str] = ()) -> None:
    """ScenarioError when a scenario asks for what the fabric or this world does not have."""
    reason = not_installable(fabric)
    if reason is not None:
        raise ScenarioError(f"{scenario.source}: topology: {reason}")
    check_names(scenario, fabric, capture)
    if scenario.map is not None:
        raise ScenarioError(f"{scenario.source}: map: links are probed in the virtual world only")
    if scenario.endpoint.congestion_settings:
        raise ScenarioError(
            f"{scenario.source}: endpoint.congestion_settings: host agents take an algorithm's "
            "name only; its settings are for the virtual world"
        )


def speed_line(slow: SlowMotion, switch_kind: str) -> str:
    """What was chosen, for people."""
    rate = slow.fabric.nic_rate_bps / 1e6
    base = slow.fabric.base_rtt_ns() / 1e6
    if slow.time_scale == 1:
        return f"switches: {switch_kind}; rates and delays as described"
    return (
        f"switches: {switch_kind}; NIC ports of {rate:.3g} Mb/s, base round trip {base:.3g} ms: "
        f"the described fabric slowed down {slow.time_scale:,.0f} times"
    )


def path_rtt_ns(costs: Costs) -> int:
    """What software takes there and back over the longest path."""
    return round(costs.path_rtt_us * 1000)


def _three_digits(rate: float) -> float:
    """Rounded down, for figures that people read."""
    step = 10.0 ** (math.floor(math.log10(rate)) - 2)
    return math.floor(rate / step) * step


def run_environment(run: ScenarioRun, switch_kind: str, wall_seconds: float) -> Environment:
    """What a run needed and where it ran; `wall_seconds` in all."""
    received = sum(
        value.packets for table in run.counters.values() for value in table[RECEIVED].values()
    )
    told = sum(len(samples) for samples in run.samples.values()) + len(run.events)
    found = environment(wall_seconds=wall_seconds, events=told, packet_hops=received)
    from mininet.net import VERSION  # Mininet's Python part is not there where this is not run

    found.versions["mininet"] = VERSION
    if switch_kind == "bmv2":
        found.versions[bmv2.PROGRAM] = bmv2.version()
    return found
