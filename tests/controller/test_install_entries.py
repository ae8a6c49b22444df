# SPDX-License-Identifier: Apache-2.0
"""Entries survive the way to P4Runtime messages and back, and the difference is the least one."""

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from p4.config.v1 import p4info_pb2

from controller.entries import EntryCodec, EntryError, difference
from controller.tables import TableEntry

P4INFO = text_format.Parse(
    """
    tables {
      preamble { id: 33554433 name: "In.exact" }
      match_fields { id: 1 name: "sid" bitwidth: 48 match_type: EXACT }
      match_fields { id: 2 name: "port" bitwidth: 9 match_type: EXACT }
      action_refs { id: 16777217 }
    }
    tables {
      preamble { id: 33554434 name: "In.lpm" }
      match_fields { id: 1 name: "dst" bitwidth: 128 match_type: LPM }
      action_refs { id: 16777217 }
    }
    tables {
      preamble { id: 33554435 name: "In.masked" }
      match_fields { id: 1 name: "dst" bitwidth: 128 match_type: TERNARY }
    }
    actions {
      preamble { id: 16777217 name: "In.forward" }
      params { id: 1 name: "port" bitwidth: 9 }
      params { id: 2 name: "smac" bitwidth: 48 }
    }
    """,
    p4info_pb2.P4Info(),
)
CODEC = EntryCodec(P4INFO)

ports = st.integers(0, 511)
macs = st.integers(0, (1 << 48) - 1)
prefixes = st.integers(1, 128).flatmap(
    lambda n: st.tuples(st.integers(0, (1 << n) - 1).map(lambda v: v << 128 - n), st.just(n))
)
exact_entries = st.builds(
    lambda sid, port, params: TableEntry("In.exact", (sid, port), "In.forward", params),
    macs,
    ports,
    st.tuples(ports, macs),
)
lpm_entries = st.builds(
    lambda prefix, params: TableEntry("In.lpm", (prefix,), "In.forward", params),
    prefixes | st.just((0, 0)),
    st.tuples(ports, macs),
)
entries = exact_entries | lpm_entries


@given(entries)
def test_every_entry_comes_back_from_its_message(entry):
    message = CODEC.encode(entry)
    assert CODEC.knows(message)
    assert CODEC.decode(message) == entry


@given(entries)
def test_messages_hold_canonical_bytestrings(entry):
    message = CODEC.encode(entry)
    values = [p.value for p in message.action.action.params]
    for match in message.match:
        values.append(match.exact.value if match.HasField("exact") else match.lpm.value)
    assert all(len(value) == 1 or value[0] != 0 for value in values)


def test_padded_answers_are_the_same_entry():
    entry = TableEntry("In.exact", (3, 4), "In.forward", (5, 6))
    message = CODEC.encode(entry)
    message.match[0].exact.value = b"\0\0\0\0\0\3"
    message.action.action.params[0].value = b"\0\5"
    assert CODEC.decode(message) == entry


def test_prefix_of_length_zero_is_left_out():
    message = CODEC.encode(TableEntry("In.lpm", ((0, 0),), "In.forward", (1, 2)))
    assert not message.match


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (TableEntry("In.none", (1,), "In.forward", (1, 2)), "no such table"),
        (TableEntry("In.masked", (1,), "In.forward", (1, 2)), "no such table"),
        (TableEntry("In.exact", (1, 2), "In.jump", ()), "no action In.jump"),
        (TableEntry("In.exact", (1,), "In.forward", (1, 2)), "takes 2 keys, got 1"),
        (TableEntry("In.exact", (1, 2), "In.forward", (1,)), "takes 2 parameters, got 1"),
        (TableEntry("In.exact", (1, 512), "In.forward", (1, 2)), "port = 512 does not fit"),
        (TableEntry("In.exact", (1, 2), "In.forward", (1, -1)), "smac = -1 does not fit"),
        (TableEntry("In.exact", ((1, 3), 2), "In.forward", (1, 2)), "sid is exact"),
        (TableEntry("In.lpm", (1,), "In.forward", (1, 2)), "dst is lpm"),
    ],
)
def test_entry_that_does_not_fit_the_p4info_names_its_table(entry, reason):
    with pytest.raises(EntryError, match=reason) as misfit:
        CODEC.encode(entry)
    assert f"table {entry.table}" in str(misfit.value)


def _by_key(some):
    return {(e.table, e.match): e for e in some}


@given(st.lists(entries), st.lists(entries))
def test_changes_turn_what_is_present_into_what_is_meant(meant, present):
    meant, present = _by_key(meant), _by_key(present)
    changes = difference(meant.values(), present.values())
    result = dict(present)
    for entry in changes.delete:
        del result[(entry.table, entry.match)]
    for entry in changes.modify:
        assert (entry.table, entry.match) in result
        result[(entry.table, entry.match)] = entry
    for entry in changes.insert:
        assert (entry.table, entry.match) not in result
        result[(entry.table, entry.match)] = entry
    assert result == meant
    assert changes.unchanged == sum(present.get(key) == entry for key, entry in meant.items())
    assert difference(meant.values(), result.values()).count == 0


def test_two_entries_with_one_match_are_refused():
    first = TableEntry("In.exact", (1, 2), "In.forward", (1, 2))
    second = TableEntry("In.exact", (1, 2), "In.forward", (3, 4))
    with pytest.raises(EntryError, match="two entries with this match"):
        difference([first, second], [])
