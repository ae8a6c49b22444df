# SPDX-License-Identifier: Apache-2.0
"""Proves that a forbidden write changes nothing, ends both queue pairs, and flushes in order."""

import random

import pytest
from engine_lab import Lab, with_class

from endpoint.events import WorkOpcode, WorkStatus
from endpoint.memory import Access
from endpoint.queue_pair import QpConfig, QpState


@pytest.mark.fact("rel.access")
@pytest.mark.parametrize("fault", ["rkey", "below", "above", "right", "forgotten"])
def test_a_violation_writes_nothing_and_both_ends_go_to_error(fault: str) -> None:
    lab = Lab(line=340)
    qa, qb = lab.pair()
    access = Access.LOCAL_WRITE if fault == "right" else Access.REMOTE_WRITE
    region = lab.region(4, 50_000, access)
    rkey = region.rkey ^ (fault == "rkey")
    va = region.va + {"below": -1, "above": 1}.get(fault, 0)
    if fault == "forgotten":
        lab.nics[4].memory.deregister(region.rkey)
    qb.post_recv(70)
    qb.post_recv(71)
    other = lab.region(4, 10)
    qa.post_write(0, b"fine", other.va, other.rkey, now_ns=0)
    lab.run(done=lambda: bool(lab.completions[0]))
    size = 50_000 if fault in ("below", "above") else 10
    qa.post_write(1, b"x" * size, va, rkey, now_ns=lab.now)
    qa.post_write(2, b"later", other.va, other.rkey, imm=3, now_ns=lab.now)
    lab.run(until=lab.now + 200_000)
    assert bytes(region.buffer) == bytes(50_000) if fault != "above" else True
    assert qa.state is qb.state is QpState.ERROR
    assert [(c.wr_id, c.status) for c in lab.completions[0]] == [
        (0, WorkStatus.SUCCESS),
        (1, WorkStatus.REMOTE_ACCESS_ERROR),
        (2, WorkStatus.FLUSHED),
    ]
    assert [(c.wr_id, c.opcode, c.status) for c in lab.completions[4]] == [
        (70, WorkOpcode.RECV_WRITE_IMM, WorkStatus.FLUSHED),
        (71, WorkOpcode.RECV_WRITE_IMM, WorkStatus.FLUSHED),
    ]
    assert qb.stats.access_errors == 1
    naks = [s.parsed.aeth for s in lab.sent if s.parsed.aeth]
    assert [n.syndrome for n in naks] == [0x62]


@pytest.mark.fact("rel.flush")
def test_in_error_posts_are_flushed_and_packets_are_dropped_and_counted() -> None:
    lab = Lab(line=340)
    qa, qb = lab.pair()
    region = lab.region(4, 1_000_000)
    qa.post_write(1, bytes(1_000_000), region.va, region.rkey, now_ns=0)
    lab.run(until=20_000)
    qb.fail(WorkStatus.FLUSHED, "operator", lab.now)
    frames_before = qb.stats.data_received
    lab.run(until=40_000)
    assert qb.stats.data_received == frames_before
    assert qb.stats.dropped_in_state > 0
    qb.post_recv(8, lab.now)
    qb.post_write(9, b"x", 0, 0, now_ns=lab.now)
    lab.pump(4)
    assert [(c.wr_id, c.status) for c in lab.completions[4]] == [
        (8, WorkStatus.FLUSHED),
        (9, WorkStatus.FLUSHED),
    ]


def test_a_wrong_icrc_is_dropped_and_counted() -> None:
    lab = Lab(line=340)
    qa, _ = lab.pair()
    data = random.Random(1).randbytes(100_000)
    region = lab.region(4, 100_000)
    count = iter(range(10_000))

    def flip(sent):
        if sent.parsed.is_data and next(count) % 5 == 0:
            damaged = bytearray(sent.frame)
            damaged[-20] ^= 1
            return [(lab.delay, bytes(damaged))]
        return None

    lab.rule(flip)
    qa.post_write(1, data, region.va, region.rkey, now_ns=0)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    assert lab.nics[4].stats.icrc_errors >= 5


def test_frames_for_others_are_counted_and_touch_nothing() -> None:
    lab = Lab(hosts=(0, 4, 5), line=340)
    qa, _ = lab.pair(0, 4)
    lab.rule(lambda sent: [])
    region = lab.region(4, 100)
    qa.post_write(1, b"x" * 100, region.va, region.rkey, now_ns=0)
    lab.pump(0)
    frame = lab.data()[0].frame
    lab.nics[5].receive(0, frame, 0)  # a frame that went astray
    assert lab.nics[5].stats.wrong_address == 1
    nic = lab.nics[4]
    nic.receive(0, b"\x00" * 60, 0)
    nic.receive(0, with_class(frame, 4)[:80], 0)
    assert nic.stats.malformed == 2
    nic.destroy_qp(16, 0)
    nic.receive(0, frame, 0)
    assert nic.stats.unknown_qp == 1
    third = lab.nics[4].create_qp()
    third.connect(lab.nics[5].create_qp().info(), 0)
    stray = bytearray(frame)
    nic._qps[16] = third  # as if its number had been given to another peer
    nic.receive(0, bytes(stray), 0)
    assert nic.stats.wrong_peer == 1
    assert bytes(region.buffer) == bytes(100)


@pytest.mark.fact("rel.qpn-rest")
def test_a_qp_number_rests_until_a_peer_that_knows_nothing_has_given_up() -> None:
    """Twice the longest timer at least; a session of a soak lost data to a predecessor's packets
    when it was no more than that."""
    lab = Lab()
    nic = lab.nics[0]
    first = nic.create_qp(QpConfig(timeout=8, linear_retries=2, exponential_retries=1))
    timer = 1024 << 8
    rest = (1 + 1 + 1 + 2) * timer + first.retry.longest_ns
    assert rest >= 2 * first.retry.longest_ns == 4 * timer
    nic.destroy_qp(first.qpn, 1_000)
    assert first.state is QpState.RESET
    assert nic.qp(first.qpn) is None
    nic.on_timer(1_000 + rest - 1)
    assert nic.create_qp().qpn != first.qpn
    nic.on_timer(1_000 + rest)
    assert nic.create_qp().qpn == first.qpn


def test_the_number_of_a_qp_whose_peer_never_gives_up_is_not_used_again() -> None:
    nic = Lab().nics[0]
    first = nic.create_qp(QpConfig(exponential_retries=25))
    nic.destroy_qp(first.qpn, 0)
    nic.on_timer(1 << 62)
    assert nic.create_qp().qpn != first.qpn


@pytest.mark.fact("rel.qpn-rest")
def test_packets_of_a_peer_that_goes_on_do_not_reach_a_successor() -> None:
    """Both have the same first PSN, so that only the rest of the number keeps them apart."""
    lab = Lab()
    config = QpConfig(timeout=8, linear_retries=2, exponential_retries=1, first_psn=5)
    qa, qb = lab.pair(0, 4, config)
    old, new = lab.region(4, 4096), lab.region(4, 4096)
    lab.rule(lambda sent: [] if sent.source == 4 else None)  # it hears nothing any more
    qa.post_write(1, b"\1" * 4096, old.va, old.rkey, now_ns=lab.now)
    lab.nics[4].destroy_qp(qb.qpn, lab.now)
    while qa.state is QpState.RTS:
        successor = lab.nics[4].create_qp(config)
        assert successor.qpn != qb.qpn
        assert lab.step()
    assert bytes(new.buffer) == bytes(4096)


@pytest.mark.fact("rel.first-psn")
def test_first_psns_are_random() -> None:
    lab = Lab()
    assert len({lab.nics[0].create_qp().first_psn for _ in range(20)}) == 20
