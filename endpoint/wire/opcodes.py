# SPDX-License-Identifier: Apache-2.0
"""BTH opcodes of MRC (OCP MRC 1.0) and what each says about the packet.

The tables at the end are indexed by opcode (0..255), because receivers ask for every packet.
"""

from __future__ import annotations

from typing import Final

WRITE_FIRST: Final = 0xC6
WRITE_MIDDLE: Final = 0xC7
WRITE_LAST: Final = 0xC8
WRITE_LAST_IMM: Final = 0xC9
WRITE_ONLY: Final = 0xCA
WRITE_ONLY_IMM: Final = 0xCB
ACKNOWLEDGE: Final = 0xD1
ENDPOINT_REQUEST: Final = 0xD8
ENDPOINT_RESPONSE: Final = 0xD9
SACK: Final = 0xDC
NACK: Final = 0xDD
PROBE_REQUEST: Final = 0xDE

ENDPOINT_QP: Final = 2
"""Destination QP of endpoint requests and responses, which belong to no connection."""

NAMES: Final[dict[int, str]] = {
    WRITE_FIRST: "RDMA WRITE First",
    WRITE_MIDDLE: "RDMA WRITE Middle",
    WRITE_LAST: "RDMA WRITE Last",
    WRITE_LAST_IMM: "RDMA WRITE Last with Immediate",
    WRITE_ONLY: "RDMA WRITE Only",
    WRITE_ONLY_IMM: "RDMA WRITE Only with Immediate",
    ACKNOWLEDGE: "Acknowledge",
    ENDPOINT_REQUEST: "Endpoint Request",
    ENDPOINT_RESPONSE: "Endpoint Response",
    SACK: "Reliability SACK",
    NACK: "Reliability NACK",
    PROBE_REQUEST: "Reliability Probe Request",
}


def name(opcode: int) -> str:
    """Readable name of an opcode; its number in hexadecimal when it is none of MRC's."""
    return NAMES.get(opcode, f"unknown opcode 0x{opcode:02X}")


def _table(*members: int) -> tuple[bool, ...]:
    return tuple(opcode in members for opcode in range(256))


IS_WRITE: Final = _table(
    WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM
)
"""Data packets: METH, RETH and payload follow the BTH."""
STARTS_MESSAGE: Final = _table(WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMM)
ENDS_MESSAGE: Final = _table(WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM)
HAS_IMM: Final = _table(WRITE_LAST_IMM, WRITE_ONLY_IMM)
"""Data packets that carry immediate data behind the RETH."""
