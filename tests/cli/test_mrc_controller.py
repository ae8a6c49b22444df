# SPDX-License-Identifier: Apache-2.0
"""`mrc controller install` writes a fabric's tables over gRPC, once, and names what failed."""

import contextlib
import json
import random

import pytest
import yaml
from cli_support import call, process, refusal

from controller.tables import fabric_entry_count
from softswitch.p4rt.device import Device
from softswitch.server import P4RuntimeServer
from softswitch.switch import Switch
from topologies import load


@pytest.fixture
def switches(tmp_path):
    """All switches of `tiny` behind servers of their own; the file that says where they are."""
    places, devices = {}, {}
    with contextlib.ExitStack() as stack:
        for number, node in enumerate(load("tiny").switches(), start=1):
            device = Device(number, lambda program: Switch(program, rng=random.Random(1)))
            server = stack.enter_context(P4RuntimeServer("127.0.0.1:0", [device]))
            places[node.name] = {"address": server.address, "device_id": number}
            devices[node.name] = device
        path = tmp_path / "switches.yaml"
        path.write_text(yaml.safe_dump(places))
        yield path, places, devices


def test_install_twice_changes_nothing_the_second_time(switches):
    path, places, devices = switches
    first = process("controller", "install", "tiny", "--switches", path)
    assert first.returncode == 0, first.stderr
    entries = fabric_entry_count(load("tiny"))
    assert f"8 of 8 switches installed, {entries + 8} changes" in first.stdout
    held = sum(len(list(t.entries())) for d in devices.values() for t in d.switch.tables.values())
    assert held == entries
    again = process("controller", "install", "tiny", "--switches", path, "--json")
    assert (again.returncode, again.stderr) == (0, "")
    reports = json.loads(again.stdout)["switches"]
    assert {report["name"] for report in reports} == set(places)
    assert sum(report["unchanged"] for report in reports) == entries
    assert not any(r["pushed"] or r["inserted"] or r["deleted"] for r in reports)


def test_a_switch_that_does_not_answer_is_named_and_the_others_are_finished(switches):
    path, places, _ = switches
    places["p1t0b"]["address"] = "127.0.0.1:1"
    path.write_text(yaml.safe_dump(places))
    done = process("controller", "install", "tiny", "--switches", path, "--wait", 0.5)
    assert done.returncode == 1
    assert done.stderr.startswith("mrc: switch p1t0b (127.0.0.1:1): unreachable")
    assert "7 of 8 switches installed" in done.stdout


def test_a_wrong_file_of_addresses_is_named_with_its_field(tmp_path):
    path = tmp_path / "switches.yaml"
    assert refusal(call("controller", "install", "tiny", "--switches", path)).startswith(f"{path}:")
    path.write_text("p0t0a: {address: 'localhost:1', device_id: one}\n")
    line = refusal(call("controller", "install", "tiny", "--switches", path))
    assert line.startswith(f"{path}: p0t0a.device_id: ")
    large = refusal(call("controller", "install", "mrc-131072", "--switches", path))
    assert "cannot be installed" in large
