# SPDX-License-Identifier: Apache-2.0
"""Proves what answers to Reliability Probes teach, late ones and those among many included."""

from __future__ import annotations

import random

from engine_lab import Lab, Sent

from endpoint.ev_states import EvState
from endpoint.probes import ProbePurpose
from endpoint.queue_pair import QueuePair
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
