# SPDX-License-Identifier: Apache-2.0
"""Proves that samples show queues and windows as they were, only when asked for, in the report."""

import re
from xml.etree import ElementTree

import pytest

from testbed.measure import jain_index
from testbed.report.congestion_chart import congestion_chart
from testbed.report.page import deepest_queues
from testbed.results import RunResult
from testbed.run import run_scenario
from testbed.sampled import QueueDepth
from testbed.scenario import Scenario, ScenarioError, parse_scenario

UNTIL = 150_000


def scenario(**measure: object) -> Scenario:
    document = {
        "name": "sampled",
        "description": "d",
        "topology": "rack16",
        "duration": "2ms",
        "workload": {
            "kind": "incast",
            "receiver": "h1",
            "senders": ["h5", "h9", "h13"],
            "message_bytes": "64KiB",
            "in_flight": 4,
            "until": "150us",
        },
        "endpoint": {"congestion": "nscc"},
        "measure": {"settle": "50us", **measure},
    }
    return parse_scenario(document, source="test")


@pytest.fixture(scope="module")
def result() -> RunResult:
    return run_scenario(scenario(queues=True, trace=["h5-h1", "h13-h1"], sample="500ns"))


def test_the_bottleneck_is_the_deepest_queue_and_was_sampled_while_settled(
    result: RunResult,
) -> None:
    assert len(result.queue_depths) == 4 * 8 + 4 * 4
    deepest = deepest_queues(result.queue_depths)[0]
    assert (deepest.switch, deepest.port, deepest.trim_at) == ("p0t0a", 1, 24)
    assert 0 < deepest.median <= deepest.p99 <= deepest.most <= 24
    settled_ns = result.maxflow[0].to_ns - result.maxflow[0].from_ns
    assert abs(deepest.samples - settled_ns / 500) <= 2
    uplink = next(q for q in result.queue_depths if (q.switch, q.port) == ("p0t0a", 5))
    assert (uplink.trim_at, uplink.most) == (16, 0)


def test_a_trace_shows_the_window_fall_from_its_start_and_bytes_in_flight_below_it(
    result: RunResult,
) -> None:
    trace = result.trace
    assert trace is not None and trace.sample_ns == 500
    assert [flow.flow for flow in trace.flows] == ["h5→h1", "h13→h1"]
    for flow in trace.flows:
        count = len(flow.window_bytes)
        assert count == len(flow.inflight_bytes) == len(flow.rtt_ns)
        assert abs(count - result.duration_ns / 500) <= 2
        assert flow.window_bytes[0] == result.topology.bdp_bytes * 3 // 2
        settled = range(50_000 // 500, UNTIL // 500)
        # A third of what fits into the way and a queue at the target.
        mean = sum(flow.window_bytes[i] for i in settled) / len(settled)
        assert 0.3 < mean / (result.topology.bdp_bytes * 1.75 / 3) < 1.5
        assert all(flow.inflight_bytes[i] <= flow.window_bytes[i] + 4_188 for i in settled)
        assert all(flow.rtt_ns[i] >= result.topology.base_rtt_ns for i in settled)
        assert flow.rtt_ns[0] == 0


def test_nothing_is_sampled_unasked_and_sampling_changes_nothing(result: RunResult) -> None:
    plain = run_scenario(scenario())
    assert plain.trace is None and plain.queue_depths == []
    assert plain.flows == result.flows
    assert plain.packets == result.packets
    assert plain.congestion == "nscc"
    assert plain.jain_index == jain_index([flow.goodput_gbps for flow in plain.flows])


def test_a_run_can_be_told_what_to_trace_and_refuses_a_flow_that_is_not_there() -> None:
    traced = run_scenario(scenario(), trace=["all"])
    assert traced.trace is not None and len(traced.trace.flows) == 3
    with pytest.raises(ScenarioError, match=r"test: measure\.trace: no flow 'h2-h1'"):
        run_scenario(scenario(), trace=["h5-h1", "h2-h1"])


def test_the_chart_has_a_line_a_flow_and_the_base_round_trip(result: RunResult) -> None:
    chart = congestion_chart(result)
    assert chart is not None
    ElementTree.fromstring(str(chart))
    assert "a line a flow" in chart and "base round trip" in chart
    assert not re.search(r"#0[0-9a-b]{5}\b", chart)
    assert congestion_chart(result.model_copy(update={"trace": None})) is None


def test_of_many_flows_the_chart_has_median_and_range(result: RunResult) -> None:
    assert result.trace is not None
    many = result.trace.model_copy(update={"flows": result.trace.flows * 10})
    chart = congestion_chart(result.model_copy(update={"trace": many}))
    assert chart is not None and "median of 20 flows" in chart


def test_the_deepest_queues_are_those_nearest_to_their_threshold() -> None:
    def queue(port: int, p99: int, trim_at: int, most: int) -> QueueDepth:
        return QueueDepth(
            switch="s", port=port, trim_at=trim_at, samples=1, median=0, p99=p99, most=most
        )

    queues = [queue(1, 12, 24, 13), queue(2, 10, 16, 11), queue(3, 0, 16, 0), queue(4, 0, 16, 2)]
    assert [q.port for q in deepest_queues(queues)] == [2, 1, 4]


@pytest.mark.parametrize(
    ("values", "index"),
    [([5.0, 5.0, 5.0], 1.0), ([3.0, 0.0, 0.0], 0.333333), ([2.0, 1.0], 0.9), ([0.0], None)],
)
def test_jains_index(values: list[float], index: float | None) -> None:
    assert jain_index(values) == index
