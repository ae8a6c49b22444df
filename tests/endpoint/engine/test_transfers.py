# SPDX-License-Identifier: Apache-2.0
"""Proves that writes of every size land whole, in order of completion, on a healthy network."""

import random

import pytest
from engine_lab import Lab, fabric_with, transfer

from endpoint.events import WorkOpcode, WorkStatus
from endpoint.messages import MAX_MESSAGE_BYTES, Message
from endpoint.queue_pair import QpConfig, QpStateError
from endpoint.wire import opcodes


@pytest.mark.parametrize("size", [0, 1, 3, 255, 256, 257, 511, 512, 513, 10_000])
def test_every_size_lands_in_packets_of_the_path_mtu(size: int) -> None:
    lab = Lab(fabric_with(path_mtu=256))
    qa, qb, equal = transfer(lab, size)
    assert equal
    packets = max(1, -(-size // 256))
    assert qa.stats.data_sent == qb.stats.data_received == packets
    assert [s.parsed.payload_length for s in lab.data()] == [
        min(256, size - 256 * i) for i in range(packets)
    ]
    assert lab.completions[0][0].byte_len == size


@pytest.mark.fact("opcode.fragments")
def test_opcodes_mark_first_middle_last_and_only() -> None:
    lab = Lab(fabric_with(path_mtu=256))
    qa, qb = lab.pair()
    region = lab.region(4, 1000)
    qb.post_recv(1)
    qb.post_recv(2)
    for size, imm in ((700, None), (700, 5), (9, None), (0, 6)):
        qa.post_write(size, bytes(size), region.va, region.rkey, imm, now_ns=0)
    lab.run(done=lambda: len(lab.completions[0]) == 4)
    first, middle = opcodes.WRITE_FIRST, opcodes.WRITE_MIDDLE
    assert [s.parsed.opcode for s in lab.data()] == [
        first, middle, opcodes.WRITE_LAST,
        first, middle, opcodes.WRITE_LAST_IMM,
        opcodes.WRITE_ONLY, opcodes.WRITE_ONLY_IMM,
    ]  # fmt: skip
    assert [s.parsed.msn for s in lab.data()] == [0, 0, 0, 1, 1, 1, 2, 3]
    assert [s.parsed.rqmsn for s in lab.data()] == [0, 0, 0, 0, 0, 0, 1, 1]
    assert [s.parsed.length for s in lab.data()] == [256, 256, 188, 256, 256, 188, 9, 0]
    assert [s.parsed.va - region.va for s in lab.data()] == [0, 256, 512, 0, 256, 512, 0, 0]


def test_a_gibibyte_is_cut_without_being_touched_and_more_is_refused() -> None:
    data = memoryview(bytearray(1)).cast("B")

    class Huge:
        nbytes = MAX_MESSAGE_BYTES

    message = Message(1, Huge(), 0, 0, None, 4096, 5, 0, 0)  # type: ignore[arg-type]
    assert message.packets == 262_144
    assert message.last_psn == 5 + 262_143
    Huge.nbytes += 1
    with pytest.raises(ValueError, match="the most is"):
        Message(1, Huge(), 0, 0, None, 4096, 5, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a 64-bit"):
        Message(1, data, (1 << 64), 0, None, 4096, 5, 0, 0)
    with pytest.raises(ValueError, match="not 32 bits"):
        Message(1, data, 0, 0, 1 << 32, 4096, 5, 0, 0)


def test_both_directions_at_once() -> None:
    lab = Lab(line=340)
    qa, qb = lab.pair()
    size = 300_000
    data_a, data_b = random.Random(1).randbytes(size), random.Random(2).randbytes(size)
    at_a, at_b = lab.region(0, size), lab.region(4, size)
    qa.post_write(1, data_a, at_b.va, at_b.rkey, now_ns=0)
    qb.post_write(2, data_b, at_a.va, at_a.rkey, now_ns=0)
    lab.run(done=lambda: bool(lab.completions[0] and lab.completions[4]))
    assert bytes(at_b.buffer) == data_a
    assert bytes(at_a.buffer) == data_b
    assert qa.stats.retransmitted == qb.stats.retransmitted == 0


def test_completions_come_in_the_order_of_posting_though_acknowledged_in_another() -> None:
    lab = Lab(fabric_with(path_mtu=256))
    qa, qb = lab.pair()
    region = lab.region(4, 3000)
    held = {0}

    def hold_first(sent):
        if sent.parsed.is_data and not sent.parsed.rtx and sent.parsed.psn == qa.first_psn:
            held.add(sent.number)
            return [(9_000, sent.frame)]
        return None

    lab.rule(hold_first)
    for wr_id in range(3):
        qa.post_write(wr_id, bytes(200), region.va + 1000 * wr_id, region.rkey, now_ns=0)
    lab.run(until=7_000)
    assert lab.completions[0] == []
    lab.run(done=lambda: len(lab.completions[0]) == 3)
    assert [c.wr_id for c in lab.completions[0]] == [0, 1, 2]
    assert qb.stats.duplicates == 0


def test_a_healthy_network_needs_no_retransmission_whatever_the_paths_delays() -> None:
    lab = Lab(line=340)

    def uneven(sent):
        return [(lab.delay + (sent.parsed.ev & 0x7FF) * 7 % 4_000, sent.frame)]

    lab.rule(uneven)
    qa, qb, equal = transfer(lab, 2_000_000, imm=4)
    assert equal
    assert qa.stats.retransmitted == qa.stats.timeouts == qb.stats.duplicates == 0
    assert len(qa.evs.active()) == 16
    assert lab.completions[4][0].opcode is WorkOpcode.RECV_WRITE_IMM
    assert (lab.completions[4][0].byte_len, lab.completions[4][0].imm) == (2_000_000, 4)


@pytest.mark.fact("rel.psn")
def test_psns_wrap() -> None:
    lab = Lab(fabric_with(path_mtu=256), line=50)
    lab.rule(lab.losing(0.05))
    config = QpConfig(first_psn=0xFFFFF0)
    qa, _, equal = transfer(lab, 200_000, config)
    assert equal
    psns = [s.parsed.psn for s in lab.data() if not s.parsed.rtx]
    assert psns == [(0xFFFFF0 + i) & 0xFFFFFF for i in range(782)]
    assert qa.stats.retransmitted > 10
    assert lab.completions[0][0].status is WorkStatus.SUCCESS


def test_message_numbers_wrap_under_loss() -> None:
    """MSN16 and RQMSN16 pass 2**16 while packets are lost; immediates stay in order."""
    lab = Lab(fabric_with(path_mtu=256), line=50)
    lab.rule(lab.losing(0.05))
    qa, qb = lab.pair(config=QpConfig(first_psn=0xFFFFF0))
    qa.requester._msn, qa.requester._rqmsn = 0xFFF0, 0xFFFC
    qb.responder._finished = 0xFFFC
    region = lab.region(4, 64 * 600)
    data = random.Random(1).randbytes(64 * 600)
    for i in range(64):
        imm = i if i % 4 == 0 else None
        if imm is not None:
            qb.post_recv(i)
        part = data[600 * i : 600 * (i + 1)]
        qa.post_write(i, part, region.va + 600 * i, region.rkey, imm, now_ns=0)
    lab.run(done=lambda: len(lab.completions[0]) == 64)
    assert bytes(region.buffer) == data
    assert qa.stats.retransmitted > 5
    assert {s.parsed.msn for s in lab.data()} == {(0xFFF0 + i) & 0xFFFF for i in range(64)}
    assert {0xFFFC, 0} <= {s.parsed.rqmsn for s in lab.data()}
    assert [c.imm for c in lab.completions[4]] == list(range(0, 64, 4))


def test_ports_stay_busy() -> None:
    lab = Lab(line=340)
    size = 8_000_000
    qa, _, equal = transfer(lab, size)
    assert equal
    on_the_wire = -(-size // 4096) * 340 / 4
    assert on_the_wire / (lab.now - 2 * lab.delay) > 0.99
    per_port = [sum(s.port == port for s in lab.data()) for port in range(4)]
    assert max(per_port) - min(per_port) <= 4
    assert qa.rtt.smoothed_ns < 2 * lab.delay + 6 * 340


def test_nothing_can_be_sent_before_the_connection() -> None:
    lab = Lab()
    qp = lab.nics[0].create_qp()
    with pytest.raises(QpStateError, match="cannot send in INIT"):
        qp.post_write(1, b"x", 0, 0, now_ns=0)
    with pytest.raises(QpStateError):
        lab.pair()[0].connect(qp.info(), 0)


def test_equal_seeds_send_equal_frames() -> None:
    frames = []
    for _ in range(2):
        lab = Lab(line=340, seed=5)
        lab.rule(lab.losing(0.03))
        transfer(lab, 300_000)
        frames.append([(s.now, s.port, s.frame) for s in lab.sent])
    assert frames[0] == frames[1]
