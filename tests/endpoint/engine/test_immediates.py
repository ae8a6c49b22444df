# SPDX-License-Identifier: Apache-2.0
"""Proves that WRITE_IMM completes in order, after everything before it, and consumes a receive."""

import random

import pytest
from engine_lab import Lab, Sent

from endpoint.events import WorkStatus
from endpoint.queue_pair import QpConfig
from endpoint.responder import ResponderConfig
from endpoint.wire import nack as reasons


@pytest.mark.fact("rel.imm-order")
def test_an_immediate_waits_for_all_that_was_sent_before_it() -> None:
    lab = Lab(line=340)
    qa, qb = lab.pair()
    data = random.Random(1).randbytes(100_000)
    region = lab.region(4, 200_000)
    held: list[Sent] = []

    def hold(sent: Sent):
        if sent.parsed.is_data and not sent.parsed.rtx and sent.parsed.psn == qa.first_psn:
            held.append(sent)
            return [(60_000, sent.frame)]
        # Whatever is sent for it again is lost, so that only the late one can fill the hole.
        return [] if sent.parsed.is_data and sent.parsed.psn == qa.first_psn else None

    lab.rule(hold)
    qb.post_recv(5)
    qb.post_recv(6)
    qa.post_write(1, data, region.va, region.rkey, now_ns=0)
    qa.post_write(2, b"flag", region.va + 150_000, region.rkey, imm=11, now_ns=0)
    qa.post_write(3, b"", 0, 0, imm=12, now_ns=0)
    lab.run(until=held[0].now + 50_000 if held else 50_000)
    assert bytes(region.buffer[150_000:150_004]) == b"flag"
    assert lab.completions[4] == []
    lab.run(done=lambda: len(lab.completions[4]) == 2)
    assert bytes(region.buffer[:100_000]) == data
    assert [(c.wr_id, c.imm, c.byte_len) for c in lab.completions[4]] == [(5, 11, 4), (6, 12, 0)]


@pytest.mark.fact("rel.imm-order")
def test_immediates_complete_in_the_order_sent_under_loss() -> None:
    lab = Lab(line=340)
    qa, qb = lab.pair()
    region = lab.region(4, 20_000)
    lab.rule(lab.losing(0.1))
    for i in range(100):
        qb.post_recv(i)
        qa.post_write(i, bytes(i * 150), region.va, region.rkey, imm=1000 + i, now_ns=0)
    lab.run(done=lambda: len(lab.completions[4]) == 100 and len(lab.completions[0]) == 100)
    assert [(c.wr_id, c.imm, c.byte_len) for c in lab.completions[4]] == [
        (i, 1000 + i, i * 150) for i in range(100)
    ]
    assert [c.wr_id for c in lab.completions[0]] == list(range(100))


@pytest.mark.fact("nack.no-resource")
def test_without_a_receive_some_are_kept_and_more_are_refused_until_one_is_posted() -> None:
    lab = Lab(line=340)
    config = QpConfig(responder=ResponderConfig(max_wimm=3))
    qa, qb = lab.pair(config=config)
    region = lab.region(4, 64)
    for i in range(6):
        qa.post_write(i, b"x", region.va + i, region.rkey, imm=i, now_ns=0)
    lab.run(until=100_000)
    assert len(lab.completions[0]) == 3
    assert lab.completions[4] == []
    refused = {s.parsed.nack.reason for s in lab.sent if s.parsed.nack}
    assert refused == {reasons.NO_RESOURCE}
    assert bytes(region.buffer[:6]) == b"xxx\0\0\0"
    for i in range(6):
        qb.post_recv(i, lab.now)
    lab.run(done=lambda: len(lab.completions[0]) == 6 and len(lab.completions[4]) == 6)
    assert [c.imm for c in lab.completions[4]] == list(range(6))
    assert all(c.status is WorkStatus.SUCCESS for c in lab.completions[4])
    assert bytes(region.buffer[:6]) == b"xxxxxx"
    assert qa.stats.lost == 0


def test_places_go_by_the_order_of_sending_so_that_a_late_one_is_never_kept_out() -> None:
    lab = Lab(line=340)
    config = QpConfig(responder=ResponderConfig(max_wimm=1))
    qa, qb = lab.pair(config=config)
    for i in range(3):
        qb.post_recv(i)
    lose_first = iter([True])
    lab.rule(lambda s: [] if s.parsed.imm == 0 and next(lose_first, False) else None)
    for i in range(8):
        qa.post_write(i, b"", 0, 0, imm=i, now_ns=0)
    lab.run(until=2_000_000)
    assert [c.imm for c in lab.completions[4]] == [0, 1, 2]
    for i in range(3, 8):
        qb.post_recv(i, lab.now)
    lab.run(done=lambda: len(lab.completions[4]) == 8)
    assert [c.imm for c in lab.completions[4]] == list(range(8))


def test_refused_for_long_is_no_reason_to_give_up() -> None:
    lab = Lab(line=340)
    config = QpConfig(
        responder=ResponderConfig(max_wimm=0), linear_retries=1, exponential_retries=1
    )
    qa, qb = lab.pair(config=config)
    qa.post_write(1, b"", 0, 0, imm=9, now_ns=0)
    lab.run(until=3_000_000)
    assert qa.stats.timeouts == 0
    qb.post_recv(4, lab.now)
    lab.run(done=lambda: bool(lab.completions[4]))
    assert lab.completions[4][0].imm == 9
