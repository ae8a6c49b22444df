# SPDX-License-Identifier: Apache-2.0
"""A fabric in slow motion keeps everything that is counted in packets; a scenario follows it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import topologies
from testbed.mininet.scaling import hold_ns, scale_scenario, slow_motion
from testbed.scenario import load_scenario, parse_scenario, shipped_scenarios

PATH_RTT_NS = 4_000_000


@given(st.sampled_from(["tiny", "demo", "rack16"]), st.floats(1e5, 1e8))
def test_thresholds_and_shares_of_a_round_trip_stay(name: str, rate: float) -> None:
    described = topologies.load(name)
    slow = slow_motion(described, rate, path_rtt_ns=1)
    assert slow.fabric.thresholds_packets() == described.thresholds_packets()
    factor = described.nic_rate_bps / rate
    assert slow.time_scale == pytest.approx(factor, rel=1e-3)
    # A rate is a whole number of bits a second.
    assert slow.fabric.nic_rate_bps == pytest.approx(rate, rel=1e-6, abs=1)


def test_both_tiers_are_slowed_down_alike() -> None:
    spec = topologies.load("tiny").spec
    rates = spec.rate_gbps.model_copy(update={"t0_t1": 400.0})
    described = topologies.Fabric(spec.model_copy(update={"rate_gbps": rates}))
    slow = slow_motion(described, 2e6, PATH_RTT_NS).fabric
    assert slow.uplink_rate_bps == pytest.approx(4 * slow.nic_rate_bps)


def test_delays_are_not_below_what_software_takes() -> None:
    described = topologies.load("tiny")
    slow = slow_motion(described, 50e9, PATH_RTT_NS).fabric
    assert slow.spec.delay_ns.nic_t0 == PATH_RTT_NS // 8
    assert hold_ns(slow, PATH_RTT_NS) == 0


def test_hosts_hold_frames_for_the_delay_that_software_does_not_have() -> None:
    slow = slow_motion(topologies.load("tiny"), 2e6, PATH_RTT_NS).fabric
    one_way = 2 * slow.spec.delay_ns.nic_t0 + 2 * slow.spec.delay_ns.t0_t1
    assert hold_ns(slow, PATH_RTT_NS) == one_way - PATH_RTT_NS // 2


@pytest.mark.parametrize("name", shipped_scenarios())
def test_every_time_of_a_shipped_scenario_is_scaled_and_nothing_else(name: str) -> None:
    scenario = load_scenario(name)
    scaled = scale_scenario(scenario, 1000)
    before, after = _leaves(scenario.model_dump()), _leaves(scaled.model_dump())
    assert before.keys() == after.keys()
    times = {key for key in before if before[key] != after[key]}
    for key in times:
        assert after[key] == before[key] * 1000, key
    names = {key.rpartition(".")[2] for key in times}
    assert names <= {
        *("duration", "until", "at", "lasts", "down", "up", "start", "carrier_delay"),
        *("bin", "window", "settle", "settle_mended", "sample", "recovered_within"),
        *("interval", "timeout", "map_names_faults"),
    }
    assert {"duration", "bin", "settle"} <= names


def test_a_timer_that_a_scenario_sets_grows_by_powers_of_two() -> None:
    document = load_scenario("link-down").model_dump(mode="json")
    del document["endpoint"], document["measure"], document["expect"], document["faults"]
    document.update(duration="2ms", endpoint={"timeout": 8})
    document["workload"] = {**document["workload"], "until": "1ms"}
    document["workload"].pop("file", None)
    scenario = parse_scenario(document, source="here")
    assert scale_scenario(scenario, 1000).endpoint.timeout == 18
    assert scale_scenario(scenario, 1 << 30).endpoint.timeout == 24
    assert scale_scenario(scenario, 1).endpoint.timeout == 8


def _leaves(value: object, key: str = "") -> dict[str, object]:
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {key: value}
    return {k: v for name, part in items for k, v in _leaves(part, f"{key}.{name}").items()}
