# SPDX-License-Identifier: Apache-2.0
"""Packets through one switch running the compiled program: uSID forwarding, SRH, drops."""

import mrc_switch as mrc
import pytest
from mrc_switch import address, drops, forward, make_switch, packet
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether


def mac(value):
    return ":".join(f"{value >> shift & 0xFF:02x}" for shift in range(40, -8, -8))


def expected(frame, destination, port=mrc.PORT_FIB, smac=None, dmac=None):
    """The frame as it must leave: new MACs and destination, hop limit one less, all else equal."""
    want = Ether(bytes(frame))
    want.src = mac(mrc.SMAC + port if smac is None else smac)
    want.dst = mac(mrc.DMAC + port if dmac is None else dmac)
    want[IPv6].hlim -= 1
    want[IPv6].dst = mrc.ipv6_text(destination)
    return bytes(want)


@pytest.mark.fact("srv6.un")
@pytest.mark.parametrize("payload", [0, 1, 300, 4200])
def test_un_shifts_the_address_and_forwards_by_the_fib(payload):
    frame = packet(address(mrc.SID_UN, mrc.SID_NEXT, 0x1111, 0x2222, 0x3333, 0x4444),
                   payload=payload)  # fmt: skip
    port, priority, data = forward(make_switch(), frame)
    assert (port, priority) == (mrc.PORT_FIB, mrc.DATA_QUEUE)
    assert data == expected(frame, address(mrc.SID_NEXT, 0x1111, 0x2222, 0x3333, 0x4444))


@pytest.mark.fact("srv6.ua")
def test_ua_shifts_and_leaves_by_its_own_port_without_the_fib():
    switch = make_switch()
    switch.tables[mrc.FIB].clear()
    frame = packet(address(mrc.SID_UA, 0x1111, 0x2222))
    port, _, data = forward(switch, frame)
    assert port == mrc.PORT_UA
    assert data == expected(frame, address(0x1111, 0x2222), port, mrc.SMAC, mrc.DMAC)


@pytest.mark.fact("srv6.un-then-ua")
def test_an_adjacency_after_the_own_sid_shifts_twice():
    frame = packet(address(mrc.SID_UN, mrc.SID_ADJACENCY, 0x1111))
    port, _, data = forward(make_switch(), frame)
    assert port == mrc.PORT_ADJACENCY
    assert data == expected(frame, address(0x1111), port, mrc.SMAC, mrc.DMAC)


def test_longer_prefix_wins():
    switch = make_switch()
    longer = address(mrc.SID_NEXT, 0x1803)
    switch.tables[mrc.FIB].insert(((longer, 64),), mrc.FORWARD, (mrc.PORT_NIC, 1, 2))
    assert forward(switch, packet())[0] == mrc.PORT_NIC
    assert forward(switch, packet(address(mrc.SID_UN, mrc.SID_NEXT, 9)))[0] == mrc.PORT_FIB


@pytest.mark.fact("srv6.other-sid")
def test_a_sid_of_another_switch_is_dropped():
    switch = make_switch()
    assert forward(switch, packet(address(mrc.SID_NEXT, mrc.SID_UN))) is None
    assert drops(switch) == {"no SID": 1}


def test_no_route_after_the_shift_is_dropped():
    switch = make_switch()
    assert forward(switch, packet(address(mrc.SID_UN, 0x7777))) is None
    assert drops(switch) == {"no route": 1}


@pytest.mark.fact("srv6.container-end")
def test_a_used_up_container_has_no_route_even_with_a_default_one():
    switch = make_switch()
    switch.tables[mrc.FIB].insert(((0, 0),), mrc.FORWARD, (mrc.PORT_FIB, 1, 2))
    assert forward(switch, packet(address(mrc.SID_UN))) is None
    assert drops(switch) == {"no route": 1}


def test_a_port_without_profile_is_dropped():
    switch = make_switch()
    switch.tables[mrc.PROFILE].delete((mrc.PORT_FIB,))
    assert forward(switch, packet()) is None
    assert drops(switch) == {"no profile": 1}


@pytest.mark.parametrize("hop_limit", range(256))
def test_every_hop_limit(hop_limit):
    switch = make_switch()
    result = forward(switch, packet(hop_limit=hop_limit))
    if hop_limit <= 1:
        assert result is None and drops(switch) == {"hop limit": 1}
    else:
        assert Ether(result[2])[IPv6].hlim == hop_limit - 1


@pytest.mark.parametrize("length", [*range(54), 60])
def test_frames_cut_short_count_as_parse_errors(length):
    switch = make_switch()
    frame = bytes(packet(segment=1, payload=0))[:length] if length == 60 else bytes(packet())
    assert forward(switch, frame[:length]) is None
    assert drops(switch) == {"parse": 1}
    assert switch.counters["MrcIngress.drops"].read(mrc.DROP["parse"]) == (1, length)


@pytest.mark.parametrize("ether_type", [0, 0x0800, 0x86DC, 0x86DE, 0xFFFF])
def test_other_ether_types_count_as_parse_errors(ether_type):
    switch = make_switch()
    frame = bytearray(bytes(packet()))
    frame[12:14] = ether_type.to_bytes(2, "big")
    assert forward(switch, bytes(frame)) is None
    assert drops(switch) == {"parse": 1}


@pytest.mark.parametrize("version", [v for v in range(16) if v != 6])
def test_other_ip_versions_count_as_parse_errors(version):
    switch = make_switch()
    frame = bytearray(bytes(packet()))
    frame[14] = version << 4 | frame[14] & 15
    assert forward(switch, bytes(frame)) is None
    assert drops(switch) == {"parse": 1}


@pytest.mark.fact("srv6.srh-pass")
def test_srh_without_segments_left_passes_untouched():
    frame = packet(segment=address(0x1234), segments_left=0)
    _, _, data = forward(make_switch(), frame)
    assert data == expected(frame, address(mrc.SID_NEXT, 0x1803, mrc.SID_NIC))


@pytest.mark.fact("srv6.srh-take")
def test_srh_takes_the_segment_when_the_container_is_empty():
    segment = address(mrc.SID_NEXT, 0x1803, mrc.SID_NIC)
    frame = packet(address(mrc.SID_UN), segment=segment, segments_left=1)
    _, _, data = forward(make_switch(), frame)
    want = Ether(expected(frame, segment))
    want[IPv6ExtHdrSegmentRouting].segleft = 0
    assert data == bytes(want)


def test_srh_waits_while_the_container_is_not_empty():
    frame = packet(segment=address(0x1234), segments_left=1)
    _, _, data = forward(make_switch(), frame)
    assert data == expected(frame, address(mrc.SID_NEXT, 0x1803, mrc.SID_NIC))


@pytest.mark.fact("srv6.srh-drop")
@pytest.mark.parametrize("segments_left", [2, 3, 255])
def test_srh_with_more_segments_left_is_dropped(segments_left):
    switch = make_switch()
    frame = packet(segment=address(0x1234), segments_left=segments_left)
    assert forward(switch, frame) is None
    assert drops(switch) == {"SRH": 1}


@pytest.mark.parametrize(("offset", "value"), [(2, 3), (1, 4), (1, 0)])
def test_other_routing_headers_with_segments_left_are_dropped(offset, value):
    switch = make_switch()
    frame = bytearray(bytes(packet(segment=address(0x1234), segments_left=1)))
    frame[54 + offset] = value
    assert forward(switch, bytes(frame)) is None
    assert drops(switch) == {"SRH": 1}


def test_other_routing_headers_without_segments_left_pass():
    frame = bytearray(bytes(packet(segment=address(0x1234), segments_left=0)))
    frame[56] = 3
    _, _, data = forward(make_switch(), bytes(frame))
    assert data == expected(bytes(frame), address(mrc.SID_NEXT, 0x1803, mrc.SID_NIC))


def test_ports_and_classes_are_counted():
    switch = make_switch()
    frame = bytes(packet(payload=500))
    for _ in range(3):
        forward(switch, frame, port=9)
    forward(switch, packet(dscp=mrc.CONTROL, payload=10), port=9)
    counters = switch.counters
    small = len(packet(payload=10))
    assert counters["MrcIngress.rx"].read(9) == (4, 3 * len(frame) + small)
    assert counters["MrcEgress.tx"].read(mrc.PORT_FIB) == (4, 3 * len(frame) + small)
    data_index, control_index = mrc.PORT_FIB * 4, mrc.PORT_FIB * 4 + 2
    for name in ("MrcIngress.queueing.class_enqueued", "MrcEgress.dequeueing.class_dequeued"):
        assert counters[name].read(data_index) == (3, 3 * len(frame))
        assert counters[name].read(control_index) == (1, small)


def test_clear_state_leaves_tables_and_counters_empty():
    switch = make_switch()
    forward(switch, packet())
    switch.clear_state()
    assert not any(len(table) for name, table in switch.tables.items() if name.startswith("Mrc"))
    assert not any(any(c.packets) for c in switch.counters.values())
    assert not any(any(r.cells) for r in switch.registers.values())
    assert forward(switch, packet()) is None
    assert drops(switch) == {"no SID": 1}
