# SPDX-License-Identifier: Apache-2.0
"""Options as they are written, to settings."""

from __future__ import annotations

from dataclasses import dataclass

from endpoint.agent.values import QpOptions
from testbed.perftest.errors import PerftestError
from testbed.perftest.settings import ALL_SIZES, DEFAULT_SIZE, Quantity, Settings
from testbed.quantities import parse_size_bytes, parse_time_ns


@dataclass(frozen=True, slots=True)
class Options:
    """Those that both tests have. None is what was not given.

    A duration is a number of seconds, as in perftest, or a time with its unit. Both methods raise
    PerftestError, which names the option.
    """

    size: str | None = None
    all_sizes: bool = False
    iters: int | None = None
    duration: str | None = None
    mtu: int | None = None
    qp_timeout: int | None = None
    base_rtt: str | None = None

    def bandwidth(self, qps: int, tx_depth: int, bidirectional: bool) -> Settings:
        """Settings of write-bw."""
        return self._settings(Quantity.BANDWIDTH, qps, tx_depth, bidirectional)

    def latency(self) -> Settings:
        """Settings of write-lat: one queue pair, one write at a time."""
        return self._settings(Quantity.LATENCY, 1, 1, False)

    def _settings(
        self, quantity: Quantity, qps: int, tx_depth: int, bidirectional: bool
    ) -> Settings:
        return Settings(
            quantity,
            self._sizes(quantity),
            self.iters,
            None if self.duration is None else _duration_ns(self.duration),
            qps,
            tx_depth,
            bidirectional,
            QpOptions(
                path_mtu=self.mtu,
                timeout=self.qp_timeout,
                base_rtt_ns=None if self.base_rtt is None else _time("--base-rtt", self.base_rtt),
            ),
        )

    def _sizes(self, quantity: Quantity) -> tuple[int, ...]:
        if self.all_sizes:
            if self.size is not None:
                raise PerftestError("--all and --size: a sweep has all sizes")
            return ALL_SIZES
        if self.size is None:
            return (DEFAULT_SIZE[quantity],)
        try:
            return (parse_size_bytes(self.size),)
        except ValueError as error:
            raise PerftestError(f"--size: {error}") from error


def _duration_ns(text: str) -> int:
    return _time("--duration", text + "s" if text.replace(".", "", 1).isdigit() else text)


def _time(option: str, text: str) -> int:
    try:
        return parse_time_ns(text)
    except ValueError as error:
        raise PerftestError(f"{option}: {error}") from error
