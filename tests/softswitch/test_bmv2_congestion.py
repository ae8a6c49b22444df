# SPDX-License-Identifier: Apache-2.0
"""Trimming and marking from the occupancy registers: the embedded switch and BMv2 decide alike."""

import bmv2_process
import mrc_switch as mrc
import pytest
from bmv2_process import Bmv2
from soft_over_p4runtime import SoftOverP4Runtime

import p4src
from softswitch.queues import PortScheduler

pytestmark = [
    pytest.mark.bmv2,
    pytest.mark.skipif(
        not bmv2_process.cli_available(),
        reason="simple_switch_grpc and simple_switch_CLI are not on the PATH",
    ),
]
MINIMUM, MAXIMUM, THRESHOLD = 20, 30, 40
REGISTERS = ("enqueued", "dequeued")
PROFILE = (THRESHOLD, mrc.TRIM_LENGTH, mrc.TRIMMED, MINIMUM, MAXIMUM)
LAST = 2**32 - 1
#: (enqueued, dequeued) where marking is certain or impossible, so that nothing is drawn.
STATES = [
    (occupancy + start & LAST, start)
    for start in (0, 7, 2**31, LAST - 5)
    for occupancy in (0, 1, MINIMUM - 1, MINIMUM, MAXIMUM, THRESHOLD - 1, THRESHOLD,
                      THRESHOLD + 1, 2**31 - 1, 2**31, 2**31 + 1, LAST - 2, LAST)
]  # fmt: skip
KINDS = [(4, 0), (4, 1), (4, 2), (4, 3), (0, 2), (0, 0), (46, 2), (12, 2), (16, 0)]
FIRST_PORT = 1
#: Behind all others in the lowest queue of each egress thread, by ports that never fill.
MARKER_PORTS = (400, 401, 402, 403)
MARKER = [
    (300, bytes(mrc.packet(mrc.address(mrc.SID_UN, port), dscp=0, ecn=0))) for port in MARKER_PORTS
]


def switch_with_a_port_for_each_state():
    switch = mrc.make_switch()
    for number in range(len(STATES)):
        port, sid = FIRST_PORT + number, 0x2000 + number
        route = (mrc.sid_key(sid) << 80, 48)
        switch.tables[mrc.FIB].insert((route,), mrc.FORWARD, (port, 1, 2))
        if port in (mrc.PORT_FIB, mrc.PORT_UA, mrc.PORT_ADJACENCY, mrc.PORT_NIC):
            switch.tables[mrc.PROFILE].modify((port,), mrc.SET_PROFILE, PROFILE)
        else:
            switch.tables[mrc.PROFILE].insert((port,), mrc.SET_PROFILE, PROFILE)
    for port in MARKER_PORTS:
        route = (mrc.sid_key(port) << 80, 48)
        switch.tables[mrc.FIB].insert((route,), mrc.FORWARD, (port, 1, 2))
        never = (mrc.NEVER, mrc.TRIM_LENGTH, mrc.TRIMMED, mrc.NEVER, mrc.NEVER)
        switch.tables[mrc.PROFILE].insert((port,), mrc.SET_PROFILE, never)
    return switch


def packets_of(dscp, ecn):
    return [
        (300, bytes(mrc.packet(mrc.address(mrc.SID_UN, 0x2000 + n), dscp=dscp, ecn=ecn)))
        for n in range(len(STATES))
    ]


def write_states(soft, bmv2):
    """Registers of both: over P4Runtime and over Thrift, of which each has its own."""
    lines = []
    for name, place in zip(REGISTERS, (0, 1), strict=True):
        values = {FIRST_PORT + number: state[place] for number, state in enumerate(STATES)}
        soft.write_registers(name, values)
        lines += [f"register_write {name} {port} {cell}" for port, cell in values.items()]
    bmv2.commands(*lines)


def test_every_occupancy_and_class():
    tables = switch_with_a_port_for_each_state()
    program = p4src.JSON.read_bytes(), p4src.P4INFO.read_text()
    cut = marked = 0
    with Bmv2(*program) as bmv2, SoftOverP4Runtime(*program, bmv2_process.CAPACITY) as soft:
        bmv2.copy_tables(tables)
        soft.copy_tables(tables)
        for dscp, ecn in KINDS:
            write_states(soft, bmv2)
            packets = packets_of(dscp, ecn)
            theirs = bmv2.send(packets, MARKER)
            ours = soft.send(packets, bmv2_process.BATCH)
            soft.send(MARKER * -(-len(packets) // bmv2_process.BATCH), bmv2_process.BATCH)
            assert ours == theirs, (dscp, ecn)
            cells = [soft.read_register(name) for name in REGISTERS]
            assert cells == bmv2.registers(*REGISTERS), (dscp, ecn)
            cut += sum(result is not None and len(result[1]) == 142 for result in ours)
            marked += sum(result is not None and result[1][15] >> 4 & 3 == 3 for result in ours)
        # What entered and left each queue of each port is among the counters.
        assert soft.counters() == bmv2.counters()
    assert cut > 40 and marked > 40


RATE_PPS, BURST = 50, 120


def whole_and_cut(frames):
    lengths = [len(frame) for frame in frames]
    return sum(length > mrc.TRIM_LENGTH for length in lengths), lengths.count(mrc.TRIM_LENGTH)


def test_a_burst_into_a_slow_queue_is_cut_at_the_threshold():
    switch = mrc.make_switch()
    switch.tables[mrc.PROFILE].modify((mrc.PORT_FIB,), mrc.SET_PROFILE, PROFILE)
    frame = bytes(mrc.packet(payload=600, ecn=0))
    with Bmv2(p4src.JSON.read_bytes(), p4src.P4INFO.read_text()) as bmv2:
        bmv2.copy_tables(switch)
        bmv2.commands(
            f"set_queue_depth 200 {mrc.PORT_FIB} 0", f"set_queue_rate {RATE_PPS} {mrc.PORT_FIB} 0",
            f"set_queue_depth 200 {mrc.PORT_FIB} 1",
        )  # fmt: skip
        theirs = [data for _, data in bmv2.exchange([(1, frame)] * BURST, BURST)]
        enqueued, dequeued = bmv2.registers(*REGISTERS)

    port = PortScheduler(mode="bmv2", capacities=(200, 200, 200), rates_pps=(RATE_PPS, 0, 0))
    ours = []
    for _, priority, waiting in (
        item for _ in range(BURST) for item in switch.ingress(1, frame, 0)
    ):
        assert port.enqueue(priority, waiting, 0)
    now = 0
    while len(port):
        now = max(now, port.next_dequeue_ns())
        ours.append(switch.egress(port.dequeue(now)[1], now // 1000))

    whole, cut = whole_and_cut(theirs)
    # What leaves while BMv2 still takes the burst in makes room for as many.
    assert whole + cut == BURST and THRESHOLD <= whole <= THRESHOLD + 8
    assert whole_and_cut(ours) == (THRESHOLD, BURST - THRESHOLD)
    assert set(theirs) == set(ours)
    assert enqueued == dequeued and enqueued[mrc.PORT_FIB] == whole
    # Headers overtake the data that waits: the last to leave are whole, in both.
    for frames in (ours, theirs):
        assert {len(f) for f in frames[-THRESHOLD // 2 :]} == {len(frame)}
    assert now == (THRESHOLD - 1) * 1_000_000_000 // RATE_PPS
