# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: the schema of ``result.json``, and ``environment.json`` beside it.

`RunResult` holds only what belongs to the world's own time, as integers, rounded floats and
sorted lists, so that equal seeds give equal bytes. Wall time, versions and paths are properties
of the machine and go to `Environment`.

Units are in the names: ``_ns`` integer nanoseconds of the world's time, ``_us`` microseconds,
``_gbps`` gigabits of payload per second, ``_bytes`` payload bytes unless said otherwise.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from testbed.mapped import MapResult
from testbed.program_versions import program_versions
from testbed.real_time import RealTime
from testbed.sampled import QueueDepth, Trace

SCHEMA_VERSION = 1


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TopologySummary(_Record):
    name: str
    hosts: int
    planes: int
    t0s_per_plane: int
    t1s_per_plane: int
    nic_t0_gbps: float
    t0_t1_gbps: float
    path_mtu: int
    base_rtt_ns: int
    bdp_bytes: int
    """Bandwidth-delay product of one plane."""


class Check(_Record):
    """One expectation: what was wanted, what was measured."""

    name: str
    ok: bool
    wanted: str
    measured: str


class CompletionTimes(_Record):
    """Message completion times of one group of flows (``all``, ``incast``, ``victim``, …)."""

    group: str
    completed: int
    median_ns: int
    p99_ns: int
    max_ns: int


class FlowResult(_Record):
    """One pair of hosts, one QP."""

    name: str
    group: str
    source: str
    destination: str
    messages_posted: int
    messages_completed: int
    bytes_verified: int
    goodput_gbps: float
    """Payload placed between settling and the end of posting."""
    srtt_ns: int
    """Smoothed round-trip time as the sender had measured it at the end."""
    error: str | None = None
    """Why the QP ended in ERROR, if it did."""


class PacketTotals(_Record):
    """Over the whole run and fabric. Data packets unless said otherwise."""

    data_sent: int
    """Transmissions, retransmissions included."""
    data_retransmitted: int
    data_placed: int
    duplicates: int
    trimmed: int
    """Cut by switches."""
    marked: int
    """Marked CE by switches."""
    data_lost: int
    control_sent: int
    control_lost: int
    probes_lost: int
    congestion_drops: int
    """Dropped by switches for want of room, as their program counts it."""
    timers_fired: int
    """Retransmission timers that expired."""


class LossCount(_Record):
    """Frames that vanished in one place: a link, a switch, a NIC port."""

    place: str
    cause: str
    data: int
    control: int
    probes: int


class SwitchDrops(_Record):
    """Frames that a switch's program dropped, by its own reason."""

    switch: str
    reason: str
    packets: int


class QpFailover(_Record):
    """One QP and one fault."""

    flow: str
    data_packets: int
    """Data packets that went into the fault."""
    lost: int
    first_loss_ns: int
    last_packet_ns: int
    srtt_ns: int
    """Smoothed round trip of this QP, as it had measured it at its first loss."""
    last_packet_rtts: float
    """(last packet − first loss) / srtt."""


class FaultResult(_Record):
    """One occurrence of a fault."""

    label: str
    kind: str
    target: str
    begin_ns: int
    end_ns: int | None
    data_packets_into: int
    data_packets_lost: int
    control_packets_lost: int
    probe_packets_lost: int
    last_data_packet_us: float | None
    """From its begin to the last data packet that went into it; None: none did."""
    worst_last_packet_rtts: float | None
    recovered_us: float | None
    """From its begin until every data packet lost in it had been placed; None: none was lost,
    or not all were placed (see ``unrecovered``)."""
    unrecovered: int
    goodput_before_gbps: float | None
    goodput_after_gbps: float | None
    """None where no undisturbed stretch is left to measure in."""
    maxflow_before_gbps: float
    maxflow_after_gbps: float
    goodput_after_share: float | None
    """Of the max-flow after."""
    goodput_mended_gbps: float | None = None
    maxflow_mended_gbps: float | None = None
    goodput_mended_share: float | None = None
    qps: list[QpFailover]


class GoodputSeries(_Record):
    """Payload placed, by plane and bin; ``planes[p][i]`` covers ``[i·bin, (i+1)·bin)``."""

    bin_ns: int
    planes: list[list[float]] = Field(description="Gb/s")


class EvChange(_Record):
    """An EV changed its state (``old`` is empty for the first state)."""

    time_ns: int
    flow: str
    host: str
    ev: int
    plane: int
    uplink: int
    old: str
    new: str
    cause: str


class PortEvent(_Record):
    """What a host learned about a NIC port, its own or its peer's."""

    time_ns: int
    host: str
    text: str


class QueueBalance(_Record):
    """Packets that one class of one switch port took in and gave out."""

    switch: str
    port: int
    traffic_class: str
    enqueued: int
    dequeued: int
    lost_in_stop: int = 0
    """Packets that were waiting when the switch stopped."""


class PortUse(_Record):
    """A transmitting NIC port's busy share, between settling and the end of posting."""

    host: str
    port: int
    busy_share: float


class MaxFlowStretch(_Record):
    """The workload's max-flow over the links alive in one settled stretch, in payload."""

    from_ns: int
    to_ns: int
    dead_links: int
    gbps: float
    measured_gbps: float | None
    share: float | None


class RunResult(_Record):
    """Everything a run measured, in the world's own time."""

    schema_version: int = SCHEMA_VERSION
    scenario: str
    description: str
    world: Literal["virtual", "mininet"]
    seed: int
    time_scale: float = 1.0
    """World's time over the scenario's: 1 in virtual time."""
    topology: TopologySummary
    workload: str
    passed: bool
    checks: list[Check]
    duration_ns: int
    """When the run ended."""
    posting_end_ns: int
    """When the last message was posted."""
    bytes_posted: int
    bytes_verified: int
    bytes_wrong: int
    completion_times: list[CompletionTimes]
    flows: list[FlowResult]
    packets: PacketTotals
    losses: list[LossCount]
    switch_drops: list[SwitchDrops]
    faults: list[FaultResult]
    goodput: GoodputSeries
    maxflow: list[MaxFlowStretch]
    maxflow_formula: str
    victim_share: float | None = None
    """Incast with a victim: its goodput during the incast, as a share of that before it."""
    fair_share: float | None = None
    """The slowest flow's goodput as a share of the mean flow's, once settled."""
    ev_changes: list[EvChange]
    port_events: list[PortEvent]
    queues: list[QueueBalance]
    port_use: list[PortUse]
    congestion: str = "window"
    """Name of the congestion control that the endpoints used."""
    jain_index: float | None = None
    """Jain's index of the flows' goodput, once settled: (Σx)² / (n Σx²); 1 when all are equal."""
    queue_depths: list[QueueDepth] = Field(default_factory=list)
    """Where queues were sampled."""
    trace: Trace | None = None
    """Where flows were sampled."""
    map: MapResult | None = None
    """Of runs with a Clustermapper."""
    real_time: RealTime | None = None
    """Of runs with real packets."""

    def to_json(self) -> str:
        """The text of ``result.json``: sorted keys, one form for one value."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, indent=1) + "\n"


class Environment(_Record):
    """What the run needed and where it ran: never part of the result."""

    wall_seconds: float
    events: int
    packet_hops: int
    python: str
    implementation: str
    system: str
    processors: int
    versions: dict[str, str]
    arguments: list[str]


def environment(*, wall_seconds: float, events: int, packet_hops: int) -> Environment:
    """This process's environment."""
    versions = {}
    for name in ("mrc-p4", "networkx", "pydantic", "PyYAML"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "unknown"
    versions |= program_versions()
    return Environment(
        wall_seconds=round(wall_seconds, 3),
        events=events,
        packet_hops=packet_hops,
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processors=os.cpu_count() or 1,
        versions=versions,
        arguments=sys.argv,
    )


def write_results(folder: Path, result: RunResult, surroundings: Environment) -> None:
    """Write ``result.json`` and ``environment.json`` into ``folder`` (made when missing)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(result.to_json(), encoding="utf-8")
    (folder / "environment.json").write_text(
        json.dumps(surroundings.model_dump(mode="json"), sort_keys=True, indent=1) + "\n",
        encoding="utf-8",
    )


def read_result(path: Path) -> RunResult:
    """The result in this file; `ValueError` when it is not one."""
    return RunResult.model_validate_json(path.read_text(encoding="utf-8"))


def read_environment(path: Path) -> Environment:
    """The environment in this file; `ValueError` when it is not one."""
    return Environment.model_validate_json(path.read_text(encoding="utf-8"))
