# SPDX-License-Identifier: Apache-2.0
"""Packet-hops each second of the virtual world: whole fabrics with endpoints, under full load.

A packet-hop is one frame through one switch: arrival, ingress, queue, egress, the link after it,
and its share of the endpoints' work at both ends. Fabrics are measured in turn, round by round,
so that a slow moment of the machine falls on all of them.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from testbed.run import compiled_program, run_scenario
from testbed.scenario import Scenario, parse_scenario
from testbed.virtual.world import VirtualWorld

ROUNDS = 5
FABRICS = {"tiny": "60us", "demo": "12us", "rack16": "40us"}


def _scenario(topology: str, until: str) -> Scenario:
    document = {
        "name": "benchmark",
        "description": "A permutation at full load.",
        "topology": topology,
        "duration": "2ms",
        "workload": {
            "kind": "permutation",
            "message_bytes": "256KiB",
            "in_flight": 4,
            "until": until,
        },
    }
    return parse_scenario(document, source="benchmark")


def _measure(scenario: Scenario) -> tuple[float, float]:
    """Packet-hops and data packets each second of wall time."""
    worlds: list[VirtualWorld] = []
    started = time.perf_counter()
    result = run_scenario(scenario, prepare=worlds.append)
    elapsed = time.perf_counter() - started
    if not result.passed:
        raise RuntimeError(f"the benchmark's run on {scenario.topology} failed: {result.checks}")
    return worlds[0].packet_hops / elapsed, result.packets.data_sent / elapsed


def run() -> list[dict[str, Any]]:
    """One record a fabric and unit."""
    compiled_program()
    scenarios = {name: _scenario(name, until) for name, until in FABRICS.items()}
    samples: dict[tuple[str, str], list[float]] = {}
    for _ in range(ROUNDS):
        for name, scenario in scenarios.items():
            hops, packets = _measure(scenario)
            samples.setdefault((name, "packet-hops/s"), []).append(hops)
            samples.setdefault((name, "data packets/s"), []).append(packets)
    return [
        {
            "benchmark": "virtual_world",
            "configuration": {"fabric": fabric},
            "metric": "rate",
            "value": round(statistics.median(values)),
            "lowest": round(min(values)),
            "highest": round(max(values)),
            "unit": unit,
        }
        for (fabric, unit), values in samples.items()
    ]
