# SPDX-License-Identifier: Apache-2.0
"""The max-flow of a workload is what its live links can carry, in payload."""

import pytest

import topologies
from testbed.maxflow import MaxFlow, Overheads

OVERHEADS = Overheads(payload=4096, frame=4238)
ONE_WAY = 100 * 4096 / (4238 + 24)
BOTH_WAYS = 100 * 4096 / (4238 + 24 + 154 + 24)
SHIFT_4 = [(i, (i + 4) % 8) for i in range(8)]


def gbps(topology: str, flows: list[tuple[int, int]], *dead: str) -> float:
    return MaxFlow(topologies.load(topology), flows, OVERHEADS).gbps(dead)


def test_a_permutation_over_a_whole_fabric_gets_every_port() -> None:
    assert gbps("demo", SHIFT_4) == pytest.approx(8 * 4 * BOTH_WAYS)


def test_a_flow_without_traffic_in_return_is_not_charged_for_sacks() -> None:
    assert gbps("demo", [(0, 4)]) == pytest.approx(4 * ONE_WAY)


def test_a_lost_uplink_costs_one_link_in_each_direction() -> None:
    assert gbps("demo", SHIFT_4, "p0t0a-p0t1b") == pytest.approx(30 * BOTH_WAYS)


def test_a_lost_t1_costs_an_uplink_of_every_t0() -> None:
    dead = [f"p1t0{t0}-p1t1c" for t0 in "ab"]
    assert gbps("demo", SHIFT_4, *dead) == pytest.approx(30 * BOTH_WAYS)


def test_a_lost_nic_port_costs_the_plane_to_both_of_its_flows() -> None:
    # The flow that h1 sends and the one it receives lose plane 0; nobody else can use the room.
    assert gbps("demo", SHIFT_4, "h1-p0t0a") == pytest.approx(30 * BOTH_WAYS)


def test_an_incast_is_limited_by_its_receiver() -> None:
    assert gbps("rack16", [(i, 0) for i in range(4, 11)]) == pytest.approx(ONE_WAY)


def test_flows_within_a_t0_need_no_uplink() -> None:
    dead = [f"p{p}t0a-p{p}t1{t}" for p in range(2) for t in "ab"]
    assert gbps("tiny", [(0, 1)], *dead) == pytest.approx(2 * ONE_WAY)
    assert gbps("tiny", [(0, 2)], *dead) == 0


def test_nothing_turns_back_at_a_t1() -> None:
    # h1 and h3 swap; with T0 b cut off entirely, T0 a's packets cannot come back to T0 a.
    dead = [f"p{p}t0b-p{p}t1{t}" for p in range(2) for t in "ab"]
    assert gbps("tiny", [(0, 2), (2, 0)], *dead) == 0


def test_sacks_are_owed_for_counted_bytes() -> None:
    assert Overheads(4096, 4238).sacks_per_packet == 1
    assert Overheads(2048, 2190).sacks_per_packet == 0.5
    assert Overheads(256, 398).sacks_per_packet == 0.25
