# SPDX-License-Identifier: Apache-2.0
"""Proves when a SACK is sent, what it says, and where its bitmap starts."""

import pytest
from engine_lab import Lab, Sent, fabric_with, marked

from endpoint.ev_states import EvState
from endpoint.probes import ProbePurpose
from endpoint.queue_pair import QpConfig
from endpoint.responder import ResponderConfig
from endpoint.wire import nack, opcodes
from endpoint.wire.sack import MARK_ALWAYS_SKIP, MARK_NONE, MARK_SKIP_ONCE, rcvd_units


class Receiving:
    """One sender whose packets are handed over one by one, and the SACKs they cause."""

    def __init__(
        self, mtu: int = 256, packets: int = 200, units: int = 8, bitmap: int | None = None
    ) -> None:
        self.lab = Lab(fabric_with(path_mtu=mtu), room=10_000)
        config = QpConfig(
            first_psn=0, responder=ResponderConfig(mpr_units=units, bitmap_psns=bitmap)
        )
        self.qa, self.qb = self.lab.pair(config=config)
        size = mtu * packets
        self.region = self.lab.region(4, size)
        self.qa.requester.congestion.window = 1 << 30
        self.qa.post_write(1, bytes(size), self.region.va, self.region.rkey, now_ns=0)
        self.lab.rule(lambda sent: [])
        self.lab.pump(0)
        self.frames = {s.parsed.psn: s for s in self.lab.data()}

    def give(self, psn: int, frame: bytes | None = None) -> list[Sent]:
        """Hands a packet to the receiver; the control packets that follow."""
        sent = self.frames[psn]
        before = len(self.lab.sent)
        self.lab.nics[4].receive(sent.port, frame or sent.frame, self.lab.now)
        self.lab.pump(4)
        return [s for s in self.lab.sent[before:] if s.source == 4]


def rtx(sent: Sent, qa: object) -> bytes:
    """The same packet as a retransmission (same EV; the responder cannot know)."""
    parsed = sent.parsed
    return qa.paths.template(parsed.ev).build(  # type: ignore[attr-defined]
        parsed.opcode, parsed.psn, 0x20, parsed.va, parsed.rkey, parsed.msn, parsed.rqmsn,
        parsed.payload, None, parsed.tx_timestamp,
    )  # fmt: skip


@pytest.mark.fact("rel.sack-bytes")
def test_small_packets_count_1024_bytes_each_and_4096_make_a_sack() -> None:
    r = Receiving(mtu=256)
    assert [len(r.give(psn)) for psn in range(8)] == [0, 0, 0, 1, 0, 0, 0, 1]


@pytest.mark.fact("sack.mpr")
def test_full_packets_cause_a_sack_each() -> None:
    r = Receiving(mtu=4096, packets=10)
    [answer] = r.give(0)
    sack = answer.parsed.sack
    assert answer.parsed.opcode == opcodes.SACK
    assert answer.parsed.psn == sack.cack_psn == 0
    assert answer.parsed.outer_dscp == r.lab.fabric.dscp.control
    assert answer.parsed.dest_qp == r.qa.qpn
    assert (sack.ack_psn_offset, sack.sack_offset, sack.bitmap) == (0, 1, 0)
    assert sack.ev == r.frames[0].parsed.ev
    assert sack.tx_timestamp == r.frames[0].parsed.tx_timestamp
    assert sack.mark == MARK_NONE
    assert sack.mpr_units == 8
    assert sack.rcvd_units == rcvd_units(4096 + 88)


@pytest.mark.fact("sack.skip-once")
def test_a_mark_causes_a_sack_that_says_skip_once() -> None:
    r = Receiving()
    [answer] = r.give(0, marked(r.frames[0].frame))
    assert answer.parsed.sack.mark == MARK_SKIP_ONCE
    assert r.qb.stats.marked_received == 1


@pytest.mark.fact("rel.sack-rtx")
def test_a_retransmission_causes_a_sack_that_starts_at_the_first_hole() -> None:
    r = Receiving()
    for psn in range(1, 100):
        r.give(psn)
    [answer] = r.give(150, rtx(r.frames[150], r.qa))
    sack = answer.parsed.sack
    assert (sack.cack_psn, sack.sack_offset) == (0xFFFFFF, 1)
    assert sack.ack_psn == 150
    assert sack.bitmap == (1 << 64) - 2  # PSN 0 is missing, 1 to 63 are there


@pytest.mark.fact("rel.sack-slide")
def test_other_sacks_slide_so_that_their_cause_fits() -> None:
    r = Receiving()
    answers = [a for psn in range(1, 101) for a in r.give(psn)]
    sack = answers[-1].parsed.sack
    assert sack.ack_psn == 100
    assert sack.bitmap_base == 100 - 63
    assert sack.bitmap == (1 << 64) - 1
    assert sack.ooo_count == 100


@pytest.mark.fact("rel.sack-ack-request")
def test_the_ack_request_bit_causes_a_sack_and_ends_every_message() -> None:
    r = Receiving(packets=3)
    assert [s.parsed.ack_request for s in r.frames.values()] == [False, False, True]
    assert [len(r.give(psn)) for psn in range(3)] == [0, 0, 1]


@pytest.mark.fact("rel.mpr")
def test_the_last_packet_that_the_window_allows_asks_for_an_acknowledgement() -> None:
    r = Receiving(packets=2000)
    assert len(r.frames) == 1024  # the maximum PSN range
    assert [psn for psn, s in r.frames.items() if s.parsed.ack_request] == [1023]


@pytest.mark.fact("rel.duplicate")
def test_duplicates_are_acknowledged_again_and_not_placed_again() -> None:
    r = Receiving()
    for psn in range(4):
        r.give(psn)
    r.region.buffer[:256] = b"x" * 256
    [answer] = r.give(0)
    assert answer.parsed.sack.ack_psn == 0
    assert answer.parsed.sack.ack_psn_offset == -3
    assert bytes(r.region.buffer[:256]) == b"x" * 256
    assert r.qb.stats.duplicates == 1
    assert answer.parsed.sack.rcvd_units == rcvd_units(4 * (256 + 88))


@pytest.mark.fact("nack.out-of-window")
def test_ahead_of_the_window_is_nacked_and_behind_it_is_sacked() -> None:
    r = Receiving(packets=400, units=1)
    assert len(r.frames) == 128
    for psn in range(1, 128):
        r.give(psn)
    ahead = r.qa.paths.template(r.frames[1].parsed.ev).build(
        opcodes.WRITE_MIDDLE, 128, 0, r.region.va, r.region.rkey, 0, 0, b"z" * 256, None, 0
    )
    [answer] = r.give(1, ahead)
    assert answer.parsed.nack.reason == 0x0B
    assert answer.parsed.nack.nack_psn == 128
    assert r.qb.stats.out_of_window == 1
    assert bytes(r.region.buffer[:256]) == bytes(256)
    r.give(0)
    [behind] = r.give(0)
    assert behind.parsed.sack.cack_psn == 127


@pytest.mark.fact("probe.answer")
def test_a_probe_is_answered_by_a_sack_for_each_64_psns_up_to_the_newest() -> None:
    r = Receiving()
    for psn in (*range(5), 10, 70, 150):
        r.give(psn)
    r.qa._send_probe(r.qa.evs.active()[0], ProbePurpose.COVER, 0)
    [(port, frame, urgent)] = r.lab.nics[0].frames_to_send(0, [0] * 4)
    assert urgent
    before = len(r.lab.sent)
    r.lab.nics[4].receive(port, frame, 0)
    r.lab.pump(4)
    sacks = [s.parsed.sack for s in r.lab.sent[before:]]
    assert [s.sack_offset for s in sacks] == [1, 65, 129]
    assert all(s.probe_id == sacks[0].probe_id is not None for s in sacks)
    seen = {s.bitmap_base + i for s in sacks for i in range(64) if s.bitmap >> i & 1}
    assert seen == {10, 70, 150}


@pytest.mark.fact("rel.mpr-follow")
def test_the_peers_window_follows_its_sacks() -> None:
    r = Receiving(packets=400, units=1)
    assert r.qa.requester.next_avoids(0) is None
    for psn in range(4):
        for answer in r.give(psn):
            r.lab.nics[0].receive(answer.port, answer.frame, 3_000)
    r.lab.pump(0)
    assert max(s.parsed.psn for s in r.lab.data()) == 3 + 128


@pytest.mark.fact("nack.no-bitmap-raised")
def test_what_the_bitmap_cannot_track_is_refused_until_cack_has_moved() -> None:
    r = Receiving(bitmap=4)
    [answer] = r.give(4)
    assert (answer.parsed.nack.reason, answer.parsed.nack.nack_psn) == (nack.NO_BITMAP, 4)
    assert r.give(3) == []
    r.give(0)
    assert r.qb.stats.nacks_sent == 1
    assert all(a.parsed.sack for a in r.give(4))
    assert r.qb.stats.nacks_sent == 1


@pytest.mark.fact("sack.always-skip")
def test_a_refused_ev_is_told_in_sacks_and_retired_by_the_sender() -> None:
    r = Receiving(mtu=4096, packets=10)
    ev = r.frames[0].parsed.ev
    r.qb.responder.refuse_ev(ev)
    [answer] = r.give(0)
    assert answer.parsed.sack.mark == MARK_ALWAYS_SKIP
    r.lab.nics[0].receive(answer.port, answer.frame, 3_000)
    assert r.qa.evs.state(ev) is EvState.ASSUMED_BAD
    r.qb.responder.refuse_ev(ev, refused=False)
    [answer] = r.give(0)
    assert answer.parsed.sack.mark == MARK_NONE
