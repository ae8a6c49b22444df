# SPDX-License-Identifier: Apache-2.0
"""Scenario files: the shipped ones load and fit their fabric; a wrong one names file and field."""

from pathlib import Path

import pytest

import topologies
from testbed.run import check_names
from testbed.scenario import ScenarioError, load_scenario, parse_scenario, shipped_scenarios

REQUIRED = {
    "demo",
    "flapping-links",
    "incast-7-to-1-with-victim",
    "link-down",
    "lossy-ev",
    "nic-port-down",
    "permutation",
    "silent-link",
    "silent-switch",
    "t1-down-and-up",
}


def minimal(**changes: object) -> dict[str, object]:
    document: dict[str, object] = {
        "name": "x",
        "description": "d",
        "topology": "tiny",
        "duration": "1ms",
        "workload": {"kind": "permutation", "messages": 1},
    }
    return document | changes


def test_the_promised_scenarios_are_shipped() -> None:
    assert set(shipped_scenarios()) >= REQUIRED


@pytest.mark.parametrize("name", shipped_scenarios())
def test_a_shipped_scenario_fits_its_fabric_and_expects_more_than_the_bytes(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name
    check_names(scenario, topologies.load(scenario.topology), scenario.capture)
    assert scenario.expect.all_bytes_verified
    assert len(scenario.expect.model_fields_set) >= 2


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"duration": "100"}, "duration", "has no unit|not a time"),
        ({"topologie": "tiny"}, "topologie", "no such field"),
        ({"workload": {"kind": "permutation"}}, "workload", "either messages"),
        ({"workload": {"kind": "nope"}}, "workload", "tag"),
        (
            {"workload": {"kind": "permutation", "until": "2ms"}},
            "scenario",
            "until must be before duration",
        ),
        (
            {"faults": [{"kind": "link_down", "link": "a-b", "at": "5us"}, {"kind": "link_up"}]},
            r"faults\[1\]",
            "tag",
        ),
        (
            {"faults": [{"kind": "link_lossy", "link": "a-b", "at": "5us", "share": 1.5}]},
            r"faults\[0\].share",
            "less than or equal to 1",
        ),
        (
            {"workload": {"kind": "incast", "senders": ["h1"], "receiver": "h1", "messages": 1}},
            "workload",
            "receiver not one of them",
        ),
        ({"expect": {"goodput_after": 95}}, "expect.goodput_after", "less than or equal to 1"),
        ({"expect": {"goodput_afer": 0.9}}, "expect.goodput_afer", "no such field"),
        (
            {"workload": {"kind": "permutation", "messages": 1, "message_bytes": "2GiB"}},
            "workload.message_bytes",
            "less than or equal to 1073741824",
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_file(
    changes: dict[str, object], field: str, text: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"(?m)^some\.yaml: {field}: .*({text})"):
        parse_scenario(minimal(**changes), source="some.yaml")


def test_names_that_the_fabric_lacks_are_all_reported() -> None:
    scenario = parse_scenario(
        minimal(
            faults=[
                {"kind": "link_down", "link": "p0t0a-p0t1z", "at": "1us"},
                {"kind": "switch_stop", "switch": "p9t1a", "at": "1us"},
                {"kind": "nic_port_down", "host": "h1", "port": 2, "at": "1us"},
            ],
            workload={"kind": "one_write", "source": "h1", "destination": "h9", "messages": 1},
        ),
        source="some.yaml",
    )
    with pytest.raises(ScenarioError) as caught:
        check_names(scenario, topologies.load("tiny"), ["h1-p0t0a", "h1-p0t0b"])
    lines = str(caught.value).splitlines()
    assert all(line.startswith("some.yaml: ") for line in lines)
    assert [line.split(": ")[1] for line in lines] == [
        "faults[0].link",
        "faults[1].switch",
        "faults[2].port",
        "capture[1]",
        "workload.destination",
    ]


def test_a_file_that_is_not_there_or_no_yaml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"missing\.yaml"):
        load_scenario(tmp_path / "missing.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1")
    with pytest.raises(ScenarioError, match=r"broken\.yaml: not YAML"):
        load_scenario(broken)
    with pytest.raises(ScenarioError, match=r"no scenario 'nope'.*permutation"):
        load_scenario("nope")
    other = broken.rename(tmp_path / "broken.txt")
    with pytest.raises(ScenarioError, match=r"broken\.txt: a scenario's file is called \.yaml"):
        load_scenario(other)


def test_a_field_given_twice_is_refused(tmp_path: Path) -> None:
    twice = tmp_path / "twice.yaml"
    twice.write_text("name: a\nexpect: {}\nname: b\n")
    with pytest.raises(ScenarioError, match=r"twice\.yaml: not YAML: field 'name' is given twice"):
        load_scenario(twice)
