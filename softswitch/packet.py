# SPDX-License-Identifier: Apache-2.0
"""A packet between ingress and egress."""

from __future__ import annotations

from typing import Any


class Packet:
    """What waits in a queue: the frame, its length in bytes, and what egress needs to know.

    ``data`` is the frame to be sent where egress does not change headers, else the frame as it
    was received. ``length`` is what the frame will have on the wire as far as ingress decided.
    ``enq_us`` and ``enq_qdepth`` (microseconds, packets) are set by the traffic manager when the
    program reads queueing metadata.
    """

    # No __init__: ingress sets the attributes itself, at half the cost of the call.
    __slots__ = ("data", "enq_qdepth", "enq_us", "length", "state")

    data: bytes
    enq_qdepth: int
    enq_us: int
    length: int
    state: tuple[Any, ...]

    def __len__(self) -> int:
        return self.length
