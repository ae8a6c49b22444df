# SPDX-License-Identifier: Apache-2.0
"""Proves that every example runs in virtual time, over the compiled P4 program, and shows what it
says."""

import pytest

from endpoint import control as ctl
from examples import (
    ev_events,
    ev_probes,
    explicit_evs,
    generated_evs,
    qp_setup,
    write_benchmark,
)
from topologies import load


def test_qp_setup(capsys: pytest.CaptureFixture[str]) -> None:
    qp_setup.main()
    out = capsys.readouterr().out
    assert "IBV_WC_RECV_RDMA_WITH_IMM IBV_WC_SUCCESS, 1048576 bytes" in out
    assert "IBV_QPS_RTS, timeout 8, MPR 8" in out


def test_explicit_evs_also_with_a_segment(capsys: pytest.CaptureFixture[str]) -> None:
    explicit_evs.main()
    fabric = load("tiny")
    paths = fabric.spec.planes * fabric.spec.t1s
    assert capsys.readouterr().out.splitlines() == [
        f"profile {number}: {paths} EVs, 1 denied" for number in (1, 2)
    ]


def test_one_generated_profile_serves_two_peers(capsys: pytest.CaptureFixture[str]) -> None:
    generated_evs.main()
    out = capsys.readouterr().out
    assert "bytes to h4" in out and "bytes to h3" in out


def test_ev_events_name_the_paths_of_the_silent_link_and_no_other() -> None:
    events = ev_events.main()
    template = load("tiny").path_template(0, 3)
    silent = ctl.mrc_ctl_ev(template.address(0, 0), 1)
    assert [(event.ev, event.state) for event in events] == [
        (silent, ctl.MRC_CTL_EV_ASSUMED_BAD),
        (silent, ctl.MRC_CTL_EV_GOOD),
    ]
    assert {event.drop_count for event in events} == {0}


def test_ev_probes_tell_the_round_trip_of_every_path() -> None:
    fabric = load("tiny")
    responses = ev_probes.main()
    assert len(responses) == fabric.spec.planes * fabric.spec.t1s
    assert all(0 < response.rtt <= fabric.base_rtt_ns() for response in responses)


def test_the_benchmark_comes_near_line_rate_with_large_writes() -> None:
    fabric = load("tiny")
    rows = write_benchmark.main(largest=1 << 18, writes=16, factor=512)
    line_rate = fabric.spec.planes * fabric.nic_rate_bps / 1e9
    assert [row.size for row in rows] == [1, 512, 1 << 18]
    assert [row.gbps for row in rows] == sorted(row.gbps for row in rows)
    assert 0.8 * line_rate < rows[-1].gbps < line_rate
