# SPDX-License-Identifier: Apache-2.0
"""In a whole fabric the map names each kind of fault and nothing else; its loops are forwarded by
the P4 program; its policy takes data off a lossy link and gives it back."""

from __future__ import annotations

from typing import Any

import pytest

from controller.tables import FIB
from testbed.map_checks import map_checks
from testbed.mapped import MappedFault, MapResult
from testbed.results import RunResult
from testbed.run import run_scenario
from testbed.scenario import Expectations, Scenario, ScenarioError, parse_scenario
from testbed.virtual.world import VirtualWorld

LIGHT = {"kind": "permutation", "shift": 2, "message_bytes": "4KiB", "in_flight": 1}


def scenario(**fields: Any) -> Scenario:
    document: dict[str, Any] = {
        "name": "map",
        "description": "A test.",
        "topology": "tiny",
        "duration": "1ms",
        "workload": {**LIGHT, "until": "350us"},
        "map": {"interval": "4us"},
        "expect": {"map_accuses_no_other": True},
    }
    return parse_scenario({**document, **fields}, source="here")


def mapped(result: RunResult) -> MapResult:
    assert result.map is not None
    return result.map


def checks(result: RunResult) -> dict[str, bool]:
    return {check.name: check.ok for check in result.checks}


@pytest.mark.fact("map.never-healthy")
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"kind": "link_down", "link": "h2-p0t0a"}, "NIC–T0 link"),
        ({"kind": "nic_port_down", "host": "h4", "port": 1}, "NIC–T0 link"),
        ({"kind": "link_silent", "link": "h3-p1t0b"}, "NIC–T0 link"),
        ({"kind": "link_lossy", "link": "h1-p1t0a", "share": 0.3}, "NIC–T0 link"),
        ({"kind": "link_silent", "link": "p1t0a-p1t1b"}, "T0–T1 link"),
        ({"kind": "link_lossy", "link": "p0t0b-p0t1a", "share": 0.3}, "T0–T1 link"),
        ({"kind": "switch_stop", "switch": "p0t0b"}, "T0"),
        ({"kind": "switch_silent", "switch": "p1t0a"}, "T0"),
        ({"kind": "switch_stop", "switch": "p1t1a"}, "T1"),
        ({"kind": "switch_silent", "switch": "p0t1b"}, "T1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_each_kind_of_fault_is_named_for_what_it_is(fault: dict[str, Any], kind: str) -> None:
    result = run_scenario(scenario(faults=[{**fault, "at": "50us"}]))
    found = mapped(result)
    assert [finding.kind for finding in found.findings] == [kind]
    assert found.faults[0].named_us is not None
    assert found.wrong == [] and checks(result)["map_accuses_no_other"]


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_nothing_is_named_under_an_incast_that_trims(share: float) -> None:
    result = run_scenario(
        scenario(
            workload={
                "kind": "incast",
                "senders": ["h2", "h3", "h4"],
                "receiver": "h1",
                "message_bytes": "128KiB",
                "until": "100us",
            },
            map={"interval": "3us", "t1_share": share},
        )
    )
    found = mapped(result)
    assert result.packets.trimmed > 0
    assert found.probes > 100 and found.probes_lost == 0 and found.findings == []


def test_loops_are_forwarded_by_the_program() -> None:
    """A T1 whose route back to a T0 is gone loses that T0's loops, and says why."""

    def without_route(world: VirtualWorld) -> None:
        table = world.switches["p0t1a"].switch.tables[FIB]
        for entry in list(table.entries()):
            table.delete(entry.key)

    result = run_scenario(scenario(), prepare=without_route)
    assert [f.element for f in mapped(result).findings] == ["p0t1a"]
    assert {(d.switch, d.reason) for d in result.switch_drops} == {("p0t1a", "no route")}


@pytest.mark.fact("map.deny")
def test_policy_takes_data_off_what_is_named_and_gives_it_back() -> None:
    result = run_scenario("map-deny")
    assert result.passed, result.checks
    (finding,) = mapped(result).findings
    assert finding.cleared_ns is not None
    (fault,) = result.faults
    assert fault.last_data_packet_us is not None
    assert fault.begin_ns + fault.last_data_packet_us * 1000 <= finding.found_ns + 10_000
    denied = [c for c in result.ev_changes if c.new == "denied"]
    returned = [c for c in result.ev_changes if c.old == "denied"]
    assert denied and {(c.plane, c.uplink) for c in denied} == {(0, 1)}
    assert {(c.flow, c.host, c.ev) for c in denied} == {(c.flow, c.host, c.ev) for c in returned}
    assert {c.time_ns for c in returned} == {finding.cleared_ns}


def test_the_same_seed_gives_the_same_map() -> None:
    faults = [{"kind": "link_lossy", "link": "p0t0b-p0t1a", "share": 0.3, "at": "50us"}]
    one, two, other = (
        run_scenario(scenario(faults=faults), seed=seed).to_json() for seed in (3, 3, 4)
    )
    assert one == two != other


# -- what scenarios may ask -------------------------------------------------------------------


def test_expectations_of_a_map_need_one() -> None:
    with pytest.raises(ScenarioError, match="needs a map section"):
        scenario(map=None)


@pytest.mark.parametrize(
    "field", [{"interval": "0us"}, {"t1_share": 0}, {"policy": "maybe"}, {"rate": 1}]
)
def test_a_wrong_map_section_is_refused_by_field(field: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match=rf"here: map\.{next(iter(field))}"):
        scenario(map=field)


def _found(named_us: float | None, wrong: list[str]) -> MapResult:
    fault = MappedFault(label="l", element="e", begin_ns=0, end_ns=None, named_us=named_us)
    return MapResult(
        interval_ns=1, t1_share=1, timeout_ns=1, policy="none", probes=1, probes_lost=1,
        findings=[], faults=[fault], wrong=wrong,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        (_found(5.0, []), (True, True)),
        (_found(50.0, []), (False, True)),
        (_found(None, []), (False, True)),
        (_found(5.0, ["h1-p0t0a"]), (True, False)),
        (None, (False, False)),
    ],
)
def test_checks_of_a_map(found: MapResult | None, verdicts: tuple[bool, bool]) -> None:
    expect = Expectations.model_validate({"map_names_faults": "10us", "map_accuses_no_other": True})
    assert tuple(check.ok for check in map_checks(found, expect)) == verdicts
