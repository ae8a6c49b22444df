# SPDX-License-Identifier: Apache-2.0
"""Proves that NSCC's settings follow from the network as in the published worked example."""

from dataclasses import fields, replace

import pytest

from endpoint.congestion import CongestionParameters, NsccConfig, NsccControl
from endpoint.congestion.nscc_config import REFERENCE_BDP, resolve

# uet-htsim, two tiers, 100 Gb/s, 500 ns a link, 4,150-byte packets, of which 64 are headers.
EXAMPLE = CongestionParameters(
    mtu=4_150, base_rtt_ns=5_349, link_rate_bps=100_000_000_000, payload=4_086
)


def close(value: float) -> object:
    return pytest.approx(value, rel=5e-4)


@pytest.mark.fact("cc.example")
def test_the_worked_example_of_the_ultra_ethernet_simulator() -> None:
    values = resolve(EXAMPLE)
    assert EXAMPLE.bdp == close(66_856)
    assert values.base_rtt == close(5_350)
    assert values.target_delay == close(4_011)
    assert values.max_cwnd == close(100_284)
    assert values.min_cwnd == 4_150
    assert values.gamma == 0.8
    assert values.alpha == close(0.607)  # bytes for each ns; 0.000607 for each ps
    assert values.fi == close(9_106)
    assert values.eta == close(273.2)
    assert values.qa_gate == 3
    assert values.qa_threshold == close(16_046)
    assert values.adjust_period_threshold == close(5_350)
    assert values.adjust_bytes_threshold == 33_200
    assert values.delay_weight == 0.0125
    assert values.max_md_jump == 0.5
    assert NsccControl(EXAMPLE).window == values.max_cwnd


def test_the_reference_network_has_whole_packets() -> None:
    reference = replace(EXAMPLE, base_rtt_ns=12_000)
    values = resolve(reference)
    assert reference.bdp == REFERENCE_BDP == 150_000
    assert values.fi == pytest.approx(5 * 4_086)
    assert values.eta == pytest.approx(0.15 * 4_086)
    assert values.fi_scale == pytest.approx(0.25)
    assert values.alpha * values.target_delay == pytest.approx(4 * 4_086 * 0.75)


def test_eight_planes_scale_like_one_of_eight_times_the_rate() -> None:
    one, eight = resolve(EXAMPLE), resolve(replace(EXAMPLE, link_rate_bps=800_000_000_000))
    for name in ("alpha", "fi", "eta", "fi_scale", "max_cwnd"):
        assert getattr(eight, name) == pytest.approx(8 * getattr(one, name), rel=1e-4)
    assert (eight.target_delay, eight.base_rtt) == (one.target_delay, one.base_rtt)


def test_without_trimming_the_target_is_a_whole_base_round_trip() -> None:
    assert resolve(replace(EXAMPLE, trimming=False)).target_delay == EXAMPLE.base_rtt_ns


@pytest.mark.fact("cc.names")
def test_every_setting_has_the_name_that_the_control_api_gives_it() -> None:
    of_the_api = {
        "disable_qa", "adjust_bytes_threshold", "adjust_period_threshold", "base_rtt", "eta", "fi",
        "fi_scale", "gamma", "max_md_jump", "max_cwnd", "qa_gate", "qa_threshold", "target_delay",
    }  # fmt: skip
    own = {"delay_weight", "silent_last_hop"}
    assert {field.name for field in fields(NsccConfig)} == of_the_api | own


def test_what_the_operator_sets_is_taken_and_the_rest_follows_from_it() -> None:
    values = resolve(EXAMPLE, NsccConfig(base_rtt=12_000, fi=1_000.0, qa_threshold=7, eta=0.0))
    assert (values.base_rtt, values.target_delay) == (12_000, 9_000)
    assert (values.fi, values.qa_threshold, values.eta) == (1_000, 7, 0)
    assert values.max_cwnd == 225_000
    assert values.adjust_period_threshold == 12_000
    assert resolve(EXAMPLE, NsccConfig(max_cwnd=10)).max_cwnd == EXAMPLE.mtu


def test_a_near_peer_has_a_smaller_window_and_grows_less_often() -> None:
    near, far = resolve(replace(EXAMPLE, peer_rtt_ns=2_700)), resolve(EXAMPLE)
    assert near.max_cwnd == 2_700 * 100 // 8 * 3 // 2
    assert near.fi / far.fi == near.eta / far.eta == near.alpha / far.alpha
    assert near.fi / far.fi == close((2_700 + 4_011) / (5_349 + 4_011))
    assert near.target_delay == far.target_delay
    # A peer is never farther than the fabric's longest way.
    assert resolve(replace(EXAMPLE, peer_rtt_ns=9_000)) == far


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gamma", 1.1), ("gamma", -0.1), ("max_md_jump", 2), ("delay_weight", 0),
        ("delay_weight", 1.5), ("base_rtt", 0), ("target_delay", -1), ("max_cwnd", 0),
        ("adjust_period_threshold", 0), ("qa_gate", 32), ("eta", -1.0), ("fi", -1.0),
        ("qa_threshold", -5),
    ],
)  # fmt: skip
def test_a_setting_out_of_range_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"nscc: {field}"):
        NsccConfig(**{field: value})
