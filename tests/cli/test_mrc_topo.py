# SPDX-License-Identifier: Apache-2.0
"""`mrc topo` shows fabrics, counts and lists table entries, and works at 131,072 NICs."""

import json
import time

import pytest
from cli_support import call, process, refusal

from controller.tables import TABLES, switch_entries
from testbed.fabric_facts import facts
from topologies import load, preset_names
from topologies.proof import SidCollisionError


def test_the_full_size_fabric_is_counted_and_proved_in_seconds():
    started = time.monotonic()
    done = process("topo", "tables", "mrc-131072")
    assert time.monotonic() - started < 30
    assert (done.returncode, done.stderr) == (0, "")
    assert "p7t0a … p7t0sr (512 alike)" in done.stdout
    assert "12,625,920 entries on 6,144 switches" in done.stdout
    assert "1,048,576 of NICs" in done.stdout
    assert "cannot be installed" in done.stdout


def test_one_switch_of_the_full_size_fabric_lists_its_entries():
    entries = json.loads(call("topo", "tables", "mrc-131072", "p5t1iv", "--json").stdout)
    assert len(entries) == 2_055
    assert [entry["table"] for entry in entries] == sorted(
        (entry["table"] for entry in entries), key=TABLES.index
    )


def test_counts_are_those_of_the_entries_of_every_switch():
    document = json.loads(call("topo", "tables", "demo", "--json").stdout)
    fabric = load("demo")
    for switch in fabric.switches():
        counted = {name.rpartition(".")[2]: 0 for name in TABLES}
        for entry in switch_entries(fabric, switch.name):
            counted[entry.table.rpartition(".")[2]] += 1
        assert document["switches"][switch.name] == counted
    assert document["entries"] == sum(sum(c.values()) for c in document["switches"].values())
    assert document["unique_usids"]["nics_within_their_t0_and_plane"] == 32
    assert document["not_installable"] is None


def test_a_collision_is_an_error_that_says_so(monkeypatch):
    def collide(fabric):
        raise SidCollisionError("h1 and h2 in T0 p0t0a share uSID 0x0800")

    monkeypatch.setattr("testbed.cli.topo_tables.prove_unique", collide)
    assert refusal(call("topo", "tables", "tiny")) == (
        "tiny: h1 and h2 in T0 p0t0a share uSID 0x0800"
    )


def test_facts_of_the_demo_fabric():
    found = facts(load("demo"))
    assert (found.nics, found.switches, found.links) == (8, 24, 64)
    assert (found.paths_across_t0s, found.paths_within_t0) == (16, 4)
    assert found.example.address == "5f00:0:7000:7803:7001:6803::"
    assert found.example.hops == ["p3t0a", "p3t1d", "p3t0b"]
    usids = {(row.tier, row.plane): (row.first_usid, row.last_usid) for row in found.sids}
    assert usids["T1", 2] == (0x5800, 0x5803)
    assert usids["NIC of a T0", 0] == (0x0800, 0x0803)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_shown_and_listed(name):
    shown = call("topo", "show", name)
    assert shown.exit_code == 0
    assert f"{load(name).nic_count:,} NICs" in shown.stdout
    assert json.loads(call("topo", "show", name, "--json").stdout)["name"] == name
    assert f"\n{name} " in call("topo", "list").stdout


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_fabric_is_drawn_into_a_file(tmp_path, suffix):
    picture = tmp_path / f"tiny.{suffix}"
    assert call("topo", "show", "tiny", "--draw", picture).exit_code == 0
    start = picture.read_bytes()[:200]
    assert b"<?xml" in start if suffix == "svg" else start.startswith(b"\x89PNG")


def test_a_generated_fabric_is_a_file_that_can_be_shown(tmp_path):
    path = tmp_path / "pod.yaml"
    dimensions = ["--planes", 3, "--t0s", 4, "--t1s", 5, "--nics-per-t0", 6]
    done = call("topo", "generate", "pod", *dimensions, "--t1-gbps", 200, "--out", path)
    assert done.exit_code == 0, done.output
    spec = load(path).spec
    assert (spec.planes, spec.t0s, spec.t1s, spec.nics_per_t0) == (3, 4, 5, 6)
    assert (spec.rate_gbps.nic_t0, spec.rate_gbps.t0_t1) == (100, 200)
    assert call("topo", "generate", "pod", *dimensions).stdout.startswith("# SPDX")
    assert "24 NICs" in call("topo", "show", path).stdout


def test_what_is_wrong_is_named_in_one_line(tmp_path):
    assert "no preset 'nosuch'" in refusal(call("topo", "show", "nosuch"))
    assert "drawing is an .svg or .png" in refusal(call("topo", "show", "tiny", "--draw", "a.pdf"))
    assert "has no switch 'p0t9a'" in refusal(call("topo", "tables", "tiny", "p0t9a"))
    path = tmp_path / "wrong.yaml"
    path.write_text("name: a\nplanes: 9\nt0s: 1\nt1s: 1\nnics_per_t0: 1\n")
    assert refusal(call("topo", "show", path)).startswith(f"{path}: planes: ")
    nowhere = tmp_path / "no" / "a.svg"
    assert refusal(call("topo", "show", "tiny", "--draw", nowhere)).startswith(f"{nowhere}: ")
