# SPDX-License-Identifier: Apache-2.0
"""The same scenario in virtual time, for figures to put beside those of real packets."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from testbed.results import RunResult
from testbed.run import run_scenario
from testbed.scenario import Scenario
from testbed.virtual.world import VirtualWorld

_BIN_NS = 100
"""How exactly gaps between placed bytes are known."""


@dataclass(frozen=True, slots=True)
class VirtualTiming:
    """One occurrence of a fault in virtual time; None where no flow had packets in it."""

    stall_us: float | None
    stall_base_rtts: float | None
    last_packet_us: float | None
    last_packet_base_rtts: float | None


def virtual_timings(scenario: Scenario, seed: int) -> list[VirtualTiming]:
    """Of each occurrence, in order of time. The scenario as it is written, not slowed down."""
    measure = scenario.measure.model_copy(update={"bin": _BIN_NS})
    worlds: list[VirtualWorld] = []
    result = run_scenario(
        scenario.model_copy(update={"measure": measure}),
        seed=seed,
        capture=[],
        prepare=worlds.append,
    )
    base_us = result.topology.base_rtt_ns / 1000
    changes = sorted({f.begin_ns for f in result.faults} | {f.end_ns or 0 for f in result.faults})
    timings = []
    for fault in result.faults:
        later = [change for change in changes if change > fault.begin_ns]
        until_ns = min(later[0] if later else result.posting_end_ns, result.posting_end_ns)
        names = {qp.flow for qp in fault.qps}
        stall_ns = _longest_gap_ns(worlds[0], result, names, fault.begin_ns, until_ns)
        stall_us = None if stall_ns is None else stall_ns / 1000
        last_us = fault.last_data_packet_us
        timings.append(
            VirtualTiming(stall_us, _rounds(stall_us, base_us), last_us, _rounds(last_us, base_us))
        )
    return timings


def _longest_gap_ns(
    world: VirtualWorld, result: RunResult, names: set[str], from_ns: int, to_ns: int
) -> int | None:
    """The longest gap of these flows that touches a stretch of time."""
    longest = None
    for flow, row in zip(result.flows, world.flow_goodput.rows, strict=True):
        if flow.name not in names:
            continue
        bins = sorted(number for number, placed in row.items() if placed)
        for earlier, later in pairwise(bins):
            begin, end = earlier * _BIN_NS, later * _BIN_NS
            if begin < to_ns and end > from_ns and (longest is None or end - begin > longest):
                longest = end - begin
    return longest


def _rounds(us: float | None, base_us: float) -> float | None:
    return None if us is None else round(us / base_us, 2)
