# SPDX-License-Identifier: Apache-2.0
"""Proves what a trimmed packet and each NACK cause, and that they cause nothing else."""

import random

import pytest
from engine_lab import Lab, Sent, trimmed, with_class

from endpoint.ev_states import EvState
from endpoint.events import EvChanged, WorkStatus
from endpoint.queue_pair import QpState
from endpoint.wire import nack as reasons
from endpoint.wire.nack import Nack
from endpoint.wire.sack import MARK_SKIP_ONCE

SIZE = 1_000_000


def prepared(rule) -> tuple:
    lab = Lab(line=340)
    qa, qb = lab.pair()
    data = random.Random(1).randbytes(SIZE)
    region = lab.region(4, SIZE)
    lab.rule(rule(lab, qa))
    qa.post_write(1, data, region.va, region.rkey, now_ns=0)
    return lab, qa, qb, region, data


def once(lab: Lab, qa, change):
    """A rule that changes the first sending of the 21st packet."""

    def rule(sent: Sent):
        parsed = sent.parsed
        if parsed.is_data and not parsed.rtx and parsed.psn == (qa.first_psn + 20) & 0xFFFFFF:
            return [(lab.delay, change(sent.frame))]
        return None

    return rule


@pytest.mark.fact("nack.trimmed", "nack.trimmed-lasthop")
@pytest.mark.parametrize("last_hop", [False, True])
def test_a_cut_packet_is_nacked_and_sent_again_on_another_path(last_hop: bool) -> None:
    lab, qa, qb, region, data = prepared(
        lambda lab, qa: once(lab, qa, lambda f: trimmed(lab.fabric, f, last_hop))
    )
    start_window = qa.requester.congestion.window
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    [nack] = [s.parsed.nack for s in lab.sent if s.parsed.nack]
    first, again = [s for s in lab.data() if s.parsed.psn == nack.nack_psn]
    assert nack.reason == (reasons.TRIMMED_LASTHOP if last_hop else reasons.TRIMMED)
    assert nack.ev == first.parsed.ev
    assert nack.tx_timestamp == first.parsed.tx_timestamp
    assert again.parsed.rtx
    assert again.parsed.ev != first.parsed.ev
    assert qa.stats.lost == qa.stats.timeouts == 0
    assert (qa.stats.nacks_trimmed, qa.stats.nacks_trimmed_last_hop) == (
        (0, 1) if last_hop else (1, 0)
    )
    assert qb.stats.trimmed_received == 1
    changes = [e.new for e in lab.nics[0].events() if isinstance(e, EvChanged)]
    assert changes == ([] if last_hop else ["skip", "good"])
    assert qa.requester.congestion.window < start_window


@pytest.mark.fact("rel.trimmed-state")
def test_a_trimmed_packet_changes_no_state_of_the_receiver() -> None:
    lab = Lab(room=1000)
    qa, qb = lab.pair()
    region = lab.region(4, SIZE)
    qa.post_write(1, b"x" * SIZE, region.va, region.rkey, now_ns=0)
    lab.rule(lambda sent: [])
    lab.pump(0)
    for sent in lab.data():
        lab.nics[4].receive(sent.port, trimmed(lab.fabric, sent.frame), 0)
    responder = qb.responder
    assert (responder.received.cack + 1) & 0xFFFFFF == qa.first_psn
    assert responder.received.bits == responder._received_bytes == 0
    assert bytes(region.buffer) == bytes(SIZE)
    assert qb.stats.data_received == 0
    assert qb.stats.nacks_sent == len(lab.data())


def test_a_cut_packet_under_any_dscp_is_taken_as_trimmed() -> None:
    lab, _, qb, region, data = prepared(lambda lab, qa: once(lab, qa, lambda f: f[:142]))
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    assert qb.stats.trimmed_received == 1


@pytest.mark.fact("rel.whole-trimmed")
def test_a_whole_frame_under_a_trimmed_dscp_is_placed_and_sacked_with_skip_once() -> None:
    lab, qa, qb, region, data = prepared(
        lambda lab, qa: once(lab, qa, lambda f: with_class(f, lab.fabric.dscp.trimmed))
    )
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    assert qa.stats.retransmitted == 0
    assert qb.stats.whole_under_trimmed_dscp == 1
    sacks = [s.parsed.sack for s in lab.sent if s.parsed.sack]
    assert [s.mark for s in sacks].count(MARK_SKIP_ONCE) == 1


@pytest.mark.fact("nack.not-outstanding")
def test_a_nack_for_what_is_not_in_flight_is_ignored() -> None:
    lab, qa, qb, region, data = prepared(lambda lab, qa: lambda sent: None)
    lab.run(until=6_000)
    inflight = qa.requester.loss.inflight
    sent = next(
        s
        for s in lab.data()
        if qa.requester.loss.find(s.parsed.psn, s.parsed.ev, s.parsed.tx_timestamp)
    )
    psn, ev, tick = sent.parsed.psn, sent.parsed.ev, sent.parsed.tx_timestamp
    for nack in (
        Nack((qa.first_psn - 1) & 0xFFFFFF, reasons.TRIMMED, ev, tick),
        Nack(psn, reasons.TRIMMED, ev ^ 1, tick),
        Nack(psn, reasons.TRIMMED, ev, tick ^ 1),
        Nack((qa.first_psn + 4000) & 0xFFFFFF, reasons.UNEXP_EVENT, ev, tick),
    ):
        qa.requester.on_nack(nack, lab.now)
    assert qa.stats.nacks_ignored == 4
    assert qa.requester.loss.inflight == inflight
    qa.requester.on_nack(Nack(psn, reasons.TRIMMED, ev, tick), lab.now)
    qa.requester.on_nack(Nack(psn, reasons.TRIMMED, ev, tick), lab.now)
    assert qa.stats.nacks_ignored == 5
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    assert qa.stats.nacks_trimmed == 1
    assert qb.stats.duplicates <= 1


def test_everything_trimmed_for_a_while_completes_without_a_loss_or_a_timer() -> None:
    def rule(lab, qa):
        def cut(sent: Sent):
            if sent.parsed.is_data and sent.now < 60_000:
                return [(lab.delay - 1_000, trimmed(lab.fabric, sent.frame))]
            return None

        return cut

    lab, qa, _, region, data = prepared(rule)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    assert qa.stats.lost == qa.stats.timeouts == 0
    assert all(qa.evs.state(ev) is not EvState.ASSUMED_BAD for ev in qa.evs.all_evs())
    assert qa.requester.board.inflight == 0


@pytest.mark.fact("rel.loss-lasthop")
def test_a_loss_beside_last_hop_trims_does_not_retire_the_path() -> None:
    def rule(lab, qa):
        def cut_or_lose(sent: Sent):
            offset = sent.parsed.psn - qa.first_psn & 0xFFFFFF
            if not sent.parsed.is_data or sent.parsed.rtx or not 20 <= offset < 60:
                return None
            if offset == 40:
                return []  # the trimmed header itself was dropped
            return [(lab.delay, trimmed(lab.fabric, sent.frame, last_hop=True))]

        return cut_or_lose

    lab, qa, _, region, data = prepared(rule)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    assert qa.stats.lost == 1
    assert qa.stats.nacks_trimmed_last_hop == 39
    assert not [e for e in lab.nics[0].events() if isinstance(e, EvChanged)]


@pytest.mark.fact("nack.resend-later")
@pytest.mark.parametrize(
    "reason", [reasons.NO_BITMAP, reasons.NO_PKT_BUFFER, reasons.PSN_OOR_WINDOW, 0x77]
)
def test_other_reasons_are_sent_again_a_little_later(reason: int) -> None:
    lab, qa, _, _, _ = prepared(lambda lab, qa: lambda sent: [])
    lab.pump(0)
    lab.rules.clear()
    first = lab.data()[0]
    parsed = first.parsed
    before = qa.requester.congestion.window
    qa.requester.on_nack(Nack(parsed.psn, reason, parsed.ev, parsed.tx_timestamp), 5_000)
    lab.nics[0].wake(qa)
    assert qa.requester.congestion.window == before
    assert qa.requester.next_timer_ns() == 5_000 + qa.rtt.loss_delay_ns
    lab.run(done=lambda: any(s.parsed.rtx and s.parsed.psn == parsed.psn for s in lab.sent))
    assert lab.now >= 5_000 + qa.rtt.loss_delay_ns
    assert qa.evs.state(parsed.ev) is EvState.GOOD


@pytest.mark.fact("nack.unexpected")
def test_an_unexpected_event_is_fatal() -> None:
    lab, qa, _, _, _ = prepared(lambda lab, qa: lambda sent: None)
    lab.pump(0)
    parsed = lab.data()[3].parsed
    qa._take_nack(Nack(parsed.psn, reasons.UNEXP_EVENT, parsed.ev, parsed.tx_timestamp), 100)
    assert qa.state is QpState.ERROR
    assert [c.status for c in lab.nics[0].poll_completions()] == [WorkStatus.FATAL_NACK]
