# SPDX-License-Identifier: Apache-2.0
"""Proves that in virtual time latency and bandwidth are exactly what the links allow, that every
option has its effect, and that bytes which differ fail the test."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import topologies
from testbed.perftest.errors import MeasurementFailed, PerftestError
from testbed.perftest.measure import measure
from testbed.perftest.options import Options
from testbed.perftest.report import document
from testbed.perftest.settings import Settings
from testbed.perftest.statistics import BandwidthRow, LatencyOverTime, LatencyRow
from testbed.perftest.virtual import VirtualPair
from topologies.timing import DATA_HEADER_BYTES, ICRC_BYTES, link_bytes

TINY = topologies.load("tiny")


def pair(settings: Settings, destination: str = "h3", **more: Any) -> VirtualPair:
    return VirtualPair(TINY, "h1", destination, settings, **more)


def bandwidth_of(settings: Settings, destination: str = "h3") -> BandwidthRow:
    (row,) = measure(pair(settings, destination), settings)
    assert isinstance(row, BandwidthRow)
    return row


def one_way_ns(payload: int, hops: int) -> float:
    """Of a packet alone, with immediate and timestamp, over links of the fabric's NIC rate."""
    spec = TINY.spec
    assert spec.rate_gbps.nic_t0 == spec.rate_gbps.t0_t1
    assert spec.delay_ns.nic_t0 == spec.delay_ns.t0_t1
    frame = DATA_HEADER_BYTES + payload + (-payload % 4) + ICRC_BYTES
    return hops * (link_bytes(frame) * 8e9 / TINY.nic_rate_bps + spec.delay_ns.nic_t0)


@pytest.mark.parametrize(("destination", "hops"), [("h2", 2), ("h3", 4)])
@pytest.mark.parametrize("size", [1, 2, 4095, 4096])
def test_the_least_latency_is_serialisation_and_delay_of_every_hop(
    size: int, destination: str, hops: int
) -> None:
    settings = Options(size=str(size), iters=20).latency()
    (row,) = measure(pair(settings, destination), settings)
    assert isinstance(row, LatencyRow)
    # Links count whole nanoseconds, so each hop may be one off.
    assert row.least == pytest.approx(one_way_ns(size, hops), abs=hops)
    # A packet at most waits for the acknowledgement of the one before.
    assert row.least <= row.typical <= row.percentile_99 <= row.most < row.least + 100
    assert row.iterations == 20


def test_large_writes_fill_every_plane() -> None:
    settings = Options(size="1MiB", iters=12).bandwidth(1, 4, False)
    row = bandwidth_of(settings)
    spec = TINY.spec
    frame = link_bytes(DATA_HEADER_BYTES - 4 + spec.path_mtu + ICRC_BYTES)  # no immediate
    line_rate = spec.planes * TINY.nic_rate_bps / 8 * spec.path_mtu / frame
    assert 0.96 * line_rate < row.average <= row.peak < line_rate
    assert row.message_rate == pytest.approx(row.average / (1 << 20))


def test_one_write_at_a_time_takes_a_round_trip_each() -> None:
    shallow = bandwidth_of(Options(size="2", iters=50).bandwidth(1, 1, False))
    deep = bandwidth_of(Options(size="2", iters=50).bandwidth(1, 10, False))
    assert 1e9 / shallow.message_rate == pytest.approx(TINY.base_rtt_ns(256), rel=0.1)
    assert deep.message_rate > 4 * shallow.message_rate
    two_pairs = bandwidth_of(Options(size="2", iters=50).bandwidth(2, 1, False))
    assert two_pairs.iterations == 100
    assert two_pairs.message_rate == pytest.approx(2 * shallow.message_rate, rel=0.05)


def test_both_directions_together_carry_nearly_twice_as_much() -> None:
    options = Options(size="64KiB", iters=40)
    one = bandwidth_of(options.bandwidth(1, 16, False))
    both = bandwidth_of(options.bandwidth(1, 16, True))
    assert 1.7 * one.average < both.average < 2 * one.average
    assert both.iterations == 40


def test_smaller_packets_carry_less() -> None:
    small = Options(size="64KiB", iters=20, mtu=1024).bandwidth(1, 16, False)
    made = pair(small)
    assert made.facts.path_mtu == 1024
    (row,) = measure(made, small)
    assert isinstance(row, BandwidthRow)
    frame = link_bytes(DATA_HEADER_BYTES - 4 + 1024 + ICRC_BYTES)
    line_rate = TINY.spec.planes * TINY.nic_rate_bps / 8 * 1024 / frame
    assert 0.8 * line_rate < row.average < line_rate


def test_a_duration_ends_by_itself_and_counts_its_middle() -> None:
    settings = Options(size="4096", duration="100us").bandwidth(1, 128, False)
    long = bandwidth_of(settings)
    assert long.peak is None
    assert long.average == 4096 * long.iterations / 50e-6
    ping = Options(size="2", duration="100us").latency()
    (row,) = measure(pair(ping), ping)
    assert isinstance(row, LatencyOverTime)
    assert row.iterations == pytest.approx(50e-6 / (2 * one_way_ns(2, 4) * 1e-9), abs=1)
    assert row.rate == row.iterations / 50e-6


def test_a_sweep_goes_on_over_the_same_queue_pairs() -> None:
    settings = dataclasses.replace(Options(iters=5).latency(), sizes=(2, 64, 5000, 20000))
    rows = list(measure(pair(settings), settings))
    assert [row.size for row in rows] == [2, 64, 5000, 20000]
    least = [row.least for row in rows if isinstance(row, LatencyRow)]
    assert least == sorted(least) and len(set(least)) == 4


def test_equal_seeds_give_equal_documents() -> None:
    settings = Options(size="3000", iters=30).bandwidth(2, 8, True)
    documents = []
    for seed in (7, 7, 8):
        made = pair(settings, seed=seed)
        rows = list(measure(made, settings))
        documents.append(document(settings, made.facts, rows, gigabits=False))
    assert documents[0] == documents[1] != documents[2]


def test_bytes_that_differ_fail_the_test() -> None:
    settings = Options(size="3000", iters=5).bandwidth(1, 2, False)
    made = pair(settings)
    assert made.facts.ends[0][1].host == "h3"
    target = made._sides[0].regions[0].buffer
    list(measure(made, settings))
    assert bytes(target[:3000]) == made._sides[0].pattern.bytes[:3000]
    lanes = made._sides[0].lanes(3000)
    with pytest.raises(MeasurementFailed, match="bytes at h3 differ"):
        made._sides[0].check(lanes)  # the next test's, which nobody has sent


def test_a_test_that_breaks_says_how() -> None:
    settings = Options(size="3000", iters=5).latency()
    made = pair(settings)
    peer = made._sides[1].host.nic
    peer.memory.deregister(made._sides[0].regions[0].rkey)
    with pytest.raises(MeasurementFailed, match="h1: QP 16: write_imm remote_access_error"):
        list(measure(made, settings))


def test_hosts_that_cannot_be_are_refused() -> None:
    settings = Options().latency()
    with pytest.raises(PerftestError, match="h1: a host does not write to itself"):
        pair(settings, "h1")
    with pytest.raises(topologies.TopologyError, match="no host 'h9'"):
        pair(settings, "h9")
