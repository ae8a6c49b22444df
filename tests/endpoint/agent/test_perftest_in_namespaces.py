# SPDX-License-Identifier: Apache-2.0
"""Proves with real frames that write-bw reaches the pace of the ports, over both planes, and that
what write-lat measures are packets and no calls."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic_ns

import pytest
from netns_lab import PLANES, NetnsPair, skip_unless_possible, until

from endpoint.agent.client import AgentClient
from testbed.perftest.agents import AgentPair
from testbed.perftest.measure import measure
from testbed.perftest.options import Options
from testbed.perftest.statistics import BandwidthRow, LatencyRow
from topologies import load
from topologies.timing import data_frame_bytes, link_bytes

pytestmark = [pytest.mark.root, skip_unless_possible]

PATIENT = {"qp_timeout": 17, "base_rtt": "8ms"}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetnsPair]:
    made = NetnsPair(tmp_path_factory.mktemp("perftest"))
    try:
        made.build()
        made.start()
        for client in made.clients.values():
            until(lambda c=client: all(port.usable for port in c.ports()), "all ports usable")
        yield made
    finally:
        made.close()


@pytest.fixture
def clients(pair: NetnsPair) -> tuple[AgentClient, AgentClient]:
    return pair.clients["h1"], pair.clients["h2"]


def test_bandwidth_is_paced_and_uses_every_plane(
    pair: NetnsPair, clients: tuple[AgentClient, AgentClient]
) -> None:
    settings = Options(size="64KiB", iters=60, **PATIENT).bandwidth(1, 16, False)
    with AgentPair(*clients, settings) as between:
        (row,) = measure(between, settings)
        used = clients[0].evs(between.facts.ends[0][0].qpn)
    assert isinstance(row, BandwidthRow)
    rate = load(str(pair.fabric)).nic_rate_bps / 8 * PLANES
    goodput = rate * 4096 / link_bytes(data_frame_bytes(4096) - 4)  # no immediate
    # A pacer lets a burst out at once, which 60 messages do not notice much; the lower bound is
    # what a machine makes that has other things to do.
    assert 0.1 * goodput < row.average < 1.05 * goodput
    assert row.average <= row.peak < 2 * goodput
    assert {ev.plane for ev in used if ev.data_packets} == set(range(PLANES))


def test_latency_has_no_control_call_in_it(clients: tuple[AgentClient, AgentClient]) -> None:
    settings = Options(iters=200, **PATIENT).latency()
    with AgentPair(*clients, settings) as between:
        (row,) = measure(between, settings)
        ends = between.facts.ends[0]
        counters = [
            client.statistics().qp(end.qpn).counters
            for client, end in zip(clients, ends, strict=True)
        ]
    assert isinstance(row, LatencyRow)
    assert row.iterations == 200
    assert [sent["data_sent"] - sent["retransmitted"] for sent in counters] == [200, 200]
    assert 0 < row.least <= row.typical <= row.percentile_99 <= row.percentile_99_9 <= row.most
    assert row.least < min(_call_ns(clients[0]) for _ in range(50))


def _call_ns(client: AgentClient) -> int:
    before = monotonic_ns()
    client.ports()
    return monotonic_ns() - before
