# SPDX-License-Identifier: Apache-2.0
"""Every scenario that is shipped loads, fits its fabric, and is listed; help names each command."""

import json

import pytest
from cli_support import call, process

from testbed.cli.runs import complete_scenario
from testbed.run import check_names
from testbed.scenario import load_scenario, shipped_scenarios
from topologies import load

WANTED = {
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


def test_all_that_should_be_shipped_are():
    assert set(shipped_scenarios()) >= WANTED


@pytest.mark.parametrize("name", shipped_scenarios())
def test_a_shipped_scenario_loads_and_names_only_what_its_fabric_has(name):
    scenario = load_scenario(name)
    assert scenario.name == name
    check_names(scenario, load(scenario.topology), scenario.capture)


def test_the_list_has_every_scenario_with_its_faults():
    document = json.loads(call("scenarios", "--json").stdout)
    assert [scenario["name"] for scenario in document] == shipped_scenarios()
    text = call("scenarios").stdout
    for name in shipped_scenarios():
        assert f"\n{name} " in text
        for fault in load_scenario(name).faults:
            assert fault.kind in text


def test_completion_offers_scenarios_by_their_beginning():
    assert set(complete_scenario("silent")) == {"silent-link", "silent-switch"}


def test_the_installed_command_helps_and_knows_its_version():
    done = process("--help")
    assert done.returncode == 0
    for command in ("demo", "run", "send", "topo", "scenarios", "report", "controller"):
        assert f" {command} " in done.stdout
    assert process("--version").stdout.startswith("mrc-p4 ")
