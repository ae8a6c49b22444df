# SPDX-License-Identifier: Apache-2.0
"""What a run with real packets has beside the common results: see `testbed.results`.

Milliseconds and base round trips side by side; a base round trip is the one that follows from the
fabric as it was built (`TopologySummary.base_rtt_ns`).
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FaultTiming(_Record):
    """One occurrence of a fault, as an application and a sender saw it."""

    label: str
    stall_ms: float | None
    """Longest gap between placed bytes of any flow that had packets in the fault; None: no flow
    had, or nothing was placed around it."""
    stall_base_rtts: float | None
    calm_gap_ms: float | None
    """The same flows' longest gap before the fault, once settled."""
    last_packet_ms: float | None
    """From the fault to the last data packet sent into it."""
    last_packet_base_rtts: float | None
    took_ms: float
    """How long it took to carry the fault out."""
    mending_took_ms: float | None = None


class MachineDrops(_Record):
    """Frames that this machine lost, and no link of the fabric: no path is to blame for them."""

    node: str
    port: int
    place: str
    frames: int


class RealTime(_Record):
    """How the fabric was made, and what only real packets have."""

    switch: str
    described_nic_gbps: float
    nic_mbps: float
    data_packets_per_second: int
    """What a NIC port may send."""
    min_rtt_us: float | None
    """The shortest round trip that any flow measured."""
    faults: list[FaultTiming]
    machine_drops: list[MachineDrops]
