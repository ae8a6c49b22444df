# SPDX-License-Identifier: Apache-2.0
"""Classes, trimming, ECN marking and the occupancy registers of the compiled program."""

import random

import mrc_switch as mrc
import pytest
from mrc_switch import address, drops, forward, make_switch, occupy, packet
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from softswitch.queues import PortScheduler

NIC_ADDRESS = address(mrc.SID_UN, mrc.SID_NIC)
QUEUES = {mrc.TRIMMED: 1, mrc.TRIMMED_LASTHOP: 1, mrc.CONTROL: 2}


def dscp_of(data):
    return Ether(data)[IPv6].tc >> 2


def ecn_of(data):
    return Ether(data)[IPv6].tc & 3


@pytest.mark.fact("dscp.queue")
@pytest.mark.parametrize("dscp", range(64))
def test_every_dscp_goes_to_its_queue(dscp):
    _, priority, data = forward(make_switch(), packet(dscp=dscp))
    assert priority == QUEUES.get(dscp, 0)
    assert dscp_of(data) == dscp


@pytest.mark.fact("trim.threshold")
@pytest.mark.parametrize("dscp", range(64))
def test_every_dscp_at_the_threshold(dscp):
    switch = make_switch()
    occupy(switch, mrc.PORT_FIB, mrc.TRIM_AT)
    result = forward(switch, packet(dscp=dscp))
    if dscp in QUEUES:
        assert result[1] == QUEUES[dscp] and dscp_of(result[2]) == dscp
        assert len(result[2]) == len(packet())
    elif dscp in (mrc.TRIMMABLE, 8):
        assert result[1] == mrc.TRIMMED_QUEUE and dscp_of(result[2]) == mrc.TRIMMED
        assert len(result[2]) == mrc.TRIM_LENGTH
    else:
        assert result is None and drops(switch) == {"congestion": 1}


@pytest.mark.fact("trim.threshold")
def test_trimming_begins_at_the_threshold():
    switch = make_switch()
    occupy(switch, mrc.PORT_FIB, mrc.TRIM_AT - 1)
    assert forward(switch, packet(ecn=0))[1] == mrc.DATA_QUEUE
    occupy(switch, mrc.PORT_FIB, mrc.TRIM_AT)
    assert forward(switch, packet(ecn=0))[1] == mrc.TRIMMED_QUEUE
    assert switch.counters["MrcIngress.queueing.trimmed"].read(mrc.PORT_FIB)[0] == 1


@pytest.mark.fact("trim.only-dscp")
def test_a_cut_changes_nothing_but_dscp_and_length():
    frame = packet(payload=1000)
    whole = forward(make_switch(), frame)[2]
    switch = make_switch()
    occupy(switch, mrc.PORT_FIB, mrc.TRIM_AT)
    cut = bytearray(forward(switch, frame)[2])
    assert len(cut) == mrc.TRIM_LENGTH
    assert Ether(bytes(cut))[IPv6].plen == 1000
    cut[14:16] = whole[14:16]
    assert bytes(cut) == whole[: mrc.TRIM_LENGTH]


@pytest.mark.fact("trim.short")
@pytest.mark.parametrize("payload", range(0, 89, 11))
def test_a_short_packet_is_marked_trimmed_and_keeps_its_bytes(payload):
    switch = make_switch()
    occupy(switch, mrc.PORT_FIB, mrc.TRIM_AT)
    frame = packet(payload=payload)
    _, priority, data = forward(switch, frame)
    assert priority == mrc.TRIMMED_QUEUE and dscp_of(data) == mrc.TRIMMED
    assert data[54:] == bytes(frame)[54:]


@pytest.mark.fact("srv6.srh-cut")
def test_an_srh_makes_the_cut_longer_by_its_own_length():
    switch = make_switch()
    occupy(switch, mrc.PORT_FIB, mrc.TRIM_AT)
    frame = packet(segment=address(0x1234), payload=1000)
    data = forward(switch, frame)[2]
    assert len(data) == mrc.TRIM_LENGTH + 24
    assert data[54:] == bytes(frame)[54 : len(data)]


@pytest.mark.fact("trim.last-hop")
def test_the_last_hop_has_its_own_threshold_and_dscp_and_never_marks():
    switch = make_switch()
    threshold = mrc.TRIM_AT * 3 // 2
    occupy(switch, mrc.PORT_NIC, threshold - 1)
    port, priority, data = forward(switch, packet(NIC_ADDRESS))
    assert (port, priority, ecn_of(data)) == (mrc.PORT_NIC, mrc.DATA_QUEUE, 2)
    occupy(switch, mrc.PORT_NIC, threshold)
    _, priority, data = forward(switch, packet(NIC_ADDRESS))
    assert priority == mrc.TRIMMED_QUEUE and dscp_of(data) == mrc.TRIMMED_LASTHOP


def test_trimmed_packets_do_not_count_as_data_in_the_queue():
    switch = make_switch()
    occupy(switch, mrc.PORT_FIB, mrc.TRIM_AT)
    forward(switch, packet())
    assert switch.registers["enqueued"].read(mrc.PORT_FIB) == mrc.TRIM_AT
    assert switch.registers["dequeued"].read(mrc.PORT_FIB) == 0


def marked_share(switch, occupancy, ecn=2, count=2000):
    marked = 0
    for _ in range(count):
        occupy(switch, mrc.PORT_FIB, occupancy)
        marked += ecn_of(forward(switch, packet_bytes[ecn])[2]) == 3
    return marked / count


packet_bytes = [bytes(packet(ecn=ecn, payload=0)) for ecn in range(4)]


def test_marking_rises_from_min_to_max():
    switch = make_switch()
    span = mrc.ECN_MAX - mrc.ECN_MIN
    assert marked_share(switch, mrc.ECN_MIN, count=300) == 0
    assert marked_share(switch, mrc.ECN_MAX, count=300) == 1
    for occupancy in (mrc.ECN_MIN + span // 4, mrc.ECN_MIN + span // 2, mrc.ECN_MAX - 1):
        share = marked_share(switch, occupancy)
        assert share == pytest.approx((occupancy - mrc.ECN_MIN) / span, abs=0.05)


@pytest.mark.parametrize("ecn", range(4))
def test_only_ecn_capable_packets_are_marked(ecn):
    switch = make_switch()
    assert marked_share(switch, mrc.ECN_MAX, ecn, count=10) == (ecn != 0)
    counted = switch.counters["MrcIngress.queueing.marked"].read(mrc.PORT_FIB)[0]
    assert counted == (10 if ecn else 0)


def test_ecn_settings_where_min_equals_max():
    switch = make_switch()
    profile = (mrc.TRIM_AT, mrc.TRIM_LENGTH, mrc.TRIMMED, 30, 30)
    switch.tables[mrc.PROFILE].modify((mrc.PORT_FIB,), mrc.SET_PROFILE, profile)
    assert marked_share(switch, 29, count=50) == 0
    assert marked_share(switch, 30, count=50) == 1


@pytest.mark.parametrize("ahead", [1, 3, 2**31])
def test_a_dequeued_count_ahead_of_enqueued_is_set_right(ahead):
    switch = make_switch()
    switch.registers["enqueued"].write(mrc.PORT_FIB, 10)
    switch.registers["dequeued"].write(mrc.PORT_FIB, 10 + ahead)
    waiting = switch.ingress(1, bytes(packet()), 0)[0][2]
    assert switch.registers["enqueued"].read(mrc.PORT_FIB) == (11 + ahead) % 2**32
    switch.egress(waiting, 0)
    for name in ("enqueued", "dequeued"):
        assert switch.registers[name].read(mrc.PORT_FIB) == (11 + ahead) % 2**32


def test_register_counts_wrap_without_a_visible_step():
    switch = make_switch()
    switch.registers["enqueued"].write(mrc.PORT_FIB, 2**32 - 1)
    switch.registers["dequeued"].write(mrc.PORT_FIB, 2**32 - 5)
    assert forward(switch, packet())[1] == mrc.DATA_QUEUE
    assert switch.registers["enqueued"].read(mrc.PORT_FIB) == 0
    assert switch.registers["dequeued"].read(mrc.PORT_FIB) == 2**32 - 4
    assert forward(switch, packet())[1] == mrc.DATA_QUEUE


def test_counts_balance_after_a_flood_through_the_queues():
    switch = make_switch()
    rng = random.Random(7)
    port = PortScheduler(100_000_000_000, (TRIM_CAPACITY, 50, 50), overhead_bytes=24)
    kinds = [
        bytes(packet(dscp=d, payload=p)) for d, p in ((4, 4200), (4, 4200), (46, 60), (0, 900))
    ]
    lost = 0
    for now in range(0, 400_000, 100):
        for _, priority, waiting in switch.ingress(1, rng.choice(kinds), now // 1000):
            lost += not port.enqueue(priority, waiting, now)
        while (item := port.dequeue(now)) is not None:
            switch.egress(item[1], now // 1000)
    while len(port):
        item = port.dequeue(port.next_dequeue_ns())
        switch.egress(item[1], 400)
    registers = switch.registers
    assert switch.counters["MrcIngress.queueing.trimmed"].read(mrc.PORT_FIB)[0] > 100
    assert registers["enqueued"].read(mrc.PORT_FIB) == registers["dequeued"].read(mrc.PORT_FIB)
    enqueued = switch.counters["MrcIngress.queueing.class_enqueued"]
    dequeued = switch.counters["MrcEgress.dequeueing.class_dequeued"]
    at_rest = [enqueued.read(i)[0] - dequeued.read(i)[0] for i in range(enqueued.size)]
    assert sum(at_rest) == lost == sum(port.dropped)
    assert at_rest[mrc.PORT_FIB * 4] == 0


TRIM_CAPACITY = mrc.TRIM_AT + 10
