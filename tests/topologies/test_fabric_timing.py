# SPDX-License-Identifier: Apache-2.0
"""Base RTT, BDP and thresholds follow their documented formulas and stay usable at any rate."""

from dataclasses import astuple
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endpoint.wire.build import ControlTemplate, DataTemplate, PathAddresses
from endpoint.wire.dscp import DscpMap
from endpoint.wire.sack import Sack
from topologies import ETHERNET_OVERHEAD_BYTES, Fabric, load, timing
from topologies.clos import generate
from topologies.model import PATH_MTUS

DSCP = DscpMap(*load("demo").dscp.model_dump().values())
PATH = PathAddresses(bytes(6), bytes(6), bytes(16), bytes(16), bytes(16), 0xC0000000)


def test_base_rtt_of_the_demo_fabric_term_by_term() -> None:
    # Four links there and four back of 500 ns; 4,242 + 24 bytes there and 154 + 24 back at
    # 80 ps a byte on each of four links.
    picoseconds = 8 * 500_000 + 4 * (4266 + 178) * 80
    assert load("demo").base_rtt_ns() == -(-picoseconds // 1000) == 5423


def test_base_rtt_formula_gives_the_ultra_ethernet_simulators_example() -> None:
    # uet-htsim, two tiers: 4,150-byte packets, 64-byte ACKs, 5.35 µs, BDP 66,856 bytes.
    hops = [(100_000_000_000, 500)] * 4
    overhead = ETHERNET_OVERHEAD_BYTES
    rtt = timing.round_trip_ns(hops, 4150 - overhead, 64 - overhead)
    assert rtt == 5349
    assert abs(timing.bdp_bytes(100_000_000_000, rtt) - 66_856) < 10


def test_within_a_t0_the_round_trip_is_half() -> None:
    fabric = load("demo")
    assert fabric.base_rtt_ns(same_t0=True) == -(-fabric.base_rtt_ns() // 2)
    alone = Fabric(generate("alone", planes=1, t0s=1, t1s=1, nics_per_t0=2))
    assert alone.base_rtt_ns() == fabric.base_rtt_ns(same_t0=True)


def test_base_rtt_counts_each_tiers_own_rate_and_delay() -> None:
    spec = generate(
        "mixed",
        planes=1,
        t0s=2,
        t1s=1,
        nics_per_t0=1,
        rate_gbps={"nic_t0": 100, "t0_t1": 400},
        delay_ns={"nic_t0": 100, "t0_t1": 1000},
    )
    picoseconds = 4 * 100_000 + 4 * 1_000_000 + (4266 + 178) * 2 * (80 + 20)
    assert Fabric(spec).base_rtt_ns() == -(-picoseconds // 1000)


def test_a_smaller_mtu_makes_the_round_trip_shorter() -> None:
    fabric = load("demo")
    times = [fabric.base_rtt_ns(mtu) for mtu in PATH_MTUS]
    assert times == sorted(times)
    assert times[-1] == fabric.base_rtt_ns()


@pytest.mark.fact("trim.thresholds")
def test_thresholds_of_the_demo_fabric() -> None:
    fabric = load("demo")
    assert fabric.bdp_bytes == 67_787
    # 67,787 bytes are 15.89 full frames of 4,266 bytes, 408.4 cut ones of 166, 380.8 SACKs of 178.
    assert fabric.thresholds_packets() == timing.Thresholds(
        ecn_min=3,
        ecn_max=13,
        trim=16,
        trim_last_hop=24,
        data_capacity=48,
        trimmed_capacity=408,
        control_capacity=381,
    )


@given(
    rate=st.floats(1e-6, 3200),
    delay=st.integers(0, 10**9),
    mtu=st.sampled_from(PATH_MTUS),
    multiples=st.lists(st.floats(0.001, 100), min_size=4, max_size=4, unique=True),
)
@settings(deadline=None)
def test_thresholds_are_ordered_whatever_the_fabric(
    rate: float, delay: int, mtu: int, multiples: list[float]
) -> None:
    ordered = dict(
        zip(("ecn_min", "ecn_max", "trim", "trim_last_hop"), sorted(multiples), strict=True)
    )
    spec = generate(
        "any",
        planes=1,
        t0s=2,
        t1s=1,
        nics_per_t0=1,
        rate_gbps={"nic_t0": rate, "t0_t1": rate},
        delay_ns={"nic_t0": delay, "t0_t1": delay},
        path_mtu=mtu,
        thresholds=ordered,
    )
    limits = Fabric(spec).thresholds_packets()
    data = astuple(limits)[:5]
    assert data[0] >= 1
    assert all(low < high for low, high in pairwise(data))
    assert limits.trimmed_capacity >= timing.THRESHOLD_FLOOR_PACKETS
    assert limits.control_capacity >= timing.THRESHOLD_FLOOR_PACKETS


def test_a_tiny_bdp_still_has_room_between_its_thresholds() -> None:
    spec = generate(
        "slow",
        planes=1,
        t0s=2,
        t1s=1,
        nics_per_t0=1,
        rate_gbps={"nic_t0": 0.01, "t0_t1": 0.01},
        delay_ns={"nic_t0": 0, "t0_t1": 0},
    )
    limits = Fabric(spec).thresholds_packets()
    assert (limits.ecn_min, limits.ecn_max, limits.trim, limits.trim_last_hop) == (2, 6, 8, 12)


@pytest.mark.parametrize("mtu", PATH_MTUS)
def test_the_longest_data_frame_is_as_long_as_the_endpoint_builds_it(mtu: int) -> None:
    template = DataTemplate(PATH, 1, DSCP)
    frame = template.build(0xCB, 0, 0, 0, 0, 0, 0, bytes(mtu), imm=1, timestamp=1)
    assert len(frame) == timing.data_frame_bytes(mtu)


def test_a_sack_is_as_long_as_the_endpoint_builds_it() -> None:
    frame = ControlTemplate(PATH, 1, DSCP.control).sack(Sack(ev=0xC0000000, cack_psn=0))
    assert len(frame) == timing.SACK_FRAME_BYTES
