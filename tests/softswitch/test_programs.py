# SPDX-License-Identifier: Apache-2.0
"""P4 constructs that the MRC program does not use behave as v1model says, on small programs."""

import json
import random
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softswitch import Switch, load_program
from softswitch.externs import MeterRate

PROGRAMS = Path(__file__).parent / "programs"


def switch_for(name, seed=1, change=None):
    text = (PROGRAMS / f"{name}.json").read_bytes()
    if change is not None:
        document = json.loads(text)
        change(document)
        text = json.dumps(document).encode()
    return Switch(load_program(text), rng=random.Random(seed))


def through(switch, frame, port=1, now_us=0):
    sent = switch.ingress(port, frame, now_us)
    return switch.egress(sent[0][2], now_us) if sent else None


# -- arithmetic ---------------------------------------------------------------------------------

CALC = struct.Struct(">BHHHHbb6s")
u16, s8 = st.integers(0, 0xFFFF), st.integers(-128, 127)


def wrap8(value):
    return (value + 128) % 256 - 128


def reference(op, a, b, r, n, m, s, t, wide):
    """The calculator of arithmetic.p4 in plain words."""
    if op == 0:
        r, m = (a + b) % 65536, (m + 4095) % 4096
    elif op == 1:
        r, n = (a - b) % 65536, (n - 1) % 16
    elif op == 2:
        r, n = a * b % 65536, n * 7 % 16
    elif op == 3:
        r, m = a & 0x0FF0 | b ^ 0xF00F, 4095 - m
    elif op == 4:
        r = a * 2 ** (b % 256) % 65536
    elif op == 5:
        r = a // 2 ** (b % 256)
    elif op == 6:
        r, s = min(a + b, 65535), max(-128, min(127, s + t))
    elif op == 7:
        r, s = max(a - b, 0), max(-128, min(127, s - t))
    elif op == 8:
        s, t = wrap8(s - t), wrap8(-t)
        r = s // 4 % 256
    elif op == 9:
        r = a % 16 * 4096 + b // 256 * 16 + n
        wide = wide % 65536 * 2**32 + wide // 65536
        m = m // 256 * 256 + a // 4096 * 16 + m % 16
    elif op == 10:
        r = 1 if a < b and s >= t else 16
    elif op == 11:
        r = (max(a, b) + (s == t)) % 65536
    return a, b, r, n, m, s, t, wide


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 11), u16, u16, u16, st.integers(0, 15), st.integers(0, 4095), s8, s8,
       st.integers(0, 2**48 - 1))  # fmt: skip
def test_arithmetic_equals_a_plain_reference(op, a, b, r, n, m, s, t, wide):
    def pack(values):
        a, b, r, n, m, s, t, wide = values
        return CALC.pack(op, a, b, r, n << 12 | m, s, t, wide.to_bytes(6, "big"))

    frame = pack((a, b, r, n, m, s, t, wide)) + b"payload"
    wanted = pack(reference(op, a, b, r, n, m, s, t, wide)) + b"payload"
    assert through(ARITHMETIC, frame) == wanted


ARITHMETIC = switch_for("arithmetic")


def test_an_action_outside_the_constant_entries_drops():
    assert through(ARITHMETIC, CALC.pack(12, 0, 0, 0, 0, 0, 0, bytes(6))) is None


# -- headers ------------------------------------------------------------------------------------


def base(op, *, magic=0xA5, skip=0, value=0, rest=b"\x00\x00"):
    return bytes([magic, op, skip, value]) + rest


def test_a_header_added_in_ingress_is_zero_but_for_what_is_set():
    assert through(switch_for("headers"), base(1, rest=b"\x12\x34\x56")) == (
        base(1, value=1, rest=b"") + b"\x12\x34\x00\x00" + b"\x12\x34\x56"
    )


def test_a_copied_header_replaces_the_original_that_was_removed():
    frame = base(2, rest=b"\x77\x01\x00\xff" + b"tail")
    assert through(switch_for("headers"), frame) == (
        base(2, value=1, rest=b"") + b"\x77\x01\x01\x00" + b"tail"
    )


def test_removed_and_added_again_is_zero():
    frame = base(5, rest=b"\x77\x01\x00\xff" + b"tail")
    assert through(switch_for("headers"), frame) == base(5, value=1, rest=b"") + bytes(4) + b"tail"


def test_advance_drops_the_skipped_bytes():
    frame = base(6, skip=3, rest=b"abc" + b"\x77\x01\x02\x03" + b"tail")
    assert through(switch_for("headers"), frame) == base(
        6, skip=3, value=1, rest=b"\x77\x01\x02\x03tail"
    )


@pytest.mark.parametrize(
    ("frame", "sent"),
    [
        (b"\xa5\x06\x00", b"\xa5\x06\x00"),  # too short for the first header: all is payload
        (base(6, magic=1), base(6, magic=1, value=1)),  # verify fails after the first header
        (base(6, rest=b"x"), base(6, value=1, rest=b"x")),  # lookahead beyond the end
        (base(6, skip=9), base(6, skip=9, value=1)),  # advance beyond the end: nothing skipped
        (base(6, rest=b"\x77\x01"), base(6, value=1, rest=b"\x77\x01")),  # second header cut
    ],
)
def test_after_a_parser_error_ingress_runs_with_the_headers_so_far(frame, sent):
    assert through(switch_for("headers"), frame) == sent


@pytest.mark.parametrize(
    ("frame", "code"), [(base(0x16), 0), (base(0x16, rest=b"x"), 1), (base(0x16, magic=0), 2)]
)
def test_parser_error_tells_which(frame, code):
    assert REPORT.unpack_from(through(switch_for("headers"), frame), 4)[10] == code


@pytest.mark.parametrize("length", range(12))
def test_truncate_in_ingress_counts_outgoing_bytes(length):
    frame = base(3, value=length, rest=b"0123456789")
    whole = base(3, value=length + 1, rest=b"0123456789")
    switch = switch_for("headers")
    waiting = switch.ingress(1, frame, 0)[0][2]
    assert waiting.length == length
    assert switch.egress(waiting, 0) == whole[:length]


def test_truncate_in_egress_and_drop_in_egress():
    switch = switch_for("headers")
    assert through(switch, base(0x36, rest=b"0123456789")) == base(0x36, value=1, rest=b"01")
    assert through(switch, base(0x26)) is None


def test_egress_may_change_a_header():
    frame = base(0x06, rest=b"\x77\x01\x00\xff")
    switch = switch_for("headers")
    assert through(switch, frame)[-2:] == b"\x00\xff"
    # Bits 7:4 of op choose the egress path, and a tag is parsed only where they are 0: add one.
    frame = base(0x45, rest=b"tail")
    assert through(switch, frame) == base(0x45, value=1, rest=b"") + b"\x00\x00\xbe\xef" + b"tail"


def test_exit_ends_the_pipeline():
    switch = switch_for("headers")
    frame = base(4, value=5)
    egress_port, priority, waiting = switch.ingress(1, frame, 0)[0]
    assert (egress_port, priority) == (3, 5)
    assert switch.egress(waiting, 0) == frame  # the last statement did not run either


REPORT = struct.Struct(">HHIIIIII6s6sIH")


def test_metadata_is_filled_as_simple_switch_fills_it():
    switch = switch_for("headers")
    assert switch.program.stamps_packets
    frame = base(0x11, value=2)
    egress_port, priority, waiting = switch.ingress(300, frame, 1_000_000)[0]
    assert (egress_port, priority) == (3, 2)
    waiting.enq_us, waiting.enq_qdepth = 1_000_007, 5
    data = switch.egress(waiting, 1_000_100, 4)
    report = REPORT.unpack_from(data, 4)
    assert report == (
        300,  # ingress_port
        3,  # egress_port
        0,  # not set by the program
        len(frame) + 4,  # packet_length in egress counts the header added in ingress
        1_000_007,
        93,
        5,
        4,
        (1_000_000).to_bytes(6, "big"),
        (1_000_100).to_bytes(6, "big"),
        0,
        0,  # egress_spec in egress: drop port + 1 in 9 bits
    )


# -- headers that are read and not changed --------------------------------------------------------


@pytest.mark.parametrize("c", [0, 5])
@pytest.mark.parametrize("kind", [0, 3, 4, 7])
def test_untouched_headers_leave_as_they_came_in_the_deparser_s_order(kind, c):
    first = struct.pack(">HHH", 0xFFFE, 0x0102, c << 4 | 6)
    third, fourth = struct.pack(">II", 0x80000000, 7), struct.pack(">II", 1, 2)
    rest = {0: b"", 3: third, 4: fourth, 7: fourth + third}[kind]
    total = 0xFFFE + 0x0102 + c + (0x80000007 if kind in (3, 7) else 0)
    switch = switch_for("untouched")
    egress_port, _, waiting = switch.ingress(1, first + bytes([kind, 9, 9, 9]) + rest + b"tail", 0)[
        0
    ]
    sent = (third if kind in (3, 7) and c else b"") + (fourth if kind in (4, 7) else b"")
    second = bytes([kind]) + (total % 2**24).to_bytes(3, "big")
    assert egress_port == 6
    assert switch.egress(waiting, 0) == first + second + sent + b"tail"


# -- tables, counters, meters -------------------------------------------------------------------


def key_frame(kind, a=0, b=0, c=0, rest=b""):
    return struct.pack(">BBHIBBH", kind, a, b, c, 0, 0, 0) + rest


def chosen(data):
    return data[9]


def test_exact_pair_and_direct_meter_in_bytes():
    switch = switch_for("matches")
    table, meter = switch.tables["I.exact_pair"], switch.meters["I.exact_meter"]
    table.insert((1, 0x1234), "I.choose_metered", (42,))
    slot = table.slot((1, 0x1234))
    meter.set_rates(slot, [MeterRate(1_000_000, 30), MeterRate(2_000_000, 60)])
    frame = key_frame(0, 1, 0x1234)
    colors = [through(switch, frame, now_us=0)[8] & 3 for _ in range(6)]
    # 12 bytes a packet: 30 committed bytes make 2 green, 60 peak bytes make 5 that are not red.
    assert colors == [0, 0, 1, 1, 1, 2]
    assert through(switch, frame, now_us=12)[8] & 3 == 0
    assert chosen(through(switch, frame)) == 42
    assert chosen(through(switch, key_frame(0, 1, 0x1235))) == 0


def test_indirect_meter_in_packets():
    switch = switch_for("matches")
    meter = switch.meters["I.port_meter"]
    meter.set_rates(2, [MeterRate(1000, 1), MeterRate(2000, 3)])
    frame = key_frame(7, 2)
    assert [through(switch, frame)[8] >> 2 for _ in range(4)] == [0, 1, 1, 2]
    assert through(switch, frame, now_us=1000)[8] >> 2 == 0
    assert through(switch, key_frame(7, 3))[8] >> 2 == 0  # no rates: green
    assert through(switch, key_frame(7, 200))[8] >> 2 == 0  # outside the array
    meter.reset(2)
    assert [through(switch, frame)[8] >> 2 for _ in range(4)] == [0] * 4


def test_hit_and_miss_of_an_lpm_table():
    switch = switch_for("matches")
    switch.tables["I.prefixes"].insert(((0x0A000000, 8),), "I.choose", (1,))
    switch.tables["I.prefixes"].insert(((0x0A010000, 16),), "I.choose", (2,))
    switch.tables["I.prefixes"].insert(((0x0A010100, 24),), "I.refuse", ())
    assert chosen(through(switch, key_frame(1, c=0x0A000001))) == 101
    assert chosen(through(switch, key_frame(1, c=0x0A01FFFF))) == 102
    assert through(switch, key_frame(1, c=0x0A010101)) is None
    assert chosen(through(switch, key_frame(1, c=0x0B000000))) == 200


def test_lpm_beside_an_exact_field():
    switch = switch_for("matches")
    table = switch.tables["I.prefix_in_group"]
    table.insert((1, (0, 0)), "I.choose", (10,))
    table.insert((1, (0xC0000000, 2)), "I.choose", (11,))
    table.insert((2, (0xC0000000, 2)), "I.choose", (12,))
    outcomes = [
        chosen(through(switch, key_frame(2, a, c=c)))
        for a, c in ((1, 0), (1, 0xC0000001), (2, 0xFFFFFFFF), (2, 0), (3, 0xC0000000))
    ]
    assert outcomes == [10, 11, 12, 99, 99]


def test_ternary_priorities_and_direct_counters():
    switch = switch_for("matches")
    table = switch.tables["I.masks"]
    low, high = ((0x1200, 0xFF00), (0, 0)), ((0x1000, 0xF000), (7, 0xFF))
    table.insert(low, "I.choose_counted", (1,), priority=5)
    table.insert(high, "I.choose_counted", (2,), priority=9)
    assert chosen(through(switch, key_frame(3, 7, 0x1234))) == 2
    assert chosen(through(switch, key_frame(3, 8, 0x1234))) == 1
    assert chosen(through(switch, key_frame(3, 8, 0x1334))) == 201
    assert table.read_counter(low, priority=5) == (1, 12)
    assert table.read_counter(high, priority=9) == (1, 12)
    table.delete(high, priority=9)
    assert chosen(through(switch, key_frame(3, 7, 0x1234))) == 1
    assert table.read_counter(low, priority=5) == (2, 24)
    table.write_counter(low, 100, 200, priority=5)
    assert table.read_counter(low, priority=5) == (100, 200)


def test_range_validity_key_and_action_run():
    switch = switch_for("matches")
    table = switch.tables["I.ranges"]
    table.insert(((100, 200), 1, 0), "I.choose", (1,), priority=1)
    table.insert(((150, 160), 1, 0), "I.choose", (2,), priority=2)
    table.insert(((0, 0xFFFF), 1, 1), "I.choose", (3,), priority=1)
    table.insert(((300, 300), 1, 0), "I.refuse", (), priority=1)

    def outcome(kind, b):
        data = through(switch, key_frame(kind, 1, b, rest=b"\x99"))
        return None if data is None else (chosen(data), data[11])

    assert [outcome(4, b) for b in (99, 100, 150, 160, 161, 200, 201)] == [
        (1, 3), (2, 1), (3, 1), (3, 1), (2, 1), (2, 1), (1, 3)
    ]  # fmt: skip
    assert outcome(0x84, 5) == (4, 1)
    assert outcome(4, 300) is None
    assert switch.counters["I.small"].read(3) == (1, 13)


def test_constant_entries_keep_their_order():
    switch = switch_for("matches")
    outcomes = [chosen(through(switch, key_frame(5, b=b))) for b in (0x1234, 0x1300, 0x2222)]
    assert outcomes == [1, 1, 3]  # the first entry hides the second


def test_a_keyless_table_follows_its_default():
    switch = switch_for("matches")
    table = switch.tables["I.keyless"]
    assert chosen(through(switch, key_frame(6))) == 50
    table.set_default("I.choose", (51,))
    assert chosen(through(switch, key_frame(6))) == 51
    table.set_default("I.refuse", ())
    assert through(switch, key_frame(6)) is None
    table.reset_default()
    assert chosen(through(switch, key_frame(6))) == 50


def test_a_counter_index_outside_the_array_counts_nothing():
    switch = switch_for("matches")
    for a in range(8):
        through(switch, key_frame(9, a))
    assert switch.counters["I.small"].packets == [1, 1, 1, 1]


# -- checksums, hashes, registers, random --------------------------------------------------------


def ones_sum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return 0xFFFF - total


def ipv4(tos=1, ident=2, flags=2, offset=0, ttl=64, protocol=3, src=0x01020304, dst=0x05060708):
    header = struct.pack(
        ">BBHHHBBHII", 0x45, tos, 20, ident, flags << 13 | offset, ttl, protocol, 0, src, dst
    )
    checksum = ones_sum(header)
    return header[:10] + checksum.to_bytes(2, "big") + header[12:]


ETHERNET = bytes(12) + b"\x08\x00"


def test_checksum_is_verified_and_updated():
    switch = switch_for("checksums")
    good = ETHERNET + ipv4()
    egress_port, _, waiting = switch.ingress(1, good, 0)[0]
    data = switch.egress(waiting, 0)
    assert egress_port == 1
    assert data[14:34] == ipv4(ttl=63)
    bad = good[:24] + bytes([good[24] ^ 1]) + good[25:]
    egress_port, _, waiting = switch.ingress(1, bad, 0)[0]
    assert egress_port == 2
    assert switch.egress(waiting, 0)[14:34] == ipv4(ttl=63)
    other = bytes(12) + b"\x08\x01" + bytes(20)
    assert switch.ingress(1, other, 0)[0][0] == 1


def test_checksum_condition_keeps_the_old_one():
    data = through(switch_for("checksums"), ETHERNET + ipv4(tos=0xFF, ident=0x1FF))
    assert data[24:26] == ipv4(tos=0xFF, ident=0x1FF)[10:12]


def crc16_arc(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


def test_hashes_registers_and_random():
    switch = switch_for("checksums")
    switch.registers["cells"].write(3, 0xABC)
    data = through(switch, ETHERNET + ipv4(tos=9, ident=0x0FFF, flags=5))
    crc16, crc32, csum, xor, custom, drawn, old = struct.unpack_from(">HIHHHHH", data, 34)
    addresses = bytes(range(1, 9))
    assert crc16 == crc16_arc(addresses + bytes([5 << 5]))
    assert crc32 == zlib.crc32(addresses + bytes([9 << 3]))
    assert csum == 3 + ones_sum(addresses[:4] + b"\x09") % 1000
    assert xor == 0x0102 ^ 0x0304 ^ 0x0900
    assert custom == crc16_arc(b"\x0f\xff\x09")
    assert 9 <= drawn <= 0x0FFF
    assert old == 0xABC
    assert switch.registers["cells"].read(3) == (0xFFF + 0xABC) % 4096


def test_random_takes_every_value_and_nothing_when_the_bounds_are_crossed():
    switch = switch_for("checksums")

    def draw(lo, hi):
        return struct.unpack_from(">H", through(switch, ETHERNET + ipv4(tos=lo, ident=hi)), 46)[0]

    assert {draw(5, 8) for _ in range(200)} == {5, 6, 7, 8}
    assert draw(7, 7) == 7
    assert draw(9, 8) == 0


def test_the_same_seed_draws_the_same_numbers():
    frame = ETHERNET + ipv4(tos=0, ident=0xFFFF)
    first, second, other = (
        [through(switch, frame) for _ in range(5)]
        for switch in (switch_for("checksums", 3), switch_for("checksums", 3),
                       switch_for("checksums", 4))
    )  # fmt: skip
    assert first == second != other


def test_a_register_index_outside_the_array_reads_and_writes_nothing():
    switch = switch_for("checksums")
    data = through(switch, ETHERNET + ipv4(protocol=200, ident=5))
    assert struct.unpack_from(">H", data, 48)[0] == 0
    assert switch.registers["cells"].cells == [0] * 8


# -- jumps that other p4c releases write for conditions in actions --------------------------------


def hexstr(value):
    return {"type": "hexstr", "value": hex(value)}


@pytest.mark.parametrize("with_else", [False, True])
def test_jumps_in_an_action(with_else):
    def assign(value):
        field = {"type": "field", "value": ["calc", "r"]}
        return {"op": "assign", "parameters": [field, hexstr(value)]}

    def change(document):
        action = next(a for a in document["actions"] if a["name"] == "I.add")
        condition = {"type": "field", "value": ["calc", "a"]}
        if with_else:
            body = [
                {"op": "_jump_if_zero", "parameters": [condition, hexstr(3)]},
                assign(1),
                {"op": "_jump", "parameters": [hexstr(4)]},
                assign(2),
            ]
        else:
            body = [
                assign(2),
                {"op": "_jump_if_zero", "parameters": [condition, hexstr(3)]},
                assign(1),
            ]
        action["primitives"] = body

    switch = switch_for("arithmetic", change=change)
    for a in (0, 1, 65535):
        data = through(switch, CALC.pack(0, a, 0, 9, 0, 0, 0, bytes(6)))
        assert CALC.unpack(data)[3] == (1 if a else 2)
