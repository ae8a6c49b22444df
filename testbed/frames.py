# SPDX-License-Identifier: Apache-2.0
"""What a measurement needs to know of a frame, read at fixed offsets.

The engine parses every frame fully; the bookkeeping of a fault only asks what kind it was, whose
it was and which PSN it carried, and must cost little while thousands of frames vanish.
"""

from __future__ import annotations

from typing import NamedTuple

from endpoint.wire import opcodes
from endpoint.wire.ipv6 import NEXT_ROUTING

ETHERNET_BYTES = 14
IPV6_BYTES = 40
_OUTER_NEXT_HEADER = ETHERNET_BYTES + 6
OUTER_DESTINATION = slice(ETHERNET_BYTES + 24, ETHERNET_BYTES + 40)
_INNER = ETHERNET_BYTES + IPV6_BYTES
_BTH = _INNER + IPV6_BYTES + 8

DATA, CONTROL, PROBE = range(3)
"""Kinds of frames, as losses are counted: requests with payload; answers; probes."""

_KIND = tuple(
    DATA
    if opcodes.IS_WRITE[opcode]
    else PROBE
    if opcode in (opcodes.PROBE_REQUEST, opcodes.ENDPOINT_REQUEST, opcodes.ENDPOINT_RESPONSE)
    else CONTROL
    for opcode in range(256)
)


class Label(NamedTuple):
    """Kind of a frame, and its flow: the NIC it goes to, the QP there, and the PSN."""

    kind: int
    destination: bytes
    qpn: int
    psn: int


def label(frame: bytes) -> Label:
    """The label of a well-formed frame of this project's endpoints."""
    at = 0
    if frame[_OUTER_NEXT_HEADER] == NEXT_ROUTING:
        at = (frame[_INNER + 1] + 1) * 8
    bth = _BTH + at
    return Label(
        _KIND[frame[bth]],
        frame[_INNER + at + 24 : _INNER + at + 40],
        int.from_bytes(frame[bth + 5 : bth + 8], "big"),
        int.from_bytes(frame[bth + 9 : bth + 12], "big"),
    )


def is_whole(frame: bytes) -> bool:
    """Whether the frame still has all the bytes that its outer IPv6 length promises."""
    promised = int.from_bytes(frame[ETHERNET_BYTES + 4 : ETHERNET_BYTES + 6], "big")
    return len(frame) >= ETHERNET_BYTES + IPV6_BYTES + promised
