# SPDX-License-Identifier: Apache-2.0
"""What a controller writes over P4Runtime is in the switch and reads back canonically."""

import pytest
from p4.v1 import p4runtime_pb2 as p4
from p4runtime_support import IDS, delete, insert, modify, table_entry

ENTRIES = [
    table_entry("exact_match", b"\x01\x02", action="counted_forward", params=[b"\x05"]),
    table_entry("exact_match", b"\x00", action="drop"),
    table_entry("longest_prefix", ("lpm", b"\xab\x00\x00\x00\x00\x00", 8), action="drop"),
    table_entry("longest_prefix", None, action="forward", params=[b"\x01\xff"]),
    table_entry(
        "masked",
        ("ternary", b"\x08\x00", b"\xff\x00"),
        b"\x03",
        ("range", b"\x01", b"\xff"),
        ("optional", b"\x09"),
        action="forward",
        params=[b"\x02"],
        priority=10,
    ),
    table_entry("masked", None, b"\x04", None, None, action="drop", priority=1),
    table_entry("metered", b"\x08\x00", action="paced"),
]


def by_text(messages):
    return sorted(str(message) for message in messages)


def writable(messages):
    return [m for m in messages if m.table_id != IDS["fixed"]]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.table_id}-{len(e.match)}")
def test_entry_reads_back_as_it_was_written(primary, entry):
    primary.write(insert(entry))
    assert writable(primary.read(p4.TableEntry())) == [entry]
    assert primary.read(p4.TableEntry(table_id=entry.table_id)) == [entry]


def test_entries_reach_the_tables_of_the_switch(primary, device):
    primary.write(*map(insert, ENTRIES))
    tables = device.switch.tables
    entry = tables["TestIngress.exact_match"].get((0x102,))
    assert (entry.action, entry.params) == ("TestIngress.counted_forward", (5,))
    entry = tables["TestIngress.longest_prefix"].get(((0xAB << 40, 8),))
    assert entry.action == "TestIngress.drop"
    assert tables["TestIngress.longest_prefix"].get(((0, 0),)).params == (0x1FF,)
    full = (1 << 48) - 1
    key = ((0x0800, 0xFF00), 3, (1, 255), (9, full))
    assert tables["TestIngress.masked"].get(key, 10).params == (2,)
    key = ((0, 0), 4, (0, full), (0, 0))
    assert tables["TestIngress.masked"].get(key, 1).action == "TestIngress.drop"


def test_wildcard_reads_every_table(primary):
    primary.write(*map(insert, ENTRIES))
    found = primary.read(p4.TableEntry())
    assert by_text(writable(found)) == by_text(ENTRIES)
    fixed = [m for m in found if m.table_id == IDS["fixed"]]
    assert [m.match[0].exact.value for m in fixed] == [b"\x08\x00", b"\x86\xdd"]
    assert all(m.is_const for m in fixed)


def test_reads_filter_by_key_action_priority_and_metadata(primary):
    marked = table_entry("masked", None, b"\x05", None, None, action="drop", priority=2)
    marked.metadata = b"mine"
    marked.controller_metadata = 99
    primary.write(*map(insert, [*ENTRIES, marked]))
    masked = IDS["masked"]
    assert primary.read(p4.TableEntry(table_id=masked, priority=1)) == [ENTRIES[5]]
    assert primary.read(p4.TableEntry(table_id=masked, metadata=b"mine")) == [marked]
    assert primary.read(p4.TableEntry(table_id=masked, controller_metadata=99)) == [marked]
    key = table_entry("exact_match", b"\x00\x00\x01\x02")
    assert primary.read(key) == [ENTRIES[0]]
    by_action = table_entry("exact_match", action="drop")
    assert primary.read(by_action) == [ENTRIES[1]]


def test_padded_bytestrings_are_accepted_and_answered_canonically(primary):
    padded = table_entry(
        "exact_match", b"\0\0\0\0\x01\x02", action="counted_forward", params=[b"\0\0\0\x05"]
    )
    primary.write(insert(padded))
    assert primary.read(p4.TableEntry(table_id=IDS["exact_match"])) == [ENTRIES[0]]
    primary.write(delete(padded))
    assert primary.read(p4.TableEntry(table_id=IDS["exact_match"])) == []


def test_modify_replaces_the_action_and_keeps_it_when_unset(primary):
    primary.write(insert(ENTRIES[0]))
    changed = table_entry("exact_match", b"\x01\x02", action="counted_forward", params=[b"\x08"])
    primary.write(modify(changed))
    assert primary.read(p4.TableEntry(table_id=IDS["exact_match"])) == [changed]
    primary.write(modify(table_entry("exact_match", b"\x01\x02")))
    assert primary.read(p4.TableEntry(table_id=IDS["exact_match"])) == [changed]


def test_delete_looks_at_the_key_alone(primary):
    primary.write(insert(ENTRIES[0]))
    nonsense = table_entry("exact_match", b"\x01\x02", action="forward", params=[b"", b"\xff"])
    nonsense.idle_timeout_ns = 5
    primary.write(delete(nonsense))
    assert primary.read(p4.TableEntry(table_id=IDS["exact_match"])) == []


def default_of(primary, table):
    return primary.read(p4.TableEntry(table_id=IDS[table], is_default_action=True))


def test_default_entry_is_modified_and_reset(primary, device):
    original = table_entry("masked", action="forward", params=[b"\x01"])
    original.is_default_action = True
    assert default_of(primary, "masked") == [original]
    changed = table_entry("masked", action="drop")
    changed.is_default_action = True
    primary.write(modify(changed))
    assert default_of(primary, "masked") == [changed]
    assert device.switch.tables["TestIngress.masked"].default.action == "TestIngress.drop"
    primary.write(modify(p4.TableEntry(table_id=IDS["masked"], is_default_action=True)))
    assert default_of(primary, "masked") == [original]


def counter(index=None, packets=None, count_bytes=0):
    message = p4.CounterEntry(counter_id=IDS["seen"])
    if index is not None:
        message.index.index = index
    if packets is not None:
        message.data.packet_count, message.data.byte_count = packets, count_bytes
    return message


def test_counter_cells_are_set_one_by_one_and_all_at_once(primary, device):
    primary.write(modify(counter(3, 7, 700)))
    assert device.switch.counters["TestIngress.seen"].read(3) == (7, 700)
    assert primary.read(counter(3)) == [counter(3, 7, 700)]
    assert [c.data.packet_count for c in primary.read(counter())] == [0, 0, 0, 7, 0, 0, 0, 0]
    primary.write(modify(counter(None, 1, 2)))
    assert primary.read(p4.CounterEntry()) == [counter(i, 1, 2) for i in range(8)]


def test_counter_without_data_is_left_alone(primary):
    primary.write(modify(counter(3, 7, 700)))
    primary.write(modify(counter(3)))
    assert primary.read(counter(3)) == [counter(3, 7, 700)]


def register(index=None, value=None):
    message = p4.RegisterEntry(register_id=IDS["cells"])
    if index is not None:
        message.index.index = index
    if value is not None:
        message.data.bitstring = value
    return message


def test_register_cells_are_written_and_read(primary, device):
    primary.write(modify(register(2, b"\x00\x0f\xff")))
    assert device.switch.registers["TestIngress.cells"].read(2) == 0xFFF
    assert primary.read(register(2)) == [register(2, b"\x0f\xff")]
    primary.write(modify(register(None, b"\x05")))
    assert primary.read(p4.RegisterEntry()) == [register(i, b"\x05") for i in range(4)]


def test_packets_show_in_counters_and_registers(primary, device):
    primary.write(insert(ENTRIES[0]))
    frame = bytes.fromhex("000000000102") + bytes(8)
    for _ in range(3):
        device.switch.ingress(2, frame, 0)
    assert primary.read(counter(2)) == [counter(2, 3, 42)]
    assert primary.read(register(0)) == [register(0, b"\x03")]
    asked = table_entry("exact_match", b"\x01\x02")
    asked.counter_data.SetInParent()
    (found,) = primary.read(asked)
    assert (found.counter_data.packet_count, found.counter_data.byte_count) == (3, 42)


def test_direct_counter_is_set_with_its_entry_and_apart(primary):
    entry = table_entry("exact_match", b"\x01", action="counted_forward", params=[b"\x01"])
    entry.counter_data.packet_count = 5
    primary.write(insert(entry))
    direct = p4.DirectCounterEntry(table_entry=table_entry("exact_match", b"\x01"))
    assert [d.data.packet_count for d in primary.read(direct)] == [5]
    direct.data.packet_count = 9
    primary.write(modify(direct))
    assert primary.read(p4.DirectCounterEntry()) == [direct]
    # Unless it is asked for, an entry comes without its counter.
    (found,) = primary.read(p4.TableEntry(table_id=IDS["exact_match"]))
    assert not found.HasField("counter_data")


def meter(index, *rates):
    message = p4.MeterEntry(meter_id=IDS["shaper"])
    message.index.index = index
    if rates:
        config = message.config
        config.cir, config.cburst, config.pir, config.pburst = rates
    return message


def test_meters_are_configured_and_reset(primary, device):
    primary.write(modify(meter(1, 1_000_000, 100, 2_000_000, 200)))
    assert primary.read(meter(1)) == [meter(1, 1_000_000, 100, 2_000_000, 200)]
    assert device.switch.meters["TestIngress.shaper"].execute(1, 150, 0) == 1
    primary.write(modify(meter(1)))
    assert primary.read(meter(1)) == [meter(1)]
    assert len(primary.read(p4.MeterEntry())) == 4


def test_direct_meter_goes_with_its_entry(primary):
    entry = table_entry("metered", b"\x01", action="paced")
    entry.meter_config.cir, entry.meter_config.pir = 10, 20
    primary.write(insert(entry))
    direct = p4.DirectMeterEntry(table_entry=table_entry("metered", b"\x01"))
    (found,) = primary.read(direct)
    assert (found.config.cir, found.config.pir) == (10, 20)
    primary.write(modify(direct))
    assert primary.read(direct) == [direct]
    # A new entry in the place of a deleted one starts without its meter.
    primary.write(delete(entry), insert(table_entry("metered", b"\x02", action="paced")))
    (found,) = primary.read(p4.DirectMeterEntry())
    assert not found.HasField("config")


@pytest.mark.parametrize(
    "wildcard",
    [
        p4.ActionProfileMember(),
        p4.ActionProfileGroup(),
        p4.ValueSetEntry(),
        p4.DigestEntry(),
        p4.PacketReplicationEngineEntry(multicast_group_entry=p4.MulticastGroupEntry()),
    ],
    ids=lambda m: type(m).__name__,
)
def test_wildcards_of_kinds_the_program_lacks_select_nothing(primary, wildcard):
    assert primary.read(wildcard) == []
