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

    __slots__ = ("data", "enq_qdepth", "enq_us", "length", "state")

    def __init__(self, data: bytes, length: int, state: tuple[Any, ...]) -> None:
        self.data = data
        self.length = length
        self.state = state

    def __len__(self) -> int:
        return self.length
