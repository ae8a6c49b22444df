# SPDX-License-Identifier: Apache-2.0
"""Same tables, same packets in: the embedded switch and BMv2 give the same packets and counts."""

import contextlib
import random
import struct
from pathlib import Path

import bmv2_process
import mrc_switch as mrc
import pytest
from bmv2_compare import compare, compare_counters
from bmv2_process import Bmv2

import p4src
from softswitch import Switch, TableError, load_program

pytestmark = [
    pytest.mark.bmv2,
    pytest.mark.skipif(not bmv2_process.available(), reason="simple_switch_grpc not on the PATH"),
]
PROGRAMS = Path(__file__).parent / "programs"
SIDS = [0x1801, 0x1C02, 0x0005, 0x0803, 0x1803, 0xFFFF]
MARKER_SID = 0x2ABC
MARKER_PORTS = (400, 401, 402, 403)
FAR = 1_000_000  # packets: no queue of these tests is ever that long


# -- the MRC program ----------------------------------------------------------------------------


def random_tables(rng):
    """A switch with random entries, and always those that the marker needs."""
    switch = Switch(mrc.mrc_program(), rng=rng)
    tables = switch.tables
    ports = rng.sample(range(1, 390), 8)

    def attempt(table, key, action, params):
        with contextlib.suppress(TableError):
            tables[table].insert(key, action, params)

    def hop():
        return rng.choice(ports), rng.getrandbits(48), rng.getrandbits(48)

    for sid in rng.sample(SIDS, 3):
        if rng.random() < 0.7:
            attempt(mrc.MY_SID, (mrc.sid_key(sid),), mrc.UN, ())
        else:
            attempt(mrc.MY_SID, (mrc.sid_key(sid),), mrc.UA, hop())
    for sid in rng.sample(SIDS, 2):
        attempt(mrc.MY_ADJACENCY, (mrc.sid_key(sid),), mrc.UA, hop())
    for _ in range(10):
        length = rng.choice((0, 32, 40, 48, 56, 64, 80, 128))
        destination = mrc.address(*rng.choices(SIDS, k=4)) >> (128 - length) << (128 - length)
        attempt(mrc.FIB, ((destination, length),), mrc.FORWARD, hop())
    for dscp in rng.sample(range(1, 64), 30):
        queue = rng.choice((0, 0, 0, 1, 2, 3, 7))
        attempt(mrc.CLASSES, (dscp,), mrc.SET_CLASS, (queue, rng.getrandbits(1)))
    for port in rng.sample(ports, 7):
        ecn = rng.choice(((0, 0), (mrc.NEVER, mrc.NEVER), (FAR, 2 * FAR)))
        length = rng.choice((0, 1, 14, 54, 142, 200, 2000))
        threshold = rng.choice((0, FAR))
        profile = (threshold, length, rng.getrandbits(6), *ecn)
        attempt(mrc.PROFILE, (port,), mrc.SET_PROFILE, profile)
    tables[mrc.MY_SID].insert((mrc.sid_key(MARKER_SID),), mrc.UN, ())
    for port in MARKER_PORTS:
        route = mrc.address(port)
        tables[mrc.FIB].insert(((route, 48),), mrc.FORWARD, (port, 1, 2))
        tables[mrc.PROFILE].insert((port,), mrc.SET_PROFILE, (FAR, 142, 12, FAR, FAR))
    return switch


def ipv6_frame(rng, own_sids, dscp, hop_limit, version=6):
    """A frame with random addresses from few SIDs, sometimes with a routing header."""
    own = rng.choice(own_sids if rng.random() < 0.8 else SIDS)
    destination = mrc.address(own, *rng.choices([*SIDS, 0], weights=[2] * 6 + [1], k=5))
    if rng.random() < 0.05:
        destination = rng.getrandbits(128)
    next_header, extension = 59, b""
    if rng.random() < 0.3:
        next_header = 43
        segment = mrc.address(*rng.choices(SIDS, k=rng.randrange(0, 4)))
        routing_type = rng.choice((4, 4, 4, 3, rng.getrandbits(8)))
        size = rng.choice((2, 2, 2, 0, 4, rng.getrandbits(8)))
        left = rng.choice((0, 1, 1, 2, rng.getrandbits(8)))
        extension = bytes([59, size, routing_type, left, 0, 0, 0, 0]) + segment.to_bytes(16, "big")
        if rng.random() < 0.4:
            destination = mrc.address(own)
    first = version << 28 | dscp << 22 | rng.getrandbits(2) << 20 | rng.getrandbits(20)
    payload = extension + rng.randbytes(rng.choice((0, 1, 30, 100, 400)))
    header = struct.pack(">IHBB", first, len(payload), next_header, hop_limit)
    ethernet = rng.randbytes(12) + b"\x86\xdd"
    return ethernet + header + rng.randbytes(16) + destination.to_bytes(16, "big") + payload


def mrc_packets(rng, switch, count):
    """Good and bad frames: every DSCP, every hop limit, cut short, other types and versions."""
    packets = []
    own_sids = [entry.key[0] & 0xFFFF for entry in switch.tables[mrc.MY_SID].entries()]
    for i in range(count):
        hop_limit = rng.choice((64, 64, 64, 2, 1, i % 256))
        frame = ipv6_frame(rng, own_sids, i % 64, hop_limit)
        fault = rng.random()
        if fault < 0.1:
            frame = frame[: rng.randrange(1, 90)]
        elif fault < 0.13:
            frame = frame[:12] + rng.randbytes(2) + frame[14:]
        elif fault < 0.16:
            frame = ipv6_frame(rng, own_sids, i % 64, hop_limit, version=rng.randrange(16))
        elif fault < 0.18:
            frame = rng.randbytes(rng.randrange(1, 200))
        packets.append((rng.randrange(0, 510), frame))
    return packets


MARKER = [
    (1, bytes(mrc.packet(mrc.address(MARKER_SID, port), dscp=0, ecn=0, payload=10)))
    for port in MARKER_PORTS
]


def test_mrc_program_over_random_tables():
    rng = random.Random(20)
    text, info = p4src.JSON.read_bytes(), p4src.P4INFO.read_text()
    forwarded = 0
    with Bmv2(text, info) as bmv2:
        totals = {}
        for _ in range(10):
            switch = random_tables(rng)
            for name, values in totals.items():
                for i, (packets, size) in enumerate(values):
                    switch.counters[name].write(i, packets, size)
            bmv2.copy_tables(switch)
            forwarded += compare(bmv2, switch, mrc_packets(rng, switch, 480), MARKER)
            compare_counters(bmv2, switch)
            totals = bmv2.counters()
            bmv2.clear_tables()
    # Every path was taken: each reason to drop, cuts, marks, and packets that left whole.
    assert all(packets > 10 for packets, _ in totals["MrcIngress.drops"][1:])
    for name in ("trimmed", "marked"):
        assert sum(packets for packets, _ in totals[f"MrcIngress.queueing.{name}"]) > 50
    assert forwarded > 800


# -- small programs -----------------------------------------------------------------------------


def start(name):
    text = (PROGRAMS / f"{name}.json").read_bytes()
    info = (PROGRAMS / f"{name}.p4info.txt").read_text()
    return Bmv2(text, info), Switch(load_program(text), rng=random.Random(1))


def test_arithmetic():
    process, switch = start("arithmetic")
    rng = random.Random(21)
    edge = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF]

    def word():
        return rng.choice(edge) if rng.random() < 0.5 else rng.getrandbits(16)

    packets = []
    for i in range(2000):
        fields = (i % 13, word(), word(), word(), word(), word() & 0xFF, word() & 0xFF)
        packets.append((1, struct.pack(">BHHHHBB", *fields) + rng.randbytes(6 + i % 3)))
    # Everything leaves by port 1: one egress thread.
    marker = [(1, struct.pack(">BHHHHBB", 0, 0, 0, 0, 0, 0, 0) + bytes(6))]
    with process as bmv2:
        assert compare(bmv2, switch, packets, marker) > 1500


def test_matches():
    process, switch = start("matches")
    rng = random.Random(22)
    words = [0, 1, 0x1234, 0x1200, 0x1300, 0x8000, 0xFFFF]
    tables = switch.tables

    def attempt(name, *entry):
        with contextlib.suppress(TableError):
            tables[name].insert(*entry)

    for i in range(60):
        a, b, c = rng.randrange(3), rng.choice(words), rng.choice(words) << 16 | rng.choice(words)
        length = rng.randrange(33)
        prefix = (c >> (32 - length) << (32 - length), length)
        attempt("I.exact_pair", (a, b), "I.choose_metered", (i,))
        attempt("I.prefixes", (prefix,), rng.choice(("I.refuse", "NoAction")), ())
        attempt("I.prefixes", (prefix,), "I.choose", (i,))
        attempt("I.prefix_in_group", (a, prefix), "I.choose", (i,))
        mask_b, mask_a = rng.choice((0, 0xFF00, 0xFFFF)), rng.choice((0, 1, 0xFF))
        # Equal priorities that overlap are undefined in P4Runtime: give each its own.
        masks = ((b & mask_b, mask_b), (a & mask_a, mask_a))
        attempt("I.masks", masks, "I.choose_counted", (i,), i + 1)
        low, high = sorted(rng.choices(words, k=2))
        entry = ((low, high), a, rng.getrandbits(1))
        attempt("I.ranges", entry, rng.choice(("I.refuse", "NoAction")), (), i + 1)
        attempt("I.ranges", entry, "I.choose", (i,), 100 + i)
    tables["I.keyless"].set_default("I.choose", (77,))
    packets = []
    for i in range(3000):
        kind = i % 9 | rng.choice((0, 0x80))
        c = rng.choice(words) << 16 | rng.choice(words)
        frame = struct.pack(">BBHIBBH", kind, rng.randrange(4), rng.choice(words), c, 1, 2, 3)
        packets.append((rng.randrange(1, 9), frame + rng.randbytes(rng.randrange(4))))
    marker = [(1, struct.pack(">BBHIBBH", 8, 0, 0, 0, 0, 0, 0))]
    with process as bmv2:
        bmv2.copy_tables(switch)
        assert compare(bmv2, switch, packets, marker) > 2000
        compare_counters(bmv2, switch)


def test_headers():
    process, switch = start("headers")
    rng = random.Random(23)
    packets = []
    for i in range(3000):
        # Paths that report times are not for comparison; priorities 3 to 7 have no queue. The
        # first header is always there: of one that is not, BMv2 reads what an earlier packet held.
        op = rng.choice((0x00, 0x20, 0x30, 0x40, 0x50)) | i % 8
        magic = 0xA5 if rng.random() < 0.9 else rng.getrandbits(8)
        frame = bytes([magic, op, rng.choice((0, 0, 1, 3, 9)), rng.getrandbits(8)])
        rest = rng.choice((b"", b"x", b"\x77\x01", b"\x77\x01\x02\x03", b"xyz\x77\x01\x02\x03"))
        packets.append((2, frame + rest + rng.randbytes(i % 20)))
    marker = [(2, bytes([0xA5, 0x06, 0, 0, 0, 0]))]
    with process as bmv2:
        assert compare(bmv2, switch, packets, marker) > 500


def test_untouched():
    process, switch = start("untouched")
    rng = random.Random(24)
    packets = []
    for _ in range(1500):
        first = struct.pack(">HHH", rng.getrandbits(16), rng.getrandbits(16), rng.getrandbits(16))
        kind = rng.choice((0, 3, 4, 7))
        if rng.random() < 0.3:
            first = first[:4] + bytes([0, rng.getrandbits(4)])
        packets.append((2, first + bytes([kind]) + rng.randbytes(rng.randrange(40))))
    marker = [(2, bytes([0, 0, 0, 0, 0, port, 0, 0, 0, 0])) for port in (4, 5, 6, 7)]
    with process as bmv2:
        assert compare(bmv2, switch, packets, marker) > 1400


def test_checksums():
    process, switch = start("checksums")
    rng = random.Random(25)
    packets = []
    for i in range(1500):
        # random() draws nothing to compare but where its bounds meet or cross.
        tos = rng.getrandbits(8)
        ident = tos if i % 2 else rng.randrange(tos + 1)
        words = (0x4500 | tos, 20, ident, rng.getrandbits(16), rng.getrandbits(16), 0)
        header = struct.pack(">6H", *words) + rng.randbytes(8)
        if rng.random() < 0.5:
            total = sum(struct.unpack(">10H", header))
            while total > 0xFFFF:
                total = (total >> 16) + (total & 0xFFFF)
            header = header[:10] + (0xFFFF - total).to_bytes(2, "big") + header[12:]
        ethernet = rng.randbytes(12) + (b"\x08\x00" if rng.random() < 0.9 else b"\x08\x01")
        packets.append((2, (ethernet + header + rng.randbytes(i % 30))[: rng.choice((9, 25, 99))]))
    marker = [(2, bytes(14))]
    with process as bmv2:
        # Two output ports, 1 and 2: the second marker is an IPv4 header with a wrong checksum.
        marker.append((2, bytes(12) + b"\x08\x00" + b"\x45" + bytes(18) + b"\x01"))
        assert compare(bmv2, switch, packets, marker) > 1000
