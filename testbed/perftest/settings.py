# SPDX-License-Identifier: Apache-2.0
"""What is to be measured: perftest's options that mean something here, and their defaults."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from endpoint.agent.exercise_book import MOST_DEPTH, MOST_RECORDED
from endpoint.agent.exercises import Extent
from endpoint.agent.values import QpOptions
from endpoint.messages import MAX_MESSAGE_BYTES
from endpoint.retry_timer import MAX_EXPONENT
from testbed.perftest.errors import PerftestError
from topologies.model import PATH_MTUS

ALL_SIZES = tuple(1 << power for power in range(1, 24))
"""Of a sweep: 2 bytes to 8 MiB."""
LEAST_ITERATIONS = 5
MOST_QPS = 1024


class Quantity(enum.Enum):
    """What is measured."""

    BANDWIDTH = "bandwidth"
    LATENCY = "latency"


DEFAULT_SIZE = {Quantity.BANDWIDTH: 65536, Quantity.LATENCY: 2}
USUAL_ITERATIONS = {Quantity.BANDWIDTH: 5000, Quantity.LATENCY: 1000}


@dataclass(frozen=True, slots=True)
class Settings:
    """`sizes` of the messages in bytes, a test each. `iterations` of each queue pair (None: the
    usual number, or fewer where that would take long), or a duration in ns. `tx_depth`: writes
    that each queue pair keeps posted. PerftestError names the option that cannot be.
    """

    quantity: Quantity
    sizes: tuple[int, ...]
    iterations: int | None = None
    duration_ns: int | None = None
    qps: int = 1
    tx_depth: int = 128
    bidirectional: bool = False
    qp: QpOptions = field(default_factory=QpOptions)

    def __post_init__(self) -> None:
        for size in self.sizes:
            _check("--size", size, 1, MAX_MESSAGE_BYTES)
        _check("--qp", self.qps, 1, MOST_QPS)
        mtu, timeout = self.qp.path_mtu, self.qp.timeout
        if mtu is not None and mtu not in PATH_MTUS:
            raise PerftestError(f"--mtu: {mtu} is not one of {', '.join(map(str, PATH_MTUS))}")
        if timeout is not None:
            _check("--qp-timeout", timeout, 0, MAX_EXPONENT)
        _check("--tx-depth", self.tx_depth, 1, MOST_DEPTH)
        if self.iterations is not None:
            _check("--iters", self.iterations, LEAST_ITERATIONS, MOST_RECORDED // self.qps)
        if self.duration_ns is not None:
            if self.iterations is not None:
                raise PerftestError("--iters and --duration: a test ends by one of them")
            if self.duration_ns < 4:
                raise PerftestError("--duration: is nothing")

    def extent(self, most_iterations: int) -> Extent:
        """When a test ends. Of a duration, a quarter at each end is left out, as perftest does.

        `most_iterations`: how many of each queue pair do not take too long.
        """
        if self.duration_ns is not None:
            return Extent(duration_ns=self.duration_ns, margin_ns=self.duration_ns // 4)
        if self.iterations is not None:
            return Extent(self.iterations)
        usual = min(USUAL_ITERATIONS[self.quantity], MOST_RECORDED // self.qps)
        return Extent(max(LEAST_ITERATIONS, min(usual, most_iterations)))


def _check(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise PerftestError(f"{option}: {value} is outside {least}..{most}")
