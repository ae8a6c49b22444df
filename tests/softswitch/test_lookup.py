# SPDX-License-Identifier: Apache-2.0
"""Look-ups equal a naive search through all entries, for any sequence of writes and packets."""

import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from softswitch import Switch, TableError, load_program
from softswitch.lookup import MEMORY, LpmLookup
from softswitch.model import MatchField

PROGRAM = load_program((Path(__file__).parent / "programs" / "matches.json").read_bytes())
WIDTH = 32

# Few distinct values, so that entries overlap and look-ups hit.
addresses = st.builds(
    lambda high, low: high << 24 | low, st.integers(0, 3), st.integers(0, 7)
) | st.sampled_from([0, 0xFFFFFFFF, 0x80000000])
lengths = st.integers(0, WIDTH)


def prefix(address, length):
    return address >> (WIDTH - length) << (WIDTH - length), length


lpm_steps = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "modify", "find", "find"]),
        addresses,
        lengths,
        st.integers(0, 255),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(lpm_steps)
def test_longest_prefix_equals_a_naive_search(steps):
    table = Switch(PROGRAM, rng=random.Random(1)).tables["I.prefixes"]
    entries = {}
    for step, address, length, value in steps:
        key = prefix(address, length)
        if step == "find":
            matching = [(n, v) for (a, n), v in entries.items() if prefix(address, n)[0] == a]
            found = table.live.get(address) or table.find(address)
            assert found[1] == bool(matching)
            if matching:
                assert found[-1] == max(matching)[1]
            continue
        there = key in entries
        try:
            if step == "delete":
                table.delete((key,))
                del entries[key]
            elif step == "insert":
                table.insert((key,), "I.choose", (value,))
                assert not there
                entries[key] = value
            else:
                table.modify((key,), "I.choose", (value,))
                entries[key] = value
        except TableError:
            assert there == (step == "insert")


masks16 = st.sampled_from([0, 0xFFFF, 0xFF00, 0x00FF, 0x8000, 0xF0F0])
values16 = st.sampled_from([0, 0x1234, 0x1200, 0x0034, 0x8000, 0xFFFF, 0xF0F0])
ternary_entries = st.lists(
    st.tuples(values16, masks16, values16, masks16, st.integers(1, 4)), max_size=20
)


@settings(max_examples=300, deadline=None)
@given(ternary_entries, st.lists(st.tuples(values16, values16), min_size=1, max_size=8))
def test_ternary_equals_a_naive_search(entries, packets):
    table = Switch(PROGRAM, rng=random.Random(1)).tables["I.masks"]
    written = []
    for index, (value, mask, value_a, mask_a, priority) in enumerate(entries):
        key = ((value & mask, mask), (value_a & mask_a & 0xFF, mask_a & 0xFF))
        try:
            table.insert(key, "I.choose_counted", (index,), priority)
        except TableError:
            continue
        written.append((-priority, len(written), key, index))
    for b, a in packets:
        a &= 0xFF
        want = [
            index
            for _, _, ((v, m), (va, ma)), index in sorted(written)
            if b & m == v and a & ma == va
        ]
        found = table.find((b, a))
        assert found[1] == bool(want)
        if want:
            assert found[-1] == want[0]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(values16, values16, st.integers(0, 2), st.integers(1, 4)), max_size=12),
    st.lists(st.tuples(values16, st.integers(0, 2)), min_size=1, max_size=8),
)
def test_ranges_equal_a_naive_search(entries, packets):
    table = Switch(PROGRAM, rng=random.Random(1)).tables["I.ranges"]
    written = []
    for index, (one, other, exact, priority) in enumerate(entries):
        low, high = sorted((one, other))
        try:
            table.insert(((low, high), exact, 0), "I.choose", (index,), priority)
        except TableError:
            continue
        written.append((-priority, len(written), low, high, exact, index))
    for b, a in packets:
        want = [
            i for _, _, low, high, exact, i in sorted(written) if low <= b <= high and a == exact
        ]
        assert table.find((b, a, 0))[1:] == ((want[0],) if want else ())


def test_remembered_answers_have_a_bound():
    lookup = LpmLookup((MatchField("dst", "lpm", 32, None, None),))
    lookup.put(((0, 0),), 0, ("all",))
    find = lookup.finder([("miss",)])
    for key in range(MEMORY + 10):
        assert find(key) == ("all",)
    assert len(lookup.live) <= MEMORY


def test_an_answer_found_during_a_write_is_not_kept():
    """The forwarding thread searches, the table changes, then the search ends."""
    lookup = LpmLookup((MatchField("dst", "lpm", 32, None, None),))
    lookup.put(((0, 0),), 0, ("old",))
    search = lookup.search

    def search_while_writing(key):
        record = search(key)
        lookup.put(((0, 8),), 0, ("new",))
        return record

    lookup.search = search_while_writing
    find = lookup.finder([("miss",)])
    assert find(5) == ("old",)
    assert 5 not in lookup.live
    lookup.search = search
    assert lookup.finder([("miss",)])(5) == ("new",)
