# SPDX-License-Identifier: Apache-2.0
"""Table writes: what is accepted, what is refused and with which error, what reads give back."""

import random
from pathlib import Path

import pytest

from softswitch import (
    BadEntry,
    EntryExists,
    NoSuchEntry,
    Switch,
    TableEntry,
    TableFull,
    load_program,
)

PROGRAM = load_program((Path(__file__).parent / "programs" / "matches.json").read_bytes())


@pytest.fixture
def tables():
    return Switch(PROGRAM, rng=random.Random(1)).tables


def test_entries_come_back_as_they_were_written(tables):
    table = tables["I.prefixes"]
    table.insert(((0x0A000000, 8),), "I.choose", (1,))
    table.insert(((0, 0),), "I.refuse", ())
    assert table.entries() == [
        TableEntry(((0x0A000000, 8),), "I.choose", (1,)),
        TableEntry(((0, 0),), "I.refuse", ()),
    ]
    table.modify(((0, 0),), "I.choose", (9,))
    assert table.get(((0, 0),)) == TableEntry(((0, 0),), "I.choose", (9,))
    table.delete(((0x0A000000, 8),))
    assert len(table) == 1


def test_insert_twice(tables):
    tables["I.exact_pair"].insert((1, 2), "NoAction", ())
    with pytest.raises(EntryExists, match=r"I\.exact_pair: .*0x1.*0x2"):
        tables["I.exact_pair"].insert((1, 2), "I.choose_metered", (3,))


@pytest.mark.parametrize("call", ["modify", "delete", "get"])
def test_an_entry_that_is_not_there(tables, call):
    arguments = ("NoAction", ()) if call == "modify" else ()
    with pytest.raises(NoSuchEntry, match=r"I\.exact_pair: no entry \(.*0x1, .*0x2\)"):
        getattr(tables["I.exact_pair"], call)((1, 2), *arguments)


def test_a_full_table_and_room_after_a_delete(tables):
    table = tables["I.exact_pair"]
    for b in range(4):
        table.insert((1, b), "NoAction", ())
    with pytest.raises(TableFull, match="4 entries"):
        table.insert((1, 4), "NoAction", ())
    table.delete((1, 0))
    table.insert((1, 4), "NoAction", ())


BAD = [
    ("I.exact_pair", (1,), "NoAction", (), 0, "2 match values are needed, not 1"),
    ("I.exact_pair", (256, 0), "NoAction", (), 0, "does not fit in 8 bits"),
    ("I.exact_pair", (-1, 0), "NoAction", (), 0, "does not fit in 8 bits"),
    ("I.exact_pair", ((1, 2), 0), "NoAction", (), 0, "does not fit in 8 bits"),
    ("I.exact_pair", (1, 2), "I.refuse", (), 0, "none of its actions"),
    ("I.exact_pair", (1, 2), "I.choose_metered", (), 0, "takes 1 parameters, not 0"),
    ("I.exact_pair", (1, 2), "I.choose_metered", (256,), 0, "value = 256 does not fit in 8 bits"),
    ("I.exact_pair", (1, 2), "NoAction", (), 5, "exact entries have no priority"),
    ("I.prefixes", (5,), "NoAction", (), 0, "is no lpm pair"),
    ("I.prefixes", ((0, 33),), "NoAction", (), 0, "prefix length of 0 to 32"),
    ("I.prefixes", ((0x0A000001, 8),), "NoAction", (), 0, "bits set after its prefix"),
    ("I.masks", ((1, 0), (0, 0)), "NoAction", (), 1, "bits set outside its mask"),
    ("I.masks", ((0, 0), (0, 0)), "NoAction", (), 0, "priority 0 is not between"),
    ("I.masks", ((0, 0), (0, 0)), "NoAction", (), 1 << 31, "is not between"),
    ("I.ranges", ((5, 4), 0, 0), "NoAction", (), 1, "is no range from low to high"),
    ("I.ranges", ((5, 65536), 0, 0), "NoAction", (), 1, "is no range from low to high"),
    ("I.fixed", ((0, 0),), "I.choose", (1,), 1, "constant entries cannot be added to"),
]


@pytest.mark.parametrize(("name", "key", "action", "params", "priority", "words"), BAD)
def test_entries_that_do_not_fit(tables, name, key, action, params, priority, words):
    before = tables[name].entries()
    with pytest.raises(BadEntry) as caught:
        tables[name].insert(key, action, params, priority)
    assert str(caught.value).startswith(name) and words in str(caught.value)
    assert tables[name].entries() == before


def test_a_const_default_and_constant_entries_stay(tables):
    fixed = tables["I.fixed"]
    entry = fixed.entries()[0]
    for change in (
        lambda: fixed.modify(entry.key, "I.choose", (9,), entry.priority),
        lambda: fixed.delete(entry.key, entry.priority),
    ):
        with pytest.raises(BadEntry, match="constant entries"):
            change()
    dummy = next(t for name, t in tables.items() if name.startswith("tbl_"))
    with pytest.raises(BadEntry, match="default action is const"):
        dummy.set_default(dummy.default.action, ())
    fixed.clear()
    assert len(fixed) == 3


def test_a_wrong_default_is_refused_and_changes_nothing(tables):
    table = tables["I.keyless"]
    with pytest.raises(BadEntry):
        table.set_default("I.choose", (300,))
    assert table.default == TableEntry((), "I.choose", (50,))


def test_direct_counters_belong_to_their_entry(tables):
    table = tables["I.masks"]
    key = ((0, 0), (0, 0))
    table.insert(key, "I.choose_counted", (1,), 4)
    table.write_counter(key, 7, 8, 4)
    table.modify(key, "NoAction", (), 4)
    assert table.read_counter(key, 4) == (7, 8)
    table.delete(key, 4)
    table.insert(key, "I.choose_counted", (1,), 4)
    assert table.read_counter(key, 4) == (0, 0)
    with pytest.raises(BadEntry, match="no direct counter"):
        tables["I.exact_pair"].insert((1, 2), "NoAction", ())
        tables["I.exact_pair"].read_counter((1, 2))


def test_the_same_key_with_two_priorities_is_two_entries(tables):
    table = tables["I.masks"]
    key = ((0x1200, 0xFF00), (0, 0))
    table.insert(key, "I.choose_counted", (1,), 1)
    table.insert(key, "I.choose_counted", (2,), 2)
    assert table.find((0x1234, 9))[-1] == 2
    table.delete(key, 2)
    assert table.find((0x1234, 9))[-1] == 1


def test_arrays_refuse_indices_outside(tables):
    switch = Switch(PROGRAM, rng=random.Random(1))
    for call in (
        lambda: switch.counters["I.small"].read(4),
        lambda: switch.counters["I.small"].write(-1, 0, 0),
        lambda: switch.meters["I.port_meter"].reset(4),
    ):
        with pytest.raises(IndexError, match=r"outside 0\.\.3"):
            call()


def test_meter_rates_are_checked(tables):
    from softswitch.externs import MeterRate

    meter = Switch(PROGRAM, rng=random.Random(1)).meters["I.port_meter"]
    with pytest.raises(ValueError, match="2 rates"):
        meter.set_rates(0, [MeterRate(1, 1)])
    with pytest.raises(ValueError, match="above the peak"):
        meter.set_rates(0, [MeterRate(2, 1), MeterRate(1, 1)])
    meter.set_rates(0, [MeterRate(1000, 10), MeterRate(2000, 20)])
    assert meter.rates(0) == [MeterRate(1000, 10), MeterRate(2000, 20)]
