# SPDX-License-Identifier: Apache-2.0
"""Forwarding is the compiled P4 program and its tables: spoil either, and it shows in the run."""

import json
from importlib import resources

import pytest

from controller.tables import FIB, QUEUE_PROFILE, QUEUE_TRIMMED
from softswitch import Program, load_program
from testbed.expectations import judge
from testbed.run import run_scenario
from testbed.scenario import Scenario, load_scenario, parse_scenario, shipped_scenarios
from testbed.virtual.harvest import QUEUES_PER_PORT, harvest
from testbed.virtual.switch import CLASS_DEQUEUED, CLASS_ENQUEUED
from testbed.virtual.world import VirtualWorld


def compiled() -> dict[str, list[dict[str, object]]]:
    text = (resources.files("p4src") / "compiled" / "mrc.json").read_text(encoding="utf-8")
    document: dict[str, list[dict[str, object]]] = json.loads(text)
    return document


@pytest.fixture(scope="module")
def program_without_un() -> Program:
    document = compiled()
    emptied = [a for a in document["actions"] if a["name"] == "MrcIngress.srv6.un"]
    assert emptied
    for action in emptied:
        assert action["primitives"]
        action["primitives"] = []
    return load_program(json.dumps(document).encode())


def small(**changes: object) -> Scenario:
    document: dict[str, object] = {
        "name": "small",
        "description": "A few messages each way.",
        "topology": "tiny",
        "duration": "3ms",
        "workload": {
            "kind": "permutation",
            "shift": 2,
            "message_bytes": "64KiB",
            "messages": 4,
        },
    }
    return parse_scenario(document | changes, source="test")


@pytest.mark.parametrize("name", shipped_scenarios())
def test_with_un_a_no_op_every_scenario_fails(name: str, program_without_un: Program) -> None:
    result = run_scenario(load_scenario(name), program=program_without_un)
    assert not result.passed
    assert result.bytes_verified == 0
    assert {drop.reason for drop in result.switch_drops} == {"no route"}


def test_the_same_small_run_passes_with_the_program_as_compiled() -> None:
    result = run_scenario(small())
    assert result.passed
    assert result.switch_drops == []


def test_with_the_trim_threshold_at_0_every_trimmable_packet_arrives_cut() -> None:
    def trim_everything(world: VirtualWorld) -> None:
        for node in world.switches.values():
            table = node.switch.tables[QUEUE_PROFILE]
            for entry in table.entries():
                table.modify(entry.key, entry.action, (0, *entry.params[1:]))

    worlds: list[VirtualWorld] = []

    def prepare(world: VirtualWorld) -> None:
        trim_everything(world)
        worlds.append(world)

    result = run_scenario(small(duration="200us"), prepare=prepare)
    stats = [flow.receiver_qp.stats for flow in worlds[0].flows.flows]
    assert not result.passed
    assert sum(s.data_received for s in stats) == 0
    assert sum(s.trimmed_received for s in stats) == result.packets.data_sent > 100
    # Cut once and never again: on the way it is no longer trimmable.
    assert result.packets.trimmed == result.packets.data_sent


@pytest.mark.fact("result.program")
def test_a_deleted_fib_entry_shows_as_no_route_drops_at_that_switch() -> None:
    def forget_a_route(world: VirtualWorld) -> None:
        table = world.switches["p0t0a"].switch.tables[FIB]
        uplink = world.fabric.uplink_port(1)
        routes = [entry for entry in table.entries() if entry.params[0] == uplink]
        assert len(routes) == 1
        table.delete(routes[0].key)

    result = run_scenario(small(), prepare=forget_a_route)
    drops = {(drop.switch, drop.reason) for drop in result.switch_drops}
    assert drops == {("p0t0a", "no route")}
    # The endpoints leave the dead path, so every byte arrives all the same.
    assert result.passed
    retired = {(c.host, c.plane, c.uplink) for c in result.ev_changes if c.new == "assumed_bad"}
    assert retired >= {("h1", 0, 1), ("h2", 0, 1)}


def test_a_harvest_can_be_repeated() -> None:
    worlds: list[VirtualWorld] = []
    result = run_scenario(small(), prepare=worlds.append)
    again = harvest(worlds[0])
    assert again.packets == result.packets
    assert again.queues == result.queues


def test_a_queue_that_only_gave_out_is_uneven() -> None:
    worlds: list[VirtualWorld] = []
    good = run_scenario(small(expect={"queues_balanced": True}), prepare=worlds.append)
    assert good.passed
    switch = worlds[0].switches["p0t0a"]
    unused = 1 * QUEUES_PER_PORT + QUEUE_TRIMMED
    assert switch.counts(CLASS_ENQUEUED)[unused] == switch.counts(CLASS_DEQUEUED)[unused] == 0
    switch.switch.counters[CLASS_DEQUEUED].write(unused, 1, 100)
    again = harvest(worlds[0])
    (check,) = [c for c in judge(again, worlds[0].scenario.expect) if c.name == "queues_balanced"]
    assert not check.ok
