# SPDX-License-Identifier: Apache-2.0
"""A wrong topology file is refused with the file, the field and the reason; a good one is not."""

from pathlib import Path
from typing import Any

import pytest

from topologies import TopologyError, load, parse
from topologies.files import build_spec

GOOD: dict[str, Any] = {"name": "x", "planes": 2, "t0s": 2, "t1s": 2, "nics_per_t0": 2}


def test_only_the_dimensions_are_needed() -> None:
    spec = build_spec(GOOD, "x.yaml")
    assert (spec.path_mtu, spec.trim_length, spec.delay_ns.nic_t0) == (4096, 142, 500)


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"planes": 9}, "planes", "must be 1..8"),
        ({"planes": 0}, "planes", "must be 1..8"),
        ({"planes": True}, "planes", "valid integer"),
        ({"t0s": 2048}, "t0s", "uSID overflow"),
        ({"t1s": 257}, "t1s", "8 uplink bits"),
        ({"nics_per_t0": 0}, "nics_per_t0", "must be 1..2047"),
        ({"nics_per_t0": "4"}, "nics_per_t0", "valid integer"),
        ({"nics_per_t0": 2046}, "nics_per_t0", "2048 ports"),
        ({"t0_uplinks": 4}, "t0_uplinks", "parallel links between the same two switches"),
        ({"t0_uplinks": 1}, "t0_uplinks", "do not reach all 2 T1s"),
        ({"path_mtu": 1500}, "path_mtu", "256, 512, 1024, 2048, 4096"),
        ({"trim_length": 121}, "trim_length", "greater than or equal to 122"),
        ({"trim_length": 257}, "trim_length", "less than or equal to 256"),
        ({"rate_gbps": {"nic_t0": 0}}, "rate_gbps.nic_t0", "greater than or equal"),
        ({"rate_gbps": {"nic_t0": float("nan")}}, "rate_gbps.nic_t0", "finite"),
        ({"rate_gbps": {"t0t1": 1}}, "rate_gbps.t0t1", "no such field"),
        ({"delay_ns": {"t0_t1": 0.5}}, "delay_ns.t0_t1", "valid integer"),
        ({"delay_ns": {"t0_t1": -1}}, "delay_ns.t0_t1", "greater than or equal to 0"),
        ({"dscp": {"control": 64}}, "dscp.control", "less than or equal to 63"),
        ({"dscp": {"control": 12}}, "dscp", "trimmed and control are both 12"),
        ({"thresholds": {"ecn_min": 0.8}}, "thresholds", "ecn_min (0.8) must be below ecn_max"),
        ({"thresholds": {"trim": 2}}, "thresholds", "trim (2) must be below trim_last_hop"),
        ({"thresholds": {"ecn_min": 0}}, "thresholds.ecn_min", "greater than 0"),
        ({"sid_block": "5f00::/48"}, "sid_block", "must be a /32"),
        ({"sid_block": "fe80::/32"}, "sid_block", "link-local"),
        ({"sid_block": "::/32"}, "sid_block", "unicast"),
        ({"nic_prefix": "5f00::/64"}, "nic_prefix", "within sid_block"),
        ({"nic_prefix": "fd00::/48"}, "nic_prefix", "must be a /64"),
        ({"nic_prefix": "ff00:1::/64"}, "nic_prefix", "unicast"),
        ({"name": "Big One"}, "name", "match pattern"),
        ({"spines": 3}, "spines", "no such field"),
    ],
)
def test_each_wrong_field_is_named(change: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(TopologyError) as caught:
        build_spec(GOOD | change, "my.yaml")
    text = str(caught.value)
    assert text.startswith(f"my.yaml: {field}: "), text
    assert reason in text
    assert len(text.splitlines()) == 1


def test_all_wrong_fields_are_listed_with_what_they_were() -> None:
    with pytest.raises(TopologyError) as caught:
        build_spec({"name": "x", "planes": 9, "t0s": 2, "t1s": 2}, "my.yaml")
    assert str(caught.value).splitlines() == [
        "my.yaml: planes: must be 1..8 (a uSID's 3 plane bits number 8 planes) (got 9)",
        "my.yaml: nics_per_t0: is missing",
    ]


def test_the_largest_uplink_statement_that_matches_is_accepted() -> None:
    assert build_spec(GOOD | {"t0_uplinks": 2}, "my.yaml").t0_uplinks == 2


def test_a_key_given_twice_is_refused_with_its_line() -> None:
    with pytest.raises(TopologyError, match=r"my\.yaml: .*'planes' is given twice(.|\n)*line 2"):
        parse("planes: 2\nplanes: 3\n", "my.yaml")


@pytest.mark.parametrize("text", ["", "- 1\n", "just words"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(TopologyError, match=r"my\.yaml: must be a mapping"):
        parse(text, "my.yaml")


def test_broken_yaml_is_refused_with_its_place() -> None:
    with pytest.raises(TopologyError, match=r"my\.yaml: not valid YAML(.|\n)*line 1"):
        parse("planes: [1", "my.yaml")


def test_yaml_cannot_make_objects() -> None:
    with pytest.raises(TopologyError, match="not valid YAML"):
        parse("name: !!python/object/apply:os.getcwd []", "my.yaml")


def test_a_file_on_disk_is_loaded_and_named_in_errors(tmp_path: Path) -> None:
    good = tmp_path / "mine.yaml"
    good.write_text("name: mine\nplanes: 1\nt0s: 3\nt1s: 2\nnics_per_t0: 5\n")
    assert load(good).nic_count == 15
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: mine\nplanes: 1\n")
    with pytest.raises(TopologyError, match=r"bad\.yaml: t0s: is missing"):
        load(str(bad))


def test_missing_files_and_unknown_presets_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"absent\.yaml: cannot be read"):
        load(tmp_path / "absent.yaml")
    with pytest.raises(TopologyError, match=r"no preset 'dmeo'.*demo.*tiny"):
        load("dmeo")


@pytest.mark.parametrize("name", ["h0", "h9", "h01", "x", "", "p0t0a", "h1 "])
def test_unknown_hosts_are_refused(name: str) -> None:
    with pytest.raises(TopologyError, match=r"no host .* \(h1\.\.h8\)"):
        load("demo").host(name)


@pytest.mark.parametrize("name", ["p4t0a", "p0t0c", "p0t1e", "p0t2a", "t0a", "h1", "p0t0", "p0t0A"])
def test_unknown_switches_are_refused(name: str) -> None:
    with pytest.raises(TopologyError, match=r"no switch .*planes 0\.\.3"):
        load("demo").switch(name)


@pytest.mark.parametrize("name", ["p0t0a", "p0t1a-p0t0a", "p0t0a-h1", "h1-p0t0b", "p0t0a-p1t1a"])
def test_unknown_links_are_refused(name: str) -> None:
    with pytest.raises(TopologyError, match="link"):
        load("demo").link(name)


@pytest.mark.parametrize(("node", "port"), [("h1", 4), ("h1", -1), ("p0t0a", 0), ("p0t1a", 3)])
def test_unknown_ports_are_refused(node: str, port: int) -> None:
    fabric = load("demo")
    for ask in (fabric.link_at, fabric.mac, fabric.neighbour):
        with pytest.raises(TopologyError, match=f"{node} has no port {port}"):
            ask(node, port)
