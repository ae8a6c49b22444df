# SPDX-License-Identifier: Apache-2.0
"""A scenario file runs with real packets and is judged as in virtual time; on BMv2, a trimmed
packet overtakes queued data and is sent again before any timer."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mininet", reason="needs Mininet's modules: make mininet")

from small_fabric import small_fabric
from test_live_fabric import _pcap_frames

import topologies
from endpoint.wire.dscp import DscpMap
from endpoint.wire.frame import ParsedFrame, parse_frame
from testbed.mininet import run as mininet_run
from testbed.mininet.calibration import Costs
from testbed.mininet.errors import MininetWorldError
from testbed.mininet.run import MininetOptions, run_in_mininet
from testbed.report import read_run, write_report
from testbed.results import RunResult
from testbed.scenario import Scenario, parse_scenario

pytestmark = pytest.mark.mininet

# What the small fabric costs on any machine that can run tests.
COSTS = Costs(agents_us=1, hop_us=1, path_rtt_us=4000, measured_at="then", packets=1)
BMV2 = pytest.param("bmv2", marks=pytest.mark.bmv2)


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mininet_run, "load_costs", lambda kind: COSTS)


def _scenario(folder: Path, fabric: topologies.Fabric, **fields: object) -> Scenario:
    file = folder / "fabric.yaml"
    file.write_text(topologies.to_yaml(fabric.spec), encoding="utf-8")
    document = {"name": "here", "description": "A test.", "topology": str(file), **fields}
    return parse_scenario(document, source="here")


def _run(scenario: Scenario, kind: str, folder: Path, **more: object) -> RunResult:
    return run_in_mininet(
        scenario,
        MininetOptions(kind),
        seed=scenario.seed,
        results_dir=folder / "results",
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("kind", ["soft", BMV2])
def test_a_link_fails_and_a_switch_stops_and_returns(kind: str, tmp_path: Path) -> None:
    scenario = _scenario(
        tmp_path,
        small_fabric(),
        duration="30s",
        workload={
            "kind": "permutation",
            "shift": 1,
            "message_bytes": "32KiB",
            "until": "4500ms",
            "in_flight": 4,
        },
        faults=[
            {"kind": "link_down", "link": "p0t0a-p0t1b", "at": "800ms", "lasts": "1s"},
            {"kind": "switch_stop", "switch": "p1t1a", "at": "1400ms", "lasts": "500ms"},
        ],
        measure={"bin": "100ms", "settle": "300ms", "window": "1s", "settle_mended": "1s"},
        expect={"queues_balanced": True, "min_evs_assumed_bad": 1},
    )
    result = _run(scenario, kind, tmp_path)
    assert result.passed, result.checks
    assert result.world == "mininet"
    assert result.time_scale == 1
    assert result.bytes_verified == result.bytes_posted > 0
    assert [fault.label for fault in result.faults] == [
        "link_down p0t0a-p0t1b",
        "switch_stop p1t1a",
    ]
    for fault in result.faults:
        assert fault.data_packets_lost > 0
        assert fault.end_ns is not None and fault.end_ns > fault.begin_ns
        assert fault.unrecovered == 0
        for qp in fault.qps:
            assert fault.begin_ns < qp.last_packet_ns < fault.end_ns
    real = result.real_time
    assert real is not None and real.switch == kind
    for timing in real.faults:
        assert timing.last_packet_ms is not None and timing.stall_ms is not None
    returned = {
        (change.plane, change.uplink)
        for change in result.ev_changes
        if (change.old, change.new) == ("assumed_bad", "good")
    }
    assert returned == {(0, 1), (1, 0)}
    stored, ran = read_run(tmp_path / "results")
    assert stored == result
    assert "mininet" in ran.versions
    assert "h1→h2" in write_report(tmp_path / "results").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [BMV2])
def test_a_trimmed_packet_overtakes_data_and_is_sent_again_before_any_timer(
    kind: str, tmp_path: Path
) -> None:
    """Four hosts under one T0, three of which write to the fourth: the only path from each of
    them is a FIFO but for priorities, so a packet that arrives before an older one of its queue
    pair has overtaken it in the switch."""
    fabric = small_fabric(planes=1, t0s=1, t1s=1, nics_per_t0=4)
    scenario = _scenario(
        tmp_path,
        fabric,
        duration="30s",
        workload={
            "kind": "incast",
            "senders": ["h2", "h3", "h4"],
            "receiver": "h1",
            "message_bytes": "128KiB",
            "messages": 2,
            "in_flight": 2,
        },
        expect={"min_trimmed_share": 0.01, "no_timer_fired": True, "queues_balanced": True},
    )
    result = _run(scenario, kind, tmp_path, capture=["h1-p0t0a"])
    assert result.passed, result.checks
    dscp = DscpMap(**fabric.spec.dscp.model_dump())
    frames = [
        parse_frame(frame, dscp) for frame in _pcap_frames(tmp_path / "results" / "h1-p0t0a.pcap")
    ]
    arrived = [frame for frame in frames if frame.dst == fabric.hosts[0].address]
    trimmed = [place for place, frame in enumerate(arrived) if frame.is_trimmed]
    assert trimmed
    assert any(_overtook(arrived, place) for place in trimmed)
    for place in trimmed:
        assert _came_again(arrived, place), arrived[place].psn


def _overtook(arrived: list[ParsedFrame], place: int) -> bool:
    """Whether a whole packet of its queue pair that was sent before it came after it."""
    cut = arrived[place]
    return any(
        not later.is_trimmed
        and not later.rtx
        and _same_flow(later, cut)
        and 0 < (cut.psn - later.psn) % (1 << 24) < 1 << 23
        for later in arrived[place + 1 :]
    )


def _came_again(arrived: list[ParsedFrame], place: int) -> bool:
    cut = arrived[place]
    return any(
        later.rtx and not later.is_trimmed and _same_flow(later, cut) and later.psn == cut.psn
        for later in arrived[place + 1 :]
    )


def _same_flow(one: ParsedFrame, other: ParsedFrame) -> bool:
    return (one.src, one.dest_qp) == (other.src, other.dest_qp)


def test_rates_that_this_machine_cannot_carry_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = COSTS.model_copy(update={"hop_us": 1e6})
    monkeypatch.setattr(mininet_run, "load_costs", lambda kind: dear)
    scenario = _scenario(
        tmp_path,
        small_fabric(),
        duration="1s",
        workload={"kind": "all_to_all", "messages": 1},
    )
    with pytest.raises(MininetWorldError, match="are more than this machine carries"):
        run_in_mininet(
            scenario, MininetOptions("soft", as_described=True), seed=1, results_dir=tmp_path
        )


def test_a_ring_all_reduce_goes_round(tmp_path: Path) -> None:
    scenario = _scenario(
        tmp_path,
        small_fabric(planes=1, t0s=1, t1s=1, nics_per_t0=3),
        duration="30s",
        workload={"kind": "ring_all_reduce", "buffer_bytes": 96 << 10, "rounds": 2},
    )
    result = _run(scenario, "soft", tmp_path)
    assert result.passed, result.checks
    rounds = next(times for times in result.completion_times if times.group == "round")
    assert rounds.completed == 2
