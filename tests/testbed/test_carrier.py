# SPDX-License-Identifier: Apache-2.0
"""Hosts notice carrier after the set delay and tell their peers; switches do not look at it."""

from typing import Any

from testbed.results import RunResult
from testbed.run import run_scenario
from testbed.scenario import parse_scenario


def run(*faults: dict[str, Any], **endpoint: Any) -> RunResult:
    document = {
        "name": "carrier",
        "description": "d",
        "topology": "tiny",
        "duration": "3ms",
        "workload": {
            "kind": "permutation",
            "shift": 2,
            "message_bytes": "64KiB",
            "in_flight": 4,
            "until": "150us",
        },
        "endpoint": endpoint,
        "faults": list(faults),
    }
    return run_scenario(parse_scenario(document, source="test"))


def ports(result: RunResult, host: str) -> list[tuple[int, str]]:
    return [
        (event.time_ns, event.text)
        for event in result.port_events
        if event.host == host and "port" in event.text
    ]


def test_a_host_notices_its_port_after_the_carrier_delay_and_again_when_it_is_back() -> None:
    down = {"kind": "nic_port_down", "host": "h1", "port": 1, "at": "40us", "lasts": "30us"}
    result = run(down, carrier_delay="5us")
    assert result.passed
    own = [item for item in ports(result, "h1") if item[1].startswith("port")]
    assert own == [(45_000, "port 1 not usable"), (75_000, "port 1 usable")]
    told = [item for item in ports(result, "h3") if item[1].startswith("peer")]
    assert [text for _, text in told] == ["peer's port 1 not usable", "peer's port 1 usable"]
    assert 45_000 < told[0][0] < 55_000


def test_a_flap_shorter_than_the_carrier_delay_is_never_noticed() -> None:
    flap = {"kind": "link_down", "link": "h1-p1t0a", "at": "40us", "lasts": "1us"}
    result = run(flap, carrier_delay="5us")
    assert result.passed
    assert ports(result, "h1") == []
    assert result.packets.data_lost > 0


def test_a_silent_link_is_never_noticed_as_carrier() -> None:
    result = run({"kind": "link_silent", "link": "h1-p1t0a", "at": "40us"})
    assert result.passed
    assert ports(result, "h1") == []


def test_a_stopped_t0_takes_the_carrier_of_its_hosts_with_it_and_costs_one_plane() -> None:
    result = run({"kind": "switch_stop", "switch": "p1t0a", "at": "40us"}, carrier_delay="1us")
    assert result.passed
    for host in ("h1", "h2"):
        assert (41_000, "port 1 not usable") in ports(result, host)
    after = result.faults[0]
    assert after.maxflow_after_gbps == after.maxflow_before_gbps / 2
    assert after.goodput_after_share is not None
    assert after.goodput_after_share > 0.9


def test_what_waits_in_a_switch_that_stops_is_lost_and_accounted() -> None:
    stop = {"kind": "switch_stop", "switch": "p0t0a", "at": "40us", "lasts": "20us"}
    result = run(stop)
    assert result.passed
    stopped = [loss for loss in result.losses if loss.place == "p0t0a"]
    waiting = sum(queue.lost_in_stop for queue in result.queues if queue.switch == "p0t0a")
    assert len(stopped) == 1
    assert waiting == stopped[0].data + stopped[0].control + stopped[0].probes > 0
    for queue in result.queues:
        assert queue.enqueued == queue.dequeued + queue.lost_in_stop


def test_a_switch_that_two_faults_stop_comes_back_with_the_second_mend() -> None:
    """It was provisioned twice, and the second time every entry was there already."""
    first = {"kind": "switch_stop", "switch": "p0t1a", "at": "30us", "lasts": "20us"}
    second = {"kind": "switch_stop", "switch": "p0t1a", "at": "40us", "lasts": "40us"}
    result = run(first, second)
    assert result.passed
    returned = [c.time_ns for c in result.ev_changes if (c.old, c.new) == ("assumed_bad", "good")]
    assert returned and min(returned) > 80_000
