# SPDX-License-Identifier: Apache-2.0
"""What agent and clients tell each other, as plain values.

Each class has the fields of the message of its name in `proto/agent.proto`, which says what they
mean; `None` stands for a field that is not set. Completions and events are those of
`endpoint.events`.
"""

from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from endpoint.events import EvChanged, PortChanged, QpChanged


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """Who an agent is, and what fabric it thinks it is on."""

    host: str
    host_index: int
    address: bytes
    process_id: int
    fabric: str
    planes: int
    path_mtu: int
    base_rtt_ns: int
    now_ns: int
    version: str


@dataclass(frozen=True, slots=True)
class Region:
    """A registered memory region. A peer needs `va` and `rkey`."""

    region_id: int
    va: int
    rkey: int
    length: int
    remote_write: bool
    file: str | None = None


@dataclass(frozen=True, slots=True)
class QpOptions:
    """Settings of a queue pair; None takes the default of `endpoint.qp_config.QpConfig`."""

    first_psn: int | None = None
    evs: int | None = None
    min_active: int | None = None
    timeout: int | None = None
    linear_retries: int | None = None
    exponential_retries: int | None = None
    congestion: str | None = None
    trimmable: bool | None = None
    base_rtt_ns: int | None = None
    reorder_ns: int | None = None
    mpr_units: int | None = None
    max_wimm: int | None = None
    loss_free_ns: int | None = None
    path_mtu: int | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a queue pair can take and does."""

    max_message_bytes: int
    max_wimm: int
    write_with_immediate: bool
    trimming: bool
    planes: int


@dataclass(frozen=True, slots=True)
class QpInfo:
    """What the other end needs to connect to a queue pair."""

    qpn: int
    psn: int
    host_index: int
    address: bytes
    path_mtu: int
    mpr_units: int
    capabilities: Capabilities


@dataclass(frozen=True, slots=True)
class WriteWork:
    """One WRITE, or WRITE with immediate where `imm` (32 bits) is given."""

    wr_id: int
    region_id: int
    offset: int
    length: int
    remote_va: int
    rkey: int
    imm: int | None = None


@dataclass(frozen=True, slots=True)
class FramesDropped:
    """Frames that had reached this machine were lost in it; see `endpoint.agent.drops`."""

    time_ns: int
    port: int
    interface: str
    place: str
    frames: int


AgentEvent = EvChanged | PortChanged | QpChanged | FramesDropped


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which nothing was placed."""

    begin_ns: int
    length_ns: int


@dataclass(frozen=True, slots=True)
class Placement:
    """When the payload of a queue pair reached memory."""

    bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    longest: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class QpStatistics:
    """One queue pair at one moment."""

    qpn: int
    state: str
    error: str
    counters: dict[str, int]
    smoothed_rtt_ns: int
    min_rtt_ns: int
    loss_delay_ns: int
    window_bytes: int
    inflight_bytes: int
    placement: Placement


@dataclass(frozen=True, slots=True)
class PortStatistics:
    """Counters of one port, since the agent started."""

    port: int
    frames_received: int = 0
    bytes_received: int = 0
    frames_sent: int = 0
    bytes_sent: int = 0
    send_errors: dict[str, int] = field(default_factory=dict)
    receive_errors: dict[str, int] = field(default_factory=dict)
    socket_drops: int = 0
    interface_drops: int = 0


@dataclass(frozen=True, slots=True)
class Statistics:
    """Everything that an agent counts, at one moment."""

    time_ns: int
    nic: dict[str, int]
    qps: tuple[QpStatistics, ...]
    ports: tuple[PortStatistics, ...]

    def qp(self, qpn: int) -> QpStatistics:
        """Those of one queue pair; KeyError when it is not there."""
        for found in self.qps:
            if found.qpn == qpn:
                return found
        raise KeyError(f"no queue pair {qpn} in these statistics")

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class EvStatus:
    """One path of a queue pair. `last_data_ns` is 0 when no data packet took it."""

    ev: int
    plane: int
    uplink: int
    state: str
    in_use: bool
    data_packets: int
    last_data_ns: int


@dataclass(frozen=True, slots=True)
class PortStatus:
    """One NIC port and its interface."""

    port: int
    interface: str
    usable: bool
    mtu: int
    rate_bps: int
    rate_fps: int
    changes: int


class ExerciseKind(Enum):
    """What an agent's loop drives by itself; see `endpoint.agent.exercises`."""

    STREAM = "stream"
    PING = "ping"
    PONG = "pong"


@dataclass(frozen=True, slots=True)
class ExerciseLane:
    """A queue pair and the one write that it makes again and again."""

    qpn: int
    region_id: int
    offset: int
    length: int
    remote_va: int
    rkey: int


@dataclass(frozen=True, slots=True)
class ExerciseRequest:
    """An exercise. `iterations` of each queue pair, or 0 and a duration; times in ns."""

    kind: ExerciseKind
    lanes: tuple[ExerciseLane, ...]
    iterations: int = 0
    depth: int = 1
    duration_ns: int = 0
    margin_ns: int = 0


@dataclass(frozen=True, slots=True)
class ExerciseResult:
    """How an exercise went. `error` is empty when it ended as it should.

    With iterations: when each was posted and completed, in the order of that. `counted` completed
    iterations between `begin_ns` and `end_ns`.
    """

    error: str
    posted_ns: tuple[int, ...]
    completed_ns: tuple[int, ...]
    begin_ns: int
    end_ns: int
    counted: int
