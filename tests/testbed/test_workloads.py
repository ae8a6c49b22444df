# SPDX-License-Identifier: Apache-2.0
"""Each workload moves the bytes it promises, between the hosts it names, and verifies them."""

from typing import Any

import pytest

from testbed.results import RunResult
from testbed.run import run_scenario
from testbed.scenario import ScenarioError, parse_scenario
from testbed.virtual.world import VirtualWorld
from testbed.workload import DataPool, RingPlan, pairs

HOSTS = [f"h{i}" for i in range(1, 9)]


def run(workload: dict[str, Any], prepare: Any = None, **changes: Any) -> RunResult:
    document = {
        "name": "w",
        "description": "d",
        "topology": "tiny",
        "duration": "20ms",
        "workload": workload,
    }
    return run_scenario(parse_scenario(document | changes, source="test"), prepare=prepare)


def workload(document: dict[str, Any]) -> Any:
    scenario = {"name": "w", "description": "d", "topology": "tiny", "duration": "1ms"}
    return parse_scenario(scenario | {"workload": document}, source="test").workload


def test_one_write() -> None:
    result = run(
        {
            "kind": "one_write",
            "source": "h1",
            "destination": "h4",
            "message_bytes": 10_001,
            "messages": 7,
        }
    )
    assert result.passed
    assert [(f.source, f.destination, f.bytes_verified) for f in result.flows] == [
        ("h1", "h4", 70_007)
    ]
    assert result.completion_times[0].completed == 7


def test_writes_with_immediate_complete_at_the_receiver_in_order() -> None:
    result = run(
        {
            "kind": "permutation",
            "shift": 1,
            "message_bytes": "20KiB",
            "messages": 20,
            "immediate": True,
        }
    )
    assert result.passed
    assert result.bytes_verified == 4 * 20 * 20 * 1024


def test_all_to_all_connects_every_ordered_pair() -> None:
    result = run({"kind": "all_to_all", "message_bytes": "16KiB", "messages": 2})
    assert result.passed
    assert len({(f.source, f.destination) for f in result.flows}) == 4 * 3
    assert result.bytes_verified == 12 * 2 * 16384


def test_a_ring_all_reduce_ends_with_the_reduction_everywhere() -> None:
    result = run({"kind": "ring_all_reduce", "buffer_bytes": "64KiB", "rounds": 3})
    assert result.passed
    assert result.bytes_verified == 4 * 3 * 2 * 3 * 16384
    rounds = next(times for times in result.completion_times if times.group == "round")
    assert rounds.completed == 3


def test_a_ring_all_reduce_survives_losses() -> None:
    result = run(
        {"kind": "ring_all_reduce", "buffer_bytes": "256KiB", "rounds": 2},
        faults=[{"kind": "link_lossy", "link": "p0t0a-p0t1a", "at": 0, "share": 0.05}],
    )
    assert result.passed
    assert result.packets.data_lost > 0


def test_a_byte_changed_in_a_destination_is_found() -> None:
    def spoil(world: VirtualWorld) -> None:
        flow = world.flows.flows[0]

        def flip(now: int, _: Any) -> None:
            flow.region.buffer[5] ^= 1

        world.loop.at(60_000, flip)

    result = run(
        {
            "kind": "one_write",
            "source": "h1",
            "destination": "h3",
            "message_bytes": "64KiB",
            "messages": 200,
            "in_flight": 2,
        },
        prepare=spoil,
    )
    assert not result.passed
    assert result.bytes_wrong > 0


def test_a_wrong_reduction_is_found() -> None:
    def spoil(world: VirtualWorld) -> None:
        ring = world.flows.ring
        assert ring is not None

        def flip(now: int, _: Any) -> None:
            chunk = bytearray(ring.hosts[1]._chunks[0])
            chunk[0] ^= 1
            ring.hosts[1]._chunks[0] = bytes(chunk)

        world.loop.at(1_000, flip)

    result = run({"kind": "ring_all_reduce", "buffer_bytes": "64KiB"}, prepare=spoil)
    assert not result.passed
    assert result.bytes_wrong > 0


def test_a_random_permutation_follows_the_seed_and_has_no_fixed_point() -> None:
    spec = workload({"kind": "permutation", "messages": 1})
    first = pairs(spec, HOSTS, 1)
    assert first == pairs(spec, HOSTS, 1)
    assert any(first != pairs(spec, HOSTS, seed) for seed in range(2, 6))
    for seed in range(50):
        found = pairs(spec, HOSTS, seed)
        assert sorted(b for _, _, b in found) == list(range(8))
        assert all(a != b for _, a, b in found)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (
            {"kind": "one_write", "source": "h9", "destination": "h1", "messages": 1},
            r"workload\.source: no host 'h9'",
        ),
        (
            {"kind": "incast", "senders": ["h2", "hx"], "receiver": "h1", "messages": 1},
            r"workload\.senders\[1\]: no host 'hx'",
        ),
        ({"kind": "permutation", "shift": 8, "messages": 1}, "h1 would send to itself"),
    ],
)
def test_hosts_that_do_not_fit_are_named(document: dict[str, Any], text: str) -> None:
    with pytest.raises(ScenarioError, match=text):
        pairs(workload(document), HOSTS, 1)


@pytest.mark.parametrize("kind", ["permutation", "all_to_all"])
def test_a_fabric_of_one_host_has_nobody_to_send_to(kind: str) -> None:
    with pytest.raises(ScenarioError, match="one host"):
        pairs(workload({"kind": kind, "messages": 1}), ["h1"], 1)


def test_the_chunks_of_a_ring_go_once_round_twice() -> None:
    plan = RingPlan(hosts=4, chunk_bytes=1, rounds=1)
    for host in range(4):
        sent = [plan.chunk_sent(host, step) for step in range(plan.steps)]
        received = [plan.chunk_sent(host - 1, step) for step in range(plan.steps)]
        # A host sends on what it received in the step before.
        assert sent[1:] == received[:-1]
        assert sorted([*sent[:3], received[2]]) == [0, 1, 2, 3]
    assert [plan.reduces(step) for step in range(plan.steps)] == [True] * 3 + [False] * 3


def test_messages_that_are_under_way_together_differ_everywhere() -> None:
    pool = DataPool(1, 4096)
    seen = [bytes(pool.message(f, n, 0, 4096)) for f in range(8) for n in range(32)]
    assert len(set(seen)) == len(seen)
    assert pool.message(3, 4, 0, 4096) == DataPool(1, 4096).message(3, 4, 0, 4096)
    assert pool.message(3, 4, 0, 4096) != DataPool(2, 4096).message(3, 4, 0, 4096)
