# SPDX-License-Identifier: Apache-2.0
"""What the engine reports: completions of work requests, and events of paths, ports and QPs."""

import enum
from dataclasses import dataclass


class WorkOpcode(enum.Enum):
    """What a completion completes."""

    WRITE = "write"
    WRITE_IMM = "write_imm"
    RECV_WRITE_IMM = "recv_write_imm"


class WorkStatus(enum.Enum):
    """How a work request ended."""

    SUCCESS = "success"
    FLUSHED = "flushed"
    RETRY_EXCEEDED = "retry_exceeded"
    REMOTE_ACCESS_ERROR = "remote_access_error"
    LOCAL_ACCESS_ERROR = "local_access_error"
    FATAL_NACK = "fatal_nack"


@dataclass(frozen=True, slots=True)
class Completion:
    """One finished work request. `imm` is None unless an immediate value was received."""

    qpn: int
    wr_id: int
    opcode: WorkOpcode
    status: WorkStatus
    byte_len: int
    imm: int | None
    time_ns: int


@dataclass(frozen=True, slots=True)
class EvChanged:
    """A path of a queue pair changed its state; names as in `endpoint.ev_states`."""

    time_ns: int
    qpn: int
    ev: int
    plane: int
    old: str
    new: str
    cause: str


@dataclass(frozen=True, slots=True)
class PortChanged:
    """A port of this NIC (`remote` False) or of a peer (`remote` True) went up or down."""

    time_ns: int
    port: int
    usable: bool
    remote: bool
    address: bytes


@dataclass(frozen=True, slots=True)
class QpChanged:
    """A queue pair changed its state; `reason` says why it is in ERROR."""

    time_ns: int
    qpn: int
    old: str
    new: str
    reason: str


Event = EvChanged | PortChanged | QpChanged
