# SPDX-License-Identifier: Apache-2.0
"""Goodput over time, from what agents told now and then.

An agent tells how much each queue pair has placed, and how much each port has received. What was
placed between two tellings is spread evenly over the time between them, and over planes as the
ports' bytes were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from endpoint.agent.values import Statistics
from testbed.measure import Bins
from testbed.virtual.traffic import Flow

_DIGITS = 9


def goodput(
    flows: Sequence[Flow],
    samples: Mapping[str, Sequence[Statistics]],
    zero_ns: int,
    bin_ns: int,
    planes: int,
) -> tuple[Bins, Bins]:
    """Payload placed by plane, and by flow; `zero_ns` is when the run began, as agents tell it."""
    by_plane, by_flow = Bins(planes, bin_ns, _DIGITS), Bins(len(flows), bin_ns, _DIGITS)
    arriving: dict[str, dict[int, int]] = {}
    for flow in flows:
        arriving.setdefault(flow.receiver.name, {})[flow.receiver_qp.qpn] = flow.index
    for host, index_of in arriving.items():
        for earlier, later in pairwise(samples.get(host, ())):
            _spread(earlier, later, index_of, zero_ns, by_plane, by_flow)
    return by_plane, by_flow


def _spread(
    earlier: Statistics,
    later: Statistics,
    index_of: Mapping[int, int],
    zero_ns: int,
    by_plane: Bins,
    by_flow: Bins,
) -> None:
    before = {qp.qpn: qp.placement.bytes for qp in earlier.qps}
    placed = {
        qp.qpn: qp.placement.bytes - before.get(qp.qpn, 0) for qp in later.qps if qp.qpn in index_of
    }
    total = sum(placed.values())
    if not total:
        return
    received = [
        new.bytes_received - old.bytes_received
        for old, new in zip(earlier.ports, later.ports, strict=True)
    ]
    all_received = sum(received) or 1
    stretch = (earlier.time_ns - zero_ns, later.time_ns - zero_ns)
    for number, share in _bins(*stretch, by_plane.bin_ns):
        for plane, count in enumerate(received):
            by_plane.rows[plane][number] += total * share * count / all_received
        for qpn, count in placed.items():
            by_flow.rows[index_of[qpn]][number] += count * share


def _bins(from_ns: int, to_ns: int, bin_ns: int) -> Iterator[tuple[int, float]]:
    """Bins that a stretch of time touches, each with its share of the stretch."""
    length = max(1, to_ns - from_ns)
    for number in range(from_ns // bin_ns, (max(from_ns, to_ns - 1)) // bin_ns + 1):
        begin, end = max(from_ns, number * bin_ns), min(to_ns, (number + 1) * bin_ns)
        yield number, (end - begin) / length
