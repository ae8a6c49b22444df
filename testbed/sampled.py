# SPDX-License-Identifier: Apache-2.0
"""What regular samples of a run showed: queues of switches, windows of senders.

Part of the schema of ``result.json`` (`testbed.results`). Queues are counted in packets of the
data class, without the one that is being sent.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class QueueDepth(_Record):
    """The data queue of one switch port, between settling and the end of posting."""

    switch: str
    port: int
    trim_at: int
    """Packets waiting at which this port cuts the next one."""
    samples: int
    median: int
    p99: int
    most: int


class FlowTrace(_Record):
    """One sender over time; value i belongs to the time i × ``sample_ns`` of the `Trace`."""

    flow: str
    window_bytes: list[int]
    inflight_bytes: list[int]
    """Of transmissions neither acknowledged, NACKed nor declared lost."""
    rtt_ns: list[int]
    """The latest round trip measured; 0 before the first."""


class Trace(_Record):
    """Congestion control at work, for the flows that were asked for."""

    sample_ns: int
    flows: list[FlowTrace]
