# SPDX-License-Identifier: Apache-2.0
"""Makes the tests that the settings ask for, one size after the other."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.perftest.pair import Pair
from testbed.perftest.settings import Quantity, Settings
from testbed.perftest.statistics import Row, bandwidth, latency


def measure(pair: Pair, settings: Settings) -> Iterator[Row]:
    """A row a size, each as soon as it is known. MeasurementFailed when a test breaks."""
    for size in settings.sizes:
        extent = settings.extent(pair.most_iterations(size))
        if settings.quantity is Quantity.BANDWIDTH:
            yield bandwidth(size, pair.stream(size, extent))
        else:
            yield latency(size, pair.ping_pong(size, extent))
