# SPDX-License-Identifier: Apache-2.0
"""The computed tables of a switch are those that the P4 program has, entry by entry."""

import re
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller import tables
from controller.limits import NotInstallableError, check_installable, not_installable
from controller.queues import bmv2_packet_rates, port_queues
from topologies import Fabric, TopologyError, load
from topologies.clos import generate

P4_SOURCES = Path(__file__).parents[2] / "p4src"

TINY_P1T0B = """\
my_sid[5f00:0:3001::] → un()
my_sid[5f00:0:2001::] → ua(1, 02:21:00:01:00:01, 02:11:00:00:00:02)
my_sid[5f00:0:2002::] → ua(2, 02:21:00:01:00:02, 02:11:00:00:00:03)
my_sid[5f00:0:2003::] → ua(3, 02:21:00:01:00:03, 02:31:00:00:00:02)
my_sid[5f00:0:2004::] → ua(4, 02:21:00:01:00:04, 02:31:00:01:00:02)
my_adjacency[5f00:0:2001::] → ua(1, 02:21:00:01:00:01, 02:11:00:00:00:02)
my_adjacency[5f00:0:2002::] → ua(2, 02:21:00:01:00:02, 02:11:00:00:00:03)
my_adjacency[5f00:0:2003::] → ua(3, 02:21:00:01:00:03, 02:31:00:00:00:02)
my_adjacency[5f00:0:2004::] → ua(4, 02:21:00:01:00:04, 02:31:00:01:00:02)
fib[5f00:0:2800::/48] → forward(1, 02:21:00:01:00:01, 02:11:00:00:00:02)
fib[5f00:0:2801::/48] → forward(2, 02:21:00:01:00:02, 02:11:00:00:00:03)
fib[5f00:0:3800::/48] → forward(3, 02:21:00:01:00:03, 02:31:00:00:00:02)
fib[5f00:0:3801::/48] → forward(4, 02:21:00:01:00:04, 02:31:00:01:00:02)
queue_profile[1] → set_profile(24, 142, 16, off, off)
queue_profile[2] → set_profile(24, 142, 16, off, off)
queue_profile[3] → set_profile(16, 142, 12, 3, 13)
queue_profile[4] → set_profile(16, 142, 12, 3, 13)
classes[0] → set_class(0, 0)
classes[4] → set_class(0, 1)
classes[8] → set_class(0, 1)
classes[12] → set_class(1, 0)
classes[16] → set_class(1, 0)
classes[46] → set_class(2, 0)
"""

TINY_P0T1A = """\
my_sid[5f00:0:1800::] → un()
my_sid[5f00:0:1::] → ua(1, 02:30:00:00:00:01, 02:20:00:00:00:03)
my_sid[5f00:0:2::] → ua(2, 02:30:00:00:00:02, 02:20:00:01:00:03)
my_adjacency[5f00:0:1::] → ua(1, 02:30:00:00:00:01, 02:20:00:00:00:03)
my_adjacency[5f00:0:2::] → ua(2, 02:30:00:00:00:02, 02:20:00:01:00:03)
fib[5f00:0:1000::/48] → forward(1, 02:30:00:00:00:01, 02:20:00:00:00:03)
fib[5f00:0:1001::/48] → forward(2, 02:30:00:00:00:02, 02:20:00:01:00:03)
queue_profile[1] → set_profile(16, 142, 12, 3, 13)
queue_profile[2] → set_profile(16, 142, 12, 3, 13)
"""


def listing(fabric: Fabric, name: str) -> str:
    return "".join(f"{entry}\n" for entry in tables.switch_entries(fabric, name))


def test_a_t0_entry_by_entry() -> None:
    assert listing(load("tiny"), "p1t0b") == TINY_P1T0B


def test_a_t1_entry_by_entry() -> None:
    classes = TINY_P1T0B[TINY_P1T0B.index("classes") :]
    assert listing(load("tiny"), "p0t1a") == TINY_P0T1A + classes


@pytest.mark.fact("dscp.operator")
def test_dscps_and_the_cut_come_from_the_description() -> None:
    dscp = {
        "no_trim": 1,
        "trimmable": 2,
        "trimmable_retx": 3,
        "trimmed": 4,
        "trimmed_lasthop": 5,
        "control": 6,
    }
    spec = generate("x", planes=1, t0s=1, t1s=1, nics_per_t0=1, dscp=dscp, trim_length=200)
    text = listing(Fabric(spec), "p0t0a")
    assert "queue_profile[1] → set_profile(" in text
    assert ", 200, 5, off, off)" in text and ", 200, 4, " in text
    classes = [line for line in text.splitlines() if line.startswith("classes")]
    assert classes == [
        "classes[1] → set_class(0, 0)",
        "classes[2] → set_class(0, 1)",
        "classes[3] → set_class(0, 1)",
        "classes[4] → set_class(1, 0)",
        "classes[5] → set_class(1, 0)",
        "classes[6] → set_class(2, 0)",
    ]


def test_tables_actions_and_their_arity_are_the_p4_programs() -> None:
    source = "\n".join(path.read_text() for path in sorted(P4_SOURCES.glob("*.p4")))
    declared = {
        m[1]: m[2] for m in re.finditer(r"\btable (\w+) \{(.*?)\n    \}", source, re.DOTALL)
    }
    arity = {
        m[1]: len([p for p in m[2].split(",") if p.strip()])
        for m in re.finditer(r"\baction (\w+)\(([^)]*)\)", source)
    }
    for entry in tables.switch_entries(load("tiny"), "p0t0a"):
        table, action = entry.table.rpartition(".")[2], entry.action.rpartition(".")[2]
        assert re.search(rf"\bactions = {{[^}}]*\b{action};", declared[table])
        assert len(entry.match) == len(re.findall(r": (?:exact|lpm)\b", declared[table])) == 1
        assert isinstance(entry.match[0], tuple) == ("lpm" in declared[table])
        assert len(entry.params) == arity[action]
    assert {name.rpartition(".")[2] for name in tables.TABLES} == set(declared)
    for name, value in (
        ("QUEUE_DATA", tables.QUEUE_DATA),
        ("QUEUE_TRIMMED", tables.QUEUE_TRIMMED),
        ("QUEUE_CONTROL", tables.QUEUE_CONTROL),
    ):
        assert f"const queue_t {name} = {value};" in source


@given(
    st.integers(1, 8),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 5),
    st.data(),
)
@settings(deadline=None, max_examples=50)
def test_counts_are_right_and_no_key_is_there_twice(
    planes: int, t0s: int, t1s: int, nics: int, data: st.DataObject
) -> None:
    fabric = Fabric(generate("any", planes=planes, t0s=t0s, t1s=t1s, nics_per_t0=nics))
    switch = data.draw(st.sampled_from(list(fabric.switches())))
    entries = list(tables.switch_entries(fabric, switch.name))
    assert Counter(e.table for e in entries) == tables.entry_counts(fabric, switch.name)
    assert len({(e.table, e.match) for e in entries}) == len(entries)
    everything = sum(len(list(tables.switch_entries(fabric, s.name))) for s in fabric.switches())
    assert tables.fabric_entry_count(fabric) == everything


def test_the_largest_fabrics_tables_are_computed_a_switch_at_a_time() -> None:
    fabric = load("mrc-131072")
    started = time.process_time()
    for name in ("p0t0a", "p7t0sr", "p7t1iv"):
        entries = list(tables.switch_entries(fabric, name))
        counts = tables.entry_counts(fabric, name)
        assert counts[tables.FIB] == 512 and counts[tables.MY_SID] == 513
        assert len(entries) == sum(counts.values())
    assert tables.fabric_entry_count(fabric) == 8 * (512 + 256) * len(entries)
    first = next(tables.switch_entries(fabric, "p3t1b"))
    assert str(first) == "my_sid[5f00:0:7801::] → un()"
    assert time.process_time() - started < 5


def test_an_unknown_switch_is_named() -> None:
    with pytest.raises(TopologyError, match="no switch 'p9t0a'"):
        list(tables.switch_entries(load("tiny"), "p9t0a"))


@pytest.mark.parametrize("preset", ["tiny", "demo", "eight-plane", "rack16"])
def test_small_presets_can_be_installed(preset: str) -> None:
    assert not_installable(load(preset)) is None
    check_installable(load(preset))


def test_the_largest_fabric_cannot_be_installed_and_the_reason_names_switch_and_port() -> None:
    with pytest.raises(NotInstallableError, match="switch p0t0a port 511 is the drop port"):
        check_installable(load("mrc-131072"))


@pytest.mark.parametrize(
    ("t0s", "t1s", "nics", "named"),
    [(2, 10, 500, None), (2, 10, 501, "p0t0a"), (510, 1, 1, None), (511, 1, 1, "p0t1a")],
)
def test_port_510_is_the_last_that_can_be_installed(
    t0s: int, t1s: int, nics: int, named: str | None
) -> None:
    fabric = Fabric(generate("edge", planes=1, t0s=t0s, t1s=t1s, nics_per_t0=nics))
    reason = not_installable(fabric)
    assert reason is None if named is None else reason is not None and named in reason


def test_queues_follow_link_and_thresholds() -> None:
    spec = generate(
        "x", planes=1, t0s=2, t1s=2, nics_per_t0=2, rate_gbps={"nic_t0": 100, "t0_t1": 400}
    )
    fabric = Fabric(spec)
    limits = fabric.thresholds_packets()
    for node, port, rate in (("h1", 0, 100), ("p0t0a", 1, 100), ("p0t0a", 3, 400)):
        queues = port_queues(fabric, node, port)
        assert queues.rate_bps == rate * 10**9
        assert queues.capacity[tables.QUEUE_DATA] > limits.trim_last_hop
        assert queues.capacity[tables.QUEUE_TRIMMED] == limits.trimmed_capacity
        assert queues.capacity[tables.QUEUE_CONTROL] == limits.control_capacity


@given(st.integers(1_000_000, 10**12), st.sampled_from([256, 512, 1024, 2048, 4096]))
def test_bmv2_rates_never_exceed_the_link_together(rate: int, mtu: int) -> None:
    data, trimmed, control = bmv2_packet_rates(rate, mtu, trim_length=142)
    frame, overhead = mtu + 146, 24
    bits = 8 * (data * (frame + overhead) + trimmed * (142 + overhead) + control * (154 + overhead))
    assert bits <= rate
    assert bits > 0.95 * rate - 8 * (frame + 3 * overhead + 142 + 154)
    assert data == pytest.approx(0.7 * rate / (8 * (frame + overhead)), abs=1)


@given(st.sampled_from([256, 512, 1024, 2048, 4096]))
def test_bmv2_control_queue_carries_the_sacks_of_the_data(mtu: int) -> None:
    data, _, control = bmv2_packet_rates(10**9, mtu, trim_length=142)
    sacks_per_packet = max(mtu, 1024) / 4096
    assert control > 1.2 * data * sacks_per_packet


def test_a_slow_link_still_moves_packets_of_every_class() -> None:
    assert bmv2_packet_rates(1_000, 4096, trim_length=142) == (1, 1, 1)
