# SPDX-License-Identifier: Apache-2.0
"""Proves how losses are found and repaired end to end: rules, probes, timer, and the way out."""

import random

import pytest
from engine_lab import Lab, Sent, fabric_with, transfer

from endpoint.ev_states import EvState
from endpoint.events import EvChanged, QpChanged, WorkStatus
from endpoint.queue_pair import QpConfig, QpState
from endpoint.wire import opcodes
from topologies.sids import ev_plane


def drop(lab: Lab, *places: int) -> list[Sent]:
    """Loses exactly the data packets with these places among all data packets of host 0."""
    dropped: list[Sent] = []
    count = iter(range(1_000_000))

    def rule(sent: Sent):
        if sent.source == 0 and sent.parsed.is_data and next(count) in places:
            dropped.append(sent)
            return []
        return None

    lab.rule(rule)
    return dropped


def resent(lab: Lab) -> list[Sent]:
    return [s for s in lab.data() if s.parsed.rtx]


def test_a_loss_is_found_by_the_next_arrival_on_its_path() -> None:
    lab = Lab(line=340)
    dropped = drop(lab, 20)
    qa, _, equal = transfer(lab, 1_000_000)
    assert equal
    assert (qa.stats.lost_same_path, qa.stats.lost) == (1, 1)
    [again], [lost] = resent(lab), dropped
    assert again.parsed.psn == lost.parsed.psn
    assert again.parsed.ev != lost.parsed.ev
    assert again.parsed.ack_request
    assert again.parsed.outer_dscp == lab.fabric.dscp.trimmable_retx
    assert lost.parsed.outer_dscp == lab.fabric.dscp.trimmable
    assert qa.evs.state(lost.parsed.ev) is EvState.ASSUMED_BAD
    changes = [e for e in lab.nics[0].events() if isinstance(e, EvChanged)]
    assert [(e.ev, e.new, e.cause) for e in changes] == [(lost.parsed.ev, "assumed_bad", "loss")]
    assert all(s.parsed.ev != lost.parsed.ev for s in lab.data() if s.now > again.now)


def test_without_a_later_packet_on_the_path_time_decides() -> None:
    lab = Lab(line=340)
    [lost] = [drop(lab, 2)]
    qa, _, equal = transfer(lab, 8 * 4096)
    assert equal
    assert (qa.stats.lost_by_time, qa.stats.lost, qa.stats.timeouts) == (1, 1, 0)
    [again] = resent(lab)
    assert again.now >= lost[0].now + qa.rtt.smoothed_ns + qa.rtt.reorder_ns - 500
    assert again.now < lost[0].now + 4 * qa.rtt.smoothed_ns


def test_the_last_packet_is_repaired_by_the_timer() -> None:
    lab = Lab(line=340)
    drop(lab, 7)
    qa, _, equal = transfer(lab, 8 * 4096)
    assert equal
    assert (qa.stats.timeouts, qa.stats.lost_by_timer, qa.stats.lost) == (1, 1, 1)
    assert lab.now > 1024 << 8


def test_lost_sacks_cost_nothing_when_later_ones_arrive() -> None:
    lab = Lab(line=340)
    rng = random.Random(3)
    lab.rule(lambda s: [] if s.parsed.sack and rng.random() < 0.3 else None)
    qa, qb, equal = transfer(lab, 2_000_000)
    assert equal
    assert qa.stats.retransmitted <= 1
    assert qb.stats.duplicates <= 1


@pytest.mark.fact("rel.loss-uncovered")
def test_what_no_sack_covers_is_probed_for_on_another_plane_not_sent_again() -> None:
    lab = Lab(room=1000)
    [lost] = [drop(lab, 3)]
    first = lab.nics[0]

    def late_sacks_only(sent: Sent):
        sack = sent.parsed.sack
        if sack is None or sack.probe_id is not None:
            return None
        cause = sack.cack_psn + sack.ack_psn_offset - qa.first_psn & 0xFFFFFF
        return None if cause >= 85 else []

    lab.rule(late_sacks_only)
    qa, qb = lab.pair()
    size = 90 * 4096
    data = random.Random(1).randbytes(size)
    region = lab.region(4, size)
    qa.post_write(1, data, region.va, region.rkey, now_ns=0)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    assert [s.parsed.psn for s in resent(lab)] == [lost[0].parsed.psn]
    probes = [s for s in lab.sent if s.parsed.opcode == opcodes.PROBE_REQUEST]
    cover = probes[0]
    assert cover.now < resent(lab)[0].now
    assert ev_plane(cover.parsed.ev) != ev_plane(lab.data()[0].parsed.ev)
    assert qb.stats.duplicates == 0
    assert qa.stats.lost == 1
    assert first.stats.malformed == 0


def test_everything_in_flight_vanishes_twice_and_it_still_completes() -> None:
    lab = Lab(line=340)
    gone: list[list[Sent]] = [[], []]

    def vanish(sent: Sent):
        if 20_000 <= sent.now < 40_000:
            phase = gone[0]
        elif (sent.now >= 40_000 and not gone[1] and sent.parsed.rtx) or (
            gone[1] and sent.now < gone[1][0].now + 20_000
        ):
            phase = gone[1]
        else:
            # No probe gets across either, so that all of it is left to the timer.
            return [] if sent.parsed.opcode == opcodes.PROBE_REQUEST else None
        phase.append(sent)
        return []

    lab.rule(vanish)
    qa, _, equal = transfer(lab, 4_000_000, imm=1)
    assert equal
    for phase in gone:
        assert sum(s.parsed.is_data for s in phase) > 30
    assert all(s.parsed.rtx for s in gone[1] if s.parsed.is_data)
    assert qa.stats.timeouts >= 1
    assert lab.completions[0][0].status is WorkStatus.SUCCESS
    assert lab.completions[4][0].byte_len == 4_000_000
    assert qa.requester.board.inflight == 0


def test_a_tail_whose_sacks_are_lost_is_asked_after_before_the_timer() -> None:
    lab = Lab(line=340)
    lab.rule(lambda sent: [] if sent.parsed.opcode == opcodes.SACK and sent.now < 20_000 else None)
    qa, qb, equal = transfer(lab, 40_000)
    assert equal
    assert qa.stats.timeouts == 0
    assert qa.stats.retransmitted == qb.stats.duplicates == 0
    assert 1 <= qa.stats.probes_sent <= 3


@pytest.mark.fact("rel.rtt")
def test_a_round_trip_of_100_ms_is_measured_as_100_ms() -> None:
    lab = Lab(delay=50_000_000)
    qa, _, equal = transfer(lab, 1_000_000, QpConfig(timeout=18))
    assert equal
    assert (qa.rtt.smoothed_ns, qa.rtt.min_ns) == (100_000_000, 100_000_000)
    assert qa.stats.timeouts == qa.stats.retransmitted == 0


def test_the_default_timer_follows_a_fabric_with_a_round_trip_of_100_ms() -> None:
    spec = Lab().fabric.spec
    delays = spec.delay_ns.model_copy(update={"nic_t0": 12_500_000, "t0_t1": 12_500_000})
    lab = Lab(fabric_with(delay_ns=delays), delay=50_000_000)
    qa, _, equal = transfer(lab, 1_000_000)
    assert equal
    assert qa.rtt.smoothed_ns == 100_000_000
    assert qa.stats.timeouts == 0


def test_a_round_trip_far_above_the_timer_is_still_measured_and_learned() -> None:
    lab = Lab(delay=50_000_000)
    qa, _, equal = transfer(lab, 100_000, QpConfig(timeout=8))
    assert equal
    assert qa.rtt.min_ns == 100_000_000
    assert qa.stats.timeouts > 0  # 262 µs was too short until the first answer came


@pytest.mark.fact("rel.timer")
def test_a_dead_peer_ends_in_error_after_linear_and_doubled_waits() -> None:
    lab = Lab()
    lab.rule(lambda sent: [])
    config = QpConfig(linear_retries=3, exponential_retries=2)
    qa, qb = lab.pair(config=config)
    region = lab.region(4, 100_000)
    for wr_id in range(3):
        qa.post_write(wr_id, bytes(30_000), region.va, region.rkey, now_ns=0)
    qa.post_recv(77, 0)
    lab.run(until=5_000_000)
    assert qa.state is QpState.ERROR
    assert qa.error_reason == "retry exceeded"
    assert [(c.wr_id, c.status) for c in lab.completions[0]] == [
        (0, WorkStatus.RETRY_EXCEEDED),
        (1, WorkStatus.FLUSHED),
        (2, WorkStatus.FLUSHED),
        (77, WorkStatus.FLUSHED),
    ]
    unit = 1024 << 8
    fired = sorted({s.now // unit for s in resent(lab)})
    assert fired == [1, 2, 3, 4, 6]
    assert lab.completions[0][0].time_ns // unit == 10
    moves = [e.new for e in lab.nics[0].events() if isinstance(e, QpChanged)]
    assert moves == ["init", "rtr", "rts", "error"]
    assert qb.state is QpState.RTS
    assert qa.next_timer_ns() is None


def test_heavy_loss_only_slows_it_down() -> None:
    lab = Lab(line=340)
    lab.rule(lab.losing(0.3))
    qa, _, equal = transfer(lab, 500_000)
    assert equal
    assert qa.stats.lost > 20
    assert len(qa.evs.active()) >= qa.evs.min_active
    assert qa.requester.board.inflight == 0


def test_an_arrival_after_the_loss_was_declared_is_counted_once() -> None:
    lab = Lab(line=340)

    def late(sent: Sent):
        if sent.source == 0 and sent.parsed.is_data and sent.parsed.psn == qa.first_psn:
            return [(40_000, sent.frame)] if not sent.parsed.rtx else None
        return None

    qa, qb = lab.pair()
    lab.rule(late)
    size = 1_000_000
    data = random.Random(1).randbytes(size)
    region = lab.region(4, size)
    qa.post_write(1, data, region.va, region.rkey, now_ns=0)
    lab.run(until=400_000)
    assert bytes(region.buffer) == data
    assert qb.stats.duplicates == 1
    assert qa.stats.acknowledged == -(-size // 4096)
    assert qa.requester.loss.inflight == 0
    assert qa.requester.board.inflight == 0


@pytest.mark.fact("rel.oldest")
def test_the_oldest_hole_is_repaired_first() -> None:
    lab = Lab(line=340)
    lost = drop(lab, *range(8))
    qa, _, equal = transfer(lab, 8 * 4096)
    assert equal
    again = [s.parsed.psn - qa.first_psn & 0xFFFFFF for s in resent(lab)]
    assert len(lost) == 8
    assert again == list(range(8))
