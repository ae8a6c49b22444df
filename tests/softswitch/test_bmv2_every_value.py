# SPDX-License-Identifier: Apache-2.0
"""Every value of each header field, every length, every place to break off: the MRC program gives
the same frames and counts in the embedded switch and in BMv2."""

import random

import bmv2_process
import mrc_switch as mrc
import pytest
from bmv2_compare import compare, compare_counters
from bmv2_process import Bmv2

import p4src

pytestmark = [
    pytest.mark.bmv2,
    pytest.mark.skipif(not bmv2_process.available(), reason="simple_switch_grpc not on the PATH"),
]
IN_PORT = 300
FAR = 1_000_000  # packets: no queue of these tests is ever that long
MARKER_PORTS = (400, 401, 402, 403)
MARKER = [
    (IN_PORT, bytes(mrc.packet(mrc.address(mrc.SID_UN, port), dscp=0, ecn=0)))
    for port in MARKER_PORTS
]
BY_FIB = mrc.address(mrc.SID_UN, mrc.SID_NEXT, 0x1803)
BY_UA = mrc.address(mrc.SID_UA, 0x1803)
BY_ADJACENCY = mrc.address(mrc.SID_UN, mrc.SID_ADJACENCY, 0x1803)
EMPTY = mrc.address(mrc.SID_UN)
#: Offsets of bytes in a frame.
ETHER_TYPE, VERSION, LENGTH, NEXT_HEADER, HOP_LIMIT, SRH = 12, 14, 18, 20, 21, 54
ROUTING_TYPE, EXTENSION_LENGTH, SEGMENTS_LEFT, LAST_ENTRY = SRH + 2, SRH + 1, SRH + 3, SRH + 4
LONGEST = 65535  # bytes that an IPv6 header can tell of


def switch_for(limits):
    """A class for each DSCP, and (trim threshold, ECN minimum and maximum) of all ports."""
    switch = mrc.make_switch()
    rng = random.Random(30)
    switch.tables[mrc.CLASSES].clear()
    for dscp in range(63):  # one is left to the default
        entry = (rng.choice((0, 0, 1, 2)), rng.getrandbits(1))
        switch.tables[mrc.CLASSES].insert((dscp,), mrc.SET_CLASS, entry)
    switch.tables[mrc.CLASSES].modify((0,), mrc.SET_CLASS, (0, 0))
    threshold, minimum, maximum = limits
    profile = (threshold, mrc.TRIM_LENGTH, mrc.TRIMMED, minimum, maximum)
    for port in (mrc.PORT_FIB, mrc.PORT_UA, mrc.PORT_ADJACENCY, mrc.PORT_NIC):
        switch.tables[mrc.PROFILE].modify((port,), mrc.SET_PROFILE, profile)
    for port in MARKER_PORTS:
        switch.tables[mrc.FIB].insert(((mrc.address(port), 48),), mrc.FORWARD, (port, 1, 2))
        never = (FAR, mrc.TRIM_LENGTH, mrc.TRIMMED, FAR, FAR)
        switch.tables[mrc.PROFILE].insert((port,), mrc.SET_PROFILE, never)
    return switch


def equal(frames, limits=(FAR, FAR, FAR)):
    """How many of the frames left; the same from both switches."""
    switch = switch_for(limits)
    with Bmv2(p4src.JSON.read_bytes(), p4src.P4INFO.read_text()) as bmv2:
        bmv2.copy_tables(switch)
        left = compare(bmv2, switch, [(IN_PORT, bytes(frame)) for frame in frames], MARKER)
        compare_counters(bmv2, switch)
    return left


def with_bytes(frame, place, value):
    return frame[:place] + value + frame[place + len(value) :]


def each_byte(frame, place):
    return [with_bytes(frame, place, bytes([value])) for value in range(256)]


#: Nothing in the way; cut or dropped from the first packet on; marked from the first packet on.
@pytest.mark.parametrize(
    "limits", [(FAR, FAR, FAR), (0, FAR, FAR), (FAR, 0, 0)], ids=["free", "full", "marking"]
)
def test_every_dscp_and_every_ecn(limits):
    frames = [
        mrc.packet(destination, dscp=dscp, ecn=ecn)
        for destination in (BY_FIB, BY_UA, BY_ADJACENCY)
        for dscp in range(64)
        for ecn in range(4)
    ]
    left = equal(frames, limits)
    assert left == len(frames) if limits[0] else 0 < left < len(frames)


def test_every_hop_limit_version_and_next_header():
    frames = []
    for destination in (BY_FIB, BY_UA, BY_ADJACENCY):
        frames += each_byte(bytes(mrc.packet(destination, dscp=0)), HOP_LIMIT)
    assert equal(frames) == 3 * 254
    plain = bytes(mrc.packet(BY_FIB, dscp=0))
    assert equal(each_byte(plain, VERSION)) == 16
    assert equal(each_byte(plain, NEXT_HEADER)) >= 255
    types = [0, 0x0800, 0x0806, 0x8100, 0x86DC, 0x86DD, 0x86DE, 0xDD86, 0xFFFF]
    types += [0x86DD ^ 1 << bit for bit in range(16)]
    assert equal([with_bytes(plain, ETHER_TYPE, t.to_bytes(2, "big")) for t in types]) == 1


@pytest.mark.parametrize("destination", [BY_FIB, EMPTY], ids=["more uSIDs", "empty container"])
def test_every_value_of_a_routing_header(destination):
    frames = []
    for left in (0, 1):
        frame = bytes(
            mrc.packet(destination, dscp=0, segment=mrc.address(mrc.SID_NEXT), segments_left=left)
        )
        for place in (ROUTING_TYPE, EXTENSION_LENGTH, SEGMENTS_LEFT, LAST_ENTRY):
            frames += each_byte(frame, place)
    assert 256 < equal(frames) < len(frames)


def test_every_place_to_break_off():
    kinds = [
        mrc.packet(BY_FIB, dscp=0, payload=20),
        mrc.packet(BY_FIB, dscp=0, payload=20, segment=BY_UA, segments_left=1),
        mrc.packet(EMPTY, dscp=0, payload=20, segment=mrc.address(mrc.SID_NEXT), segments_left=1),
    ]
    frames = [bytes(kind)[:size] for kind in kinds for size in range(1, len(kind) + 1)]
    whole = [len(kind) - headers + 1 for kind, headers in zip(kinds, (54, 78, 78), strict=True)]
    assert equal(frames) == sum(whole)


@pytest.mark.parametrize("threshold", [FAR, 0], ids=["whole", "cut"])
def test_zero_and_maximal_lengths(threshold):
    sizes = [0, 1, mrc.TRIM_LENGTH - 55, mrc.TRIM_LENGTH - 54, mrc.TRIM_LENGTH - 53, 1446, 4188,
             9162, LONGEST - 1, LONGEST]  # fmt: skip
    trimmable = next(
        entry.key[0]
        for entry in switch_for((FAR, FAR, FAR)).tables[mrc.CLASSES].entries()
        if entry.params == (0, 1)
    )
    frames = []
    for size in sizes:
        head = bytes(mrc.packet(BY_FIB, dscp=trimmable, payload=0))
        # What the header says is its own affair: as long, nothing, and all that it can say.
        for told in {size, 0, LONGEST}:
            frames.append(with_bytes(head, LENGTH, told.to_bytes(2, "big")) + bytes(size))
    assert equal(frames, (threshold, FAR, FAR)) == len(frames)


def test_an_empty_frame_comes_out_nowhere():
    switch = switch_for((FAR, FAR, FAR))
    with Bmv2(p4src.JSON.read_bytes(), p4src.P4INFO.read_text()) as bmv2:
        bmv2.copy_tables(switch)
        assert compare(bmv2, switch, [(IN_PORT, b"")] * 3, MARKER) == 0
        # BMv2 does not even give it to the program, which would count a parser error.
        assert bmv2.counters()["MrcIngress.rx"][IN_PORT][0] == len(MARKER)
