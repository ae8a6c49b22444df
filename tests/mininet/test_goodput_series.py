# SPDX-License-Identifier: Apache-2.0
"""Readings now and then become a series that keeps every byte, by plane and by flow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from endpoint.agent.values import Placement, PortStatistics, QpStatistics, Statistics
from testbed.measure import Bins
from testbed.mininet.goodput import goodput

ZERO = 1000
BIN = 100


def _told(time_ns: int, placed: dict[int, int], ports: list[int]) -> Statistics:
    qps = tuple(
        QpStatistics(qpn, "rts", "", {}, 0, 0, 0, 0, 0, Placement(bytes=count))
        for qpn, count in placed.items()
    )
    return Statistics(
        ZERO + time_ns,
        {},
        qps,
        tuple(PortStatistics(i, bytes_received=n) for i, n in enumerate(ports)),
    )


def _flow(index: int, receiver: str, qpn: int) -> Any:
    return SimpleNamespace(
        index=index,
        receiver=SimpleNamespace(name=receiver),
        receiver_qp=SimpleNamespace(qpn=qpn),
    )


def _total(bins: Bins) -> float:
    return sum(value for row in bins.rows for value in row.values())


def test_bytes_are_spread_over_the_time_between_readings() -> None:
    samples = {"h2": [_told(0, {7: 0}, [0, 0]), _told(250, {7: 500}, [100, 0])]}
    by_plane, by_flow = goodput([_flow(0, "h2", 7)], samples, ZERO, BIN, 2)
    assert dict(by_flow.rows[0]) == pytest.approx({0: 200, 1: 200, 2: 100})
    assert dict(by_plane.rows[0]) == pytest.approx({0: 200, 1: 200, 2: 100})
    assert sum(by_plane.rows[1].values()) == 0


def test_planes_get_what_their_ports_received() -> None:
    samples = {"h2": [_told(0, {7: 0}, [50, 50]), _told(100, {7: 400}, [150, 350])]}
    by_plane, _ = goodput([_flow(0, "h2", 7)], samples, ZERO, BIN, 2)
    assert by_plane.rows[0][0] == pytest.approx(100)
    assert by_plane.rows[1][0] == pytest.approx(300)


def test_flows_of_one_host_are_told_apart_and_queue_pairs_that_send_do_not_count() -> None:
    flows = [_flow(0, "h2", 7), _flow(1, "h2", 8)]
    samples = {"h2": [_told(0, {7: 0, 8: 0, 9: 0}, [0]), _told(100, {7: 10, 8: 30, 9: 99}, [40])]}
    by_plane, by_flow = goodput(flows, samples, ZERO, BIN, 1)
    assert [row[0] for row in by_flow.rows] == pytest.approx([10, 30])
    assert _total(by_plane) == pytest.approx(40)


def test_a_queue_pair_that_appears_between_readings_counts_from_nothing() -> None:
    samples = {"h2": [_told(0, {}, [0]), _told(100, {7: 60}, [60])]}
    by_plane, by_flow = goodput([_flow(0, "h2", 7)], samples, ZERO, BIN, 1)
    assert _total(by_flow) == _total(by_plane) == pytest.approx(60)


def test_slow_fabrics_are_not_rounded_away() -> None:
    samples = {"h2": [_told(0, {7: 0}, [0]), _told(10**9, {7: 1000}, [1000])]}
    by_plane, _ = goodput([_flow(0, "h2", 7)], samples, ZERO, 10**8, 1)
    assert by_plane.mean_gbps(0, 10**9) == pytest.approx(8e-6)
