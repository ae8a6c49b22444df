# SPDX-License-Identifier: Apache-2.0
"""Proves what answers to Reliability Probes teach, late ones and those among many included."""

from __future__ import annotations

import random

import pytest
from engine_lab import Lab, Sent

from endpoint.ev_states import EvState
from endpoint.events import WorkStatus
from endpoint.loss import Transmission
from endpoint.messages import Message
from endpoint.probes import ProbePurpose
from endpoint.queue_pair import QpConfig, QueuePair
from endpoint.responder import ResponderConfig
from endpoint.scoreboard import Scoreboard
from endpoint.wire import opcodes


def uncovered(lab: Lab) -> tuple[QueuePair, int]:
    """A transfer whose fourth packet is lost and covered by no SACK but a probe's answer, run
    until the probe for it has left; the sender, and the PSN."""
    lost: list[int] = []

    def rule(sent: Sent):
        sack = sent.parsed.sack
        if sent.source == 0 and sent.parsed.is_data:
            if not lost and len(lab.data()) == 4:
                lost.append(sent.parsed.psn)
                return []
        elif sack is not None and sack.probe_id is None:
            cause = sack.cack_psn + sack.ack_psn_offset - qa.first_psn & 0xFFFFFF
            return None if cause >= 85 else []
        return None

    lab.rule(rule)
    qa, _ = lab.pair()
    size = 90 * 4096
    region = lab.region(4, size)
    qa.post_write(1, random.Random(1).randbytes(size), region.va, region.rkey, now_ns=0)
    lab.run(done=lambda: any(s.parsed.opcode == opcodes.PROBE_REQUEST for s in lab.sent))
    return qa, lost[0]


def test_the_answer_tells_what_is_lost_however_many_probes_went_out_meanwhile() -> None:
    lab = Lab(room=1000)
    qa, psn = uncovered(lab)
    [cover] = [s for s in lab.sent if s.parsed.opcode == opcodes.PROBE_REQUEST]
    for _ in range(20):
        for ev in qa.evs.all_evs():
            qa._send_probe(ev, ProbePurpose.HEALTH, lab.now)
    lab.run(done=lambda: bool(lab.completions[0]))
    [again] = [s for s in lab.data() if s.parsed.rtx]
    assert again.parsed.psn == psn
    assert again.now == cover.now + 2 * lab.delay


def test_an_answer_that_comes_late_still_acknowledges() -> None:
    """After its time-out a probe's answer says nothing about its path, but what it shows is so."""
    lab = Lab(line=340)
    qa, _ = lab.pair()
    region = lab.region(4, 9_000)

    def only_late_probe_answers(sent: Sent):
        sack = sent.parsed.sack
        if sack is None:
            return None
        return [] if sack.probe_id is None else [(60_000, sent.frame)]

    lab.rule(only_late_probe_answers)
    qa.post_write(1, bytes(9_000), region.va, region.rkey, now_ns=0)
    ev = qa.evs.active()[0]
    lab.run(until=20_000)
    qa.evs.retire(ev, lab.now)
    lab.run(until=250_000)
    assert qa.stats.timeouts == 0
    assert [c.wr_id for c in lab.completions[0]] == [1]
    assert qa.evs.state(ev) is EvState.ASSUMED_BAD


@pytest.mark.fact("probe.covers")
@pytest.mark.parametrize("run", [64, 127, 300])
def test_any_number_of_losses_in_a_row_is_repaired_without_the_timer(run: int) -> None:
    """Of more than 64 in a row, some are in no bitmap that has a later arrival in it too."""
    lab = Lab(line=330, delay=30_000)
    lab.keep = False
    count = iter(range(1_000_000))
    repaired: list[int] = []

    def rule(sent: Sent):
        if sent.source or not sent.parsed.is_data:
            return None
        if sent.parsed.rtx:
            repaired.append(sent.now)
            return None
        return [] if 100 <= next(count) < 100 + run else None

    lab.rule(rule)
    config = QpConfig(base_rtt_ns=60_000, timeout=12, responder=ResponderConfig(mpr_units=16))
    qa, qb = lab.pair(config=config)
    size = 800 * 4096
    region = lab.region(4, size)
    qa.post_write(1, bytes(size), region.va, region.rkey, now_ns=0)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert qa.stats.timeouts == 0
    assert qa.stats.lost == run and qb.stats.duplicates == 0
    assert max(repaired) - min(repaired) < 3 * qa.rtt.loss_delay_ns


def test_an_answer_covers_no_psn_beyond_the_newest_known_arrival() -> None:
    board = Scoreboard(0, lambda latest, now: None)
    message = Message(0, memoryview(bytes(100)), 0, 0, None, 1, 0, 0, 0)
    for psn in range(100):
        board.loss.sent(Transmission(psn, message, 7, psn, psn + 1, 1, 0, True, None))
    lost: list[Transmission] = []
    board.take_bitmap(1 << 7, 73, 100, 0, 200, lost)  # PSN 80 has arrived
    board.take_bitmap(0, 0, 100, 50, 300, lost, answers_probe=True)
    missing = [psn for psn, sent in board.loss.current.items() if sent.missing]
    assert missing == list(range(49))  # what was sent before the probe
    board.take_bitmap(0, 64, 100, 1_000, 300, lost, answers_probe=True)
    missing = [psn for psn, sent in board.loss.current.items() if sent.missing]
    assert missing == [*range(49), *range(64, 80)]
    board.take_bitmap(0, 0, 100, 1_000, 400, lost)  # no answer to a probe: nothing is covered
    assert [psn for psn, sent in board.loss.current.items() if sent.missing] == missing


def test_an_idle_connection_learns_from_late_answers_how_far_its_peer_is() -> None:
    """40 times the fabric's base: all answers came too late, no path came back, and without a
    path no data could be sent to measure with."""
    lab = Lab("rack16", delay=100_000)
    lab.keep = False
    qa, qb = lab.pair()
    lab.nics[0].port_down(0, lab.now)
    lab.run(until=1_000_000)
    lab.nics[0].port_up(0, lab.now)
    lab.run(until=4_000_000)
    assert qa.rtt.smoothed_ns == qb.rtt.smoothed_ns == 200_000
    assert qa.evs.usable_planes() == qb.evs.usable_planes() == [0]
    region = lab.region(4, 1_000)
    qa.post_write(1, bytes(1_000), region.va, region.rkey, now_ns=lab.now)
    lab.run(until=lab.now + 250_000)
    assert [c.status for c in lab.completions[0]] == [WorkStatus.SUCCESS]


def test_a_receiver_learns_from_late_answers_how_far_its_peer_is() -> None:
    lab = Lab("rack16", delay=100_000, line=330)
    lab.keep = False
    qa, qb = lab.pair()
    size = 8_000_000
    region = lab.region(4, size)
    qa.post_write(1, bytes(size), region.va, region.rkey, now_ns=0)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert qb.rtt.smoothed_ns == 200_000
    assert not qb.reverse.in_doubt(0)
