# SPDX-License-Identifier: Apache-2.0
"""Counts of EVs over time follow from the reported changes, and means keep their integral."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.report.ev_series import Steps, by_path, by_plane, crossing_flows, senders_changes
from testbed.report.goodput_chart import coarse
from testbed.results import EvChange, FlowResult, read_result

times = st.lists(st.tuples(st.integers(0, 500), st.integers(-3, 3)), max_size=30)


@given(changes=times, width=st.integers(1, 70), end=st.integers(1, 600))
def test_means_over_bins_keep_the_integral(changes, width, end):
    steps = Steps()
    for time, change in sorted(changes):
        steps.add(time, change)
    at_each_ns = [sum(c for t, c in changes if t <= now) for now in range(end)]
    means = steps.means(width, end)
    for place, mean in enumerate(means):
        inside = at_each_ns[place * width : (place + 1) * width]
        assert mean == pytest.approx(sum(inside) / len(inside))
    assert len(means) == -(-end // width)


@given(values=st.lists(st.floats(0, 1e4), max_size=300), most=st.integers(1, 50))
def test_coarser_bins_keep_the_sum_and_the_limit(values, most):
    means, together = coarse(values, most)
    assert len(means) <= most
    sizes = [min(together, len(values) - place * together) for place in range(len(means))]
    total = sum(mean * size for mean, size in zip(means, sizes, strict=True))
    assert total == pytest.approx(sum(values))


def change(time, flow, host, plane, uplink, old, new):
    return EvChange(
        time_ns=time,
        flow=flow,
        host=host,
        ev=plane << 8 | uplink,
        plane=plane,
        uplink=uplink,
        old=old,
        new=new,
        cause="loss",
    )


def flow(source, destination):
    return FlowResult(
        name=f"{source}→{destination}",
        group="write",
        source=source,
        destination=destination,
        messages_posted=1,
        messages_completed=1,
        bytes_verified=1,
        goodput_gbps=1,
        srtt_ns=1,
    )


@pytest.fixture
def result(short_run):
    """A result on two T0s of two hosts, with changes made up for the occasion."""
    found = read_result(short_run[1] / "result.json")
    found.flows = [flow("h1", "h3"), flow("h1", "h2")]
    found.ev_changes = [
        change(10, "h1→h3", "h1", 0, 1, "good", "skip"),
        change(20, "h1→h3", "h1", 0, 1, "skip", "assumed_bad"),
        change(25, "h1→h3", "h3", 0, 1, "good", "assumed_bad"),
        change(30, "h1→h2", "h1", 0, 0, "good", "assumed_bad"),
        change(40, "h1→h3", "h1", 0, 1, "assumed_bad", "good"),
    ]
    return found


def test_only_the_sender_s_changes_count(result):
    assert [c.time_ns for c in senders_changes(result)] == [10, 20, 30, 40]


def test_an_ev_is_counted_from_each_change_to_the_next(result):
    counted = by_plane(result)
    assert list(counted[0, "skip"].periods(100)) == [(10, 20, 1)]
    assert list(counted[0, "assumed_bad"].periods(100)) == [(20, 30, 1), (30, 40, 2), (40, 100, 1)]


def test_paths_are_those_of_flows_that_cross_a_t1(result):
    assert crossing_flows(result) == {"h1→h3"}
    assert set(by_path(result)) == {(0, 1, "skip"), (0, 1, "assumed_bad")}


def test_a_real_run_retires_the_paths_of_the_dead_link(short_run):
    found = read_result(short_run[1] / "result.json")
    dead = [
        key for key, steps in by_path(found).items() if key[2] == "assumed_bad" and steps.counts
    ]
    assert dead == [(0, 1, "assumed_bad")]
