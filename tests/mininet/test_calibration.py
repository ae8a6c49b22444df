# SPDX-License-Identifier: Apache-2.0
"""Measured costs become rates; rates that the machine cannot carry are refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mininet", reason="needs Mininet's modules: make mininet")

from small_fabric import small_fabric

import topologies
from testbed.mininet import calibration
from testbed.mininet.calibration import (
    Costs,
    check_rates,
    load_costs,
    most_nic_rate_bps,
    store_costs,
)
from testbed.mininet.errors import NotReady
from testbed.mininet.run import made_bearable

COSTS = Costs(
    agents_us=600,
    hop_us=400,
    path_rtt_us=3000,
    measured_at="2025-01-01T00:00:00+00:00",
    packets=1000,
)
FRAME_BITS = 8 * (4096 + 146 + 24)


@pytest.fixture(autouse=True)
def four_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibration.os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})


def test_all_senders_share_the_processors() -> None:
    # 4 processors, half of them, 600 + 3 × 400 µs a packet; 4 hosts on 2 planes.
    packets = 4 * 0.5 * 1e6 / 1800 / (4 * 2)
    rate = most_nic_rate_bps(topologies.load("tiny"), 4, "soft", COSTS)
    assert rate == pytest.approx(packets * FRAME_BITS / 0.95)
    assert most_nic_rate_bps(topologies.load("tiny"), 2, "soft", COSTS) == pytest.approx(2 * rate)


def test_bmv2_ports_carry_other_classes_beside_data() -> None:
    tiny = topologies.load("tiny")
    soft, bmv2 = (most_nic_rate_bps(tiny, 4, kind, COSTS) for kind in ("soft", "bmv2"))
    assert bmv2 == pytest.approx(soft / 0.70)


def test_one_agent_never_needs_more_than_half_a_processor() -> None:
    cheap_switches = COSTS.model_copy(update={"hop_us": 1.0})
    rate = most_nic_rate_bps(topologies.load("tiny"), 1, "soft", cheap_switches)
    assert rate == pytest.approx(0.5e6 / 600 / 2 * FRAME_BITS / 0.95)


def test_within_one_t0_a_packet_passes_one_switch() -> None:
    fabric = small_fabric(t0s=1, t1s=1, nics_per_t0=4)
    assert calibration.packet_cost_us(fabric, COSTS) == 1000
    assert calibration.packet_cost_us(small_fabric(), COSTS) == 1800


def test_what_is_stored_is_found_again_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_costs("soft") is None
    store_costs("soft", COSTS)
    assert load_costs("bmv2") is None
    monkeypatch.setattr(calibration.bmv2, "version", lambda: "1.15 (5 B)")
    other = COSTS.model_copy(update={"hop_us": 900.0, "program": "1.15 (5 B)"})
    path = store_costs("bmv2", other)
    assert load_costs("soft") == COSTS
    assert load_costs("bmv2") == other
    assert path == calibration.calibration_file()
    monkeypatch.setattr(calibration.bmv2, "version", lambda: "1.15 (6 B)")
    assert load_costs("bmv2") is None, "another build of BMv2 costs something else"


def test_another_machine_or_a_broken_file_counts_as_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = store_costs("soft", COSTS)
    with monkeypatch.context() as patch:
        patch.setattr(calibration.platform, "release", lambda: "another kernel")
        assert load_costs("soft") is None
    assert load_costs("soft") == COSTS
    path.write_text("{", encoding="utf-8")
    assert load_costs("soft") is None


def test_rates_beyond_what_was_measured_are_refused_in_one_line() -> None:
    with pytest.raises(NotReady) as refused:
        check_rates(topologies.load("tiny"), 4, "soft", COSTS)
    message = str(refused.value)
    assert "\n" not in message
    assert message.startswith("tiny: NIC ports of 100 Gb/s are more than this machine carries")
    assert "4.99 Mb/s" in message


def test_a_bearable_fabric_is_taken_as_it_is_described() -> None:
    fabric = small_fabric()
    check_rates(fabric, 2, "soft", COSTS)
    for as_described in (True, False):
        slow = made_bearable(fabric, 2, "soft", COSTS, as_described=as_described)
        assert slow.fabric is fabric
        assert slow.time_scale == 1


def test_an_unbearable_one_is_slowed_down_to_what_is_carried() -> None:
    tiny = topologies.load("tiny")
    slow = made_bearable(tiny, 4, "soft", COSTS, as_described=False)
    most = most_nic_rate_bps(tiny, 4, "soft", COSTS)
    assert 0.99 * most < slow.fabric.nic_rate_bps <= most
    with pytest.raises(NotReady):
        made_bearable(tiny, 4, "soft", COSTS, as_described=True)
