# SPDX-License-Identifier: Apache-2.0
"""Two connected hosts, in whatever world: what a test needs of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from endpoint.agent.exercises import Extent
from endpoint.agent.values import ExerciseResult
from endpoint.events import WorkStatus
from testbed.perftest.errors import MeasurementFailed

_STEP = 61


@dataclass(frozen=True, slots=True)
class End:
    """One end of a queue pair, and the memory there that its peer writes."""

    host: str
    address: bytes
    qpn: int
    psn: int
    va: int
    rkey: int


@dataclass(frozen=True, slots=True)
class PairFacts:
    """What the head of a report says. `ends`: the client's and the server's, by queue pair.
    `paths`: active EVs of a queue pair; `rate_bps`: of a NIC port, 0 where nothing paces it."""

    world: str
    fabric: str
    planes: int
    rate_bps: int
    path_mtu: int
    paths: int
    congestion: str
    ends: tuple[tuple[End, End], ...]


class Pair(Protocol):
    """The client measures, the server is written to. MeasurementFailed when a test breaks, or
    bytes at a destination are not those of their source."""

    @property
    def facts(self) -> PairFacts: ...

    def most_iterations(self, size: int) -> int:
        """How many of each queue pair do not take long."""
        ...

    def stream(self, size: int, extent: Extent) -> Sequence[ExerciseResult]:
        """Writes from client to server, and, where asked for, from server to client."""
        ...

    def ping_pong(self, size: int, extent: Extent) -> ExerciseResult:
        """Writes there and back, on the first queue pair; the client's record."""
        ...


def fail_on_errors(results: Sequence[tuple[str, ExerciseResult]]) -> None:
    """MeasurementFailed with the error of one of these hosts. What was flushed is a consequence:
    another host's error says more."""
    errors = [f"{host}: {result.error}" for host, result in results if result.error]
    errors.sort(key=lambda error: error.endswith(WorkStatus.FLUSHED.value))
    if errors:
        raise MeasurementFailed(errors[0])


class Pattern:
    """Bytes to send: each test takes another slice of the same random ones, so that what an
    earlier test left at the destination does not pass for its own."""

    def __init__(self, seed: str, sizes: Sequence[int]) -> None:
        length = max(sizes) + _STEP * len(sizes)
        rng = random.Random(seed)
        self.bytes = b"".join(
            rng.randbytes(min(1 << 20, length - at)) for at in range(0, length, 1 << 20)
        )
        self._tests = 0

    def next_offset(self) -> int:
        """Where the slice of the next test begins."""
        self._tests += 1
        return _STEP * (self._tests - 1)
