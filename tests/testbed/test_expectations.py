# SPDX-License-Identifier: Apache-2.0
"""Every expectation can fail: each is met by a good result and not by one that is spoiled for it.

Expectations that find nothing to measure fail too.
"""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.expectations import judge
from testbed.results import RunResult
from testbed.run import run_scenario
from testbed.scenario import Expectations, parse_scenario

Spoil = Callable[[RunResult], Any]


@pytest.fixture(scope="module")
def good() -> RunResult:
    """A short run with a fault that is mended and a victim: something of everything."""
    document = {
        "name": "good",
        "description": "d",
        "topology": "rack16",
        "duration": "3ms",
        "workload": {
            "kind": "incast",
            "receiver": "h1",
            "senders": ["h5", "h9", "h13"],
            "message_bytes": "64KiB",
            "in_flight": 4,
            "start": "60us",
            "until": "300us",
            "victim": {"source": "h10", "destination": "h2"},
        },
        "faults": [{"kind": "link_down", "link": "p0t0c-p0t1a", "at": "110us", "lasts": "50us"}],
        "measure": {"settle": "20us", "settle_mended": "60us", "queues": True},
        "map": {"interval": "4us"},
    }
    return run_scenario(parse_scenario(document, source="test"))


def outcome(result: RunResult, **expected: Any) -> bool:
    quiet = {"all_bytes_verified": False, "no_qp_error": False}
    checks = judge(result, Expectations(**(quiet | expected)))
    assert [check.name for check in checks] == list(expected)
    return checks[0].ok


def change(**values: Any) -> Spoil:
    return lambda result: [setattr(result, name, value) for name, value in values.items()]


def packets(**values: int) -> Spoil:
    return lambda result: [setattr(result.packets, n, v) for n, v in values.items()]


def fault(**values: Any) -> Spoil:
    return lambda result: [setattr(result.faults[0], n, v) for n, v in values.items()]


CASES: list[tuple[str, Any, Spoil]] = [
    ("all_bytes_verified", True, change(bytes_verified=1)),
    ("all_bytes_verified", True, change(bytes_wrong=1)),
    ("all_bytes_verified", True, change(flows=[])),
    ("all_bytes_verified", True, lambda r: setattr(r.flows[0], "messages_completed", 0)),
    (
        "all_bytes_verified",
        True,
        lambda r: [setattr(r.flows[0], f"messages_{end}", 0) for end in ("posted", "completed")],
    ),
    ("no_qp_error", True, lambda r: setattr(r.flows[0], "error", "retry_exceeded")),
    ("min_trimmed_share", 0.001, packets(trimmed=0)),
    ("max_trimmed_share", 0.5, packets(trimmed=10**9)),
    ("min_evs_assumed_bad", 1, change(ev_changes=[])),
    ("no_timer_fired", True, packets(timers_fired=1)),
    ("no_congestion_drops", True, packets(congestion_drops=1)),
    ("queues_balanced", True, lambda r: setattr(r.queues[0], "dequeued", 0)),
    ("queues_balanced", True, change(queues=[])),
    ("victim_share", 0.5, change(victim_share=0.49)),
    ("victim_share", 0.5, change(victim_share=None)),
    ("fair_share", 0.1, change(fair_share=0.05)),
    ("jain_index", 0.5, change(jain_index=0.49)),
    ("jain_index", 0.5, change(jain_index=None)),
    ("queue_p99_below", 1.5, lambda r: setattr(r.queue_depths[-1], "p99", 99)),
    ("queue_p99_below", 1.5, change(queue_depths=[])),
    ("queue_p99_below", 1.5, lambda r: [setattr(q, "samples", 0) for q in r.queue_depths]),
    ("goodput_share", 0.5, lambda r: setattr(r.maxflow[0], "share", 0.4)),
    ("goodput_share", 0.5, change(maxflow=[])),
    ("goodput_after", 0.3, fault(goodput_after_share=0.2)),
    ("goodput_after", 0.3, fault(goodput_after_share=None)),
    ("goodput_after", 0.3, change(faults=[])),
    ("goodput_mended", 0.3, fault(goodput_mended_share=0.2)),
    ("last_packet_rtts", 3, fault(worst_last_packet_rtts=3.1)),
    ("last_packet_rtts", 3, fault(worst_last_packet_rtts=None)),
    ("recovered_within", "100us", fault(recovered_us=100.1)),
    ("recovered_within", "100us", fault(unrecovered=1, recovered_us=None)),
    ("recovered_within", "100us", fault(data_packets_lost=0)),
    ("port_utilisation", 0.1, lambda r: setattr(r.port_use[0], "busy_share", 0.05)),
    ("port_utilisation", 0.1, change(port_use=[])),
    ("map_names_faults", "100us", lambda r: setattr(r.map.faults[0], "named_us", 100.1)),
    ("map_names_faults", "100us", lambda r: setattr(r.map.faults[0], "named_us", None)),
    ("map_names_faults", "100us", change(map=None)),
    ("map_accuses_no_other", True, lambda r: r.map.wrong.append("h1-p0t0a")),
    ("map_accuses_no_other", True, change(map=None)),
]


@pytest.mark.parametrize(("name", "wanted", "spoil"), CASES)
def test_an_expectation_is_met_and_can_be_missed(
    good: RunResult, name: str, wanted: Any, spoil: Spoil
) -> None:
    assert outcome(good, **{name: wanted})
    spoiled = good.model_copy(deep=True)
    spoil(spoiled)
    assert not outcome(spoiled, **{name: wanted})


def test_an_ev_that_was_retired_is_noticed(good: RunResult) -> None:
    assert not outcome(good, no_ev_assumed_bad=True)
    calm = good.model_copy(deep=True)
    calm.ev_changes = [c for c in calm.ev_changes if c.new != "assumed_bad"]
    assert outcome(calm, no_ev_assumed_bad=True)


def test_packets_lost_in_a_stop_balance_a_queue(good: RunResult) -> None:
    stopped = good.model_copy(deep=True)
    stopped.queues[0].dequeued -= 3
    stopped.queues[0].lost_in_stop = 3
    assert outcome(stopped, queues_balanced=True)


def test_all_expectations_are_covered_here() -> None:
    covered = {name for name, _, _ in CASES} | {"no_ev_assumed_bad"}
    assert covered == set(Expectations.model_fields)
