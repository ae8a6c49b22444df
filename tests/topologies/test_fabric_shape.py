# SPDX-License-Identifier: Apache-2.0
"""Names, ports, links, MACs and addresses of a fabric agree with each other, for any dimensions."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import Fabric, TopologyError, load, names, parse, preset_names, to_yaml
from topologies.clos import generate

fabrics = st.builds(
    lambda planes, t0s, t1s, nics: Fabric(
        generate("any", planes=planes, t0s=t0s, t1s=t1s, nics_per_t0=nics)
    ),
    st.integers(1, 8),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 6),
)


@pytest.mark.parametrize(
    ("preset", "planes", "t0s", "t1s", "nics"),
    [
        ("tiny", 2, 2, 2, 4),
        ("demo", 4, 2, 4, 8),
        ("eight-plane", 8, 2, 5, 10),
        ("rack16", 1, 4, 4, 16),
        ("mrc-131072", 8, 512, 256, 131_072),
    ],
)
def test_presets_have_the_dimensions_they_promise(
    preset: str, planes: int, t0s: int, t1s: int, nics: int
) -> None:
    fabric = load(preset)
    spec = fabric.spec
    assert fabric.name == preset
    assert (spec.planes, spec.t0s, spec.t1s, len(fabric.hosts)) == (planes, t0s, t1s, nics)
    assert fabric.nic_rate_bps == fabric.uplink_rate_bps == 100_000_000_000


def test_there_is_no_preset_that_the_test_above_does_not_know() -> None:
    assert preset_names() == ["demo", "eight-plane", "mrc-131072", "rack16", "tiny"]


@given(fabrics)
@settings(deadline=None, max_examples=60)
def test_links_agree_with_both_of_their_ends(fabric: Fabric) -> None:
    links = list(fabric.links())
    assert len(links) == fabric.link_count == len({link.name for link in links})
    for link in links:
        assert fabric.link_at(link.a, link.a_port) == fabric.link_at(link.b, link.b_port) == link
        assert fabric.neighbour(link.a, link.a_port) == (link.b, link.b_port)
        assert fabric.neighbour(link.b, link.b_port) == (link.a, link.a_port)
        assert fabric.link(link.name) == link
        assert link.tier == ("nic_t0" if link.a.startswith("h") else "t0_t1")


@given(fabrics)
@settings(deadline=None, max_examples=60)
def test_every_port_has_one_link_and_a_mac_of_its_own(fabric: Fabric) -> None:
    nodes = [host.name for host in fabric.hosts] + [switch.name for switch in fabric.switches()]
    ends = [(node, port) for node in nodes for port in fabric.ports(node)]
    used = [
        end for link in fabric.links() for end in ((link.a, link.a_port), (link.b, link.b_port))
    ]
    assert Counter(ends) == Counter(used)
    macs = {fabric.mac(node, port) for node, port in ends}
    assert len(macs) == len(ends)
    # Unicast and locally administered (IEEE 802).
    assert all(len(mac) == 6 and mac[0] & 3 == 2 for mac in macs)


@given(fabrics)
@settings(deadline=None, max_examples=60)
def test_no_two_switches_have_two_links(fabric: Fabric) -> None:
    pairs = Counter((link.a, link.b) for link in fabric.links())
    assert set(pairs.values()) == {1}


@given(fabrics)
@settings(deadline=None, max_examples=60)
def test_names_lead_back_to_what_they_name(fabric: Fabric) -> None:
    assert [fabric.host(host.name) for host in fabric.hosts] == list(fabric.hosts)
    switches = list(fabric.switches())
    assert len(switches) == fabric.switch_count
    assert [fabric.switch(switch.name) for switch in switches] == switches
    addresses = {host.address for host in fabric.hosts}
    assert len(addresses) == fabric.nic_count
    assert all(address[:8] == bytes.fromhex("fd4d524300000000") for address in addresses)


@given(fabrics)
@settings(deadline=None, max_examples=60)
def test_paths_are_counted_as_evs_lists_them(fabric: Fabric) -> None:
    last = fabric.nic_count - 1
    for src, dst in ((0, last), (last, 0), (0, 0)):
        evs = fabric.evs(src, dst)
        assert sum(map(len, evs.values())) == fabric.paths(src, dst)
        template = fabric.path_template(src, dst)
        addresses = {template.address_of_ev(ev) for group in evs.values() for ev in group}
        assert len(addresses) == fabric.paths(src, dst)


@given(fabrics)
@settings(deadline=None, max_examples=30)
def test_a_written_file_is_read_back_as_the_same_fabric(fabric: Fabric) -> None:
    text = to_yaml(fabric.spec)
    assert text.startswith("# SPDX-License-Identifier: Apache-2.0\n")
    again = Fabric(parse(text, "again.yaml"))
    assert again == fabric
    assert hash(again) == hash(fabric)


@given(st.integers(0, 20_000))
def test_letters_count_like_spreadsheet_columns(index: int) -> None:
    assert names.letters_index(names.letters(index)) == index
    if index:
        before = names.letters(index - 1)
        assert (len(before), before) < (len(names.letters(index)), names.letters(index))


def test_letters_after_z() -> None:
    assert [names.letters(i) for i in (0, 25, 26, 51, 52, 701, 702)] == [
        "a", "z", "aa", "az", "ba", "zz", "aaa",
    ]  # fmt: skip


def test_ports_are_numbered_downlinks_first() -> None:
    fabric = load("demo")
    assert fabric.ports("h3") == range(4)
    assert fabric.ports("p1t0b") == range(1, 9)
    assert fabric.ports("p1t1b") == range(1, 3)
    assert fabric.neighbour("p1t0b", 4) == ("h8", 1)
    assert fabric.neighbour("p1t0b", 5) == ("p1t1a", 2)
    assert fabric.neighbour("h5", 2) == ("p2t0b", 1)


def test_hosts_behave_as_a_sequence() -> None:
    hosts = load("demo").hosts
    assert hosts[-1].name == "h8"
    assert [host.name for host in hosts[2:4]] == ["h3", "h4"]
    with pytest.raises(IndexError):
        hosts[8]


def test_a_fabric_cannot_be_changed() -> None:
    fabric = load("tiny")
    with pytest.raises(AttributeError):
        fabric.spec = load("demo").spec  # type: ignore[misc]
    with pytest.raises(ValueError, match="frozen"):
        fabric.spec.planes = 3  # type: ignore[misc]


def test_the_generator_names_the_fabric_in_its_errors() -> None:
    with pytest.raises(TopologyError, match=r"generated fabric big: planes: must be 1\.\.8"):
        generate("big", planes=10, t0s=1, t1s=1, nics_per_t0=1)


def test_the_generator_passes_further_fields_on() -> None:
    spec = generate("slow", planes=1, t0s=1, t1s=1, nics_per_t0=1, rate_gbps={"nic_t0": 0.05})
    assert Fabric(spec).nic_rate_bps == 50_000_000
    assert Fabric(spec).uplink_rate_bps == 100_000_000_000
