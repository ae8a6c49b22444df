# SPDX-License-Identifier: Apache-2.0
"""Proves that a peer that breaks the rules, with every ICRC right, can crash or hang nothing.

Its packets pass all checks of form; what they say is wrong, or impossible, or about nothing.
"""

from __future__ import annotations

import random

import pytest
from engine_lab import Lab, fabric_with
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from endpoint.events import WorkStatus
from endpoint.memory import MemoryRegion
from endpoint.queue_pair import QpConfig, QpState, QueuePair
from endpoint.responder import ResponderConfig
from endpoint.wire import opcodes
from endpoint.wire.aeth import Aeth
from endpoint.wire.build import ControlTemplate, DataTemplate
from endpoint.wire.endpoint_message import EndpointRequest, EndpointResponse
from endpoint.wire.nack import Nack
from endpoint.wire.probe import Probe
from endpoint.wire.sack import Sack

GUARD = 64
SIZE = 6_000


class Forger:
    """Makes frames as the NIC at the other end of `victim`'s connection would."""

    def __init__(
        self,
        lab: Lab,
        source: int,
        victim: QueuePair,
        region: MemoryRegion,
        rng: random.Random,
    ) -> None:
        nic = lab.nics[source]
        own = nic.queue_pairs()[0]
        addresses = own._peer.route.addresses(own.evs.active()[0])
        self.lab, self.victim, self.region, self.rng = lab, victim, region, rng
        self.data = DataTemplate(addresses, victim.qpn, nic.dscp)
        self.control = ControlTemplate(addresses, victim.qpn, nic.dscp.control)

    def near(self, value: int, bits: int = 24) -> int:
        """A number of that many bits: mostly close to `value`, sometimes anywhere."""
        rng = self.rng
        reach = rng.choice([3, 3, 200, 40_000, 1 << bits - 1])
        return (value + rng.randint(-reach, reach)) & (1 << bits) - 1

    def frame(self) -> bytes:
        make = (self.sack, self.sack, self.nack, self.write, self.write, self.message, self.other)
        return self.rng.choice(make)()

    def sack(self) -> bytes:
        rng, board = self.rng, self.victim.requester.board
        outstanding = list(self.victim.requester.loss.current.values())
        cack = self.near(board.cack)
        ev, tick, offset = rng.getrandbits(32), rng.getrandbits(16), rng.randint(-32768, 32767)
        if outstanding and rng.random() < 0.7:
            named = rng.choice(outstanding)
            ev, tick = named.ev, named.tick
            offset = max(-32768, min(32767, (named.psn - cack + (1 << 23)) % (1 << 24) - (1 << 23)))
        probe = rng.choice([None, None, self.victim._probes._next_id - 1 & 0xFFFF, 77])
        return self.control.sack(
            Sack(
                cack_psn=cack,
                ev=ev,
                ack_psn_offset=0 if probe is not None else offset,
                sack_offset=rng.choice([1, 0, -1, 64, rng.randint(-32768, 32767)]),
                bitmap=rng.choice([0, 1, 1 << 63, rng.getrandbits(64)]),
                mark=rng.randrange(3),
                probe_id=probe,
                mpr_units=rng.choice([0, 1, 8, 255]),
                tx_timestamp=tick,
                rcvd_units=rng.choice([0, self.near(board._received_units)]),
                rcv_cwnd_pen=rng.choice([0, 127]),
                restore_cwnd=rng.random() < 0.1,
            )
        )

    def nack(self) -> bytes:
        rng, requester = self.rng, self.victim.requester
        reason = rng.choice([1, 2, 6, 7, 10, 11, 0, 99])
        outstanding = list(requester.loss.current.values())
        if outstanding:
            named = rng.choice(outstanding)
            return self.control.nack(Nack(named.psn & 0xFFFFFF, reason, named.ev, named.tick))
        return self.control.nack(Nack(self.near(requester.board.cack), reason, rng.getrandbits(32)))

    def write(self) -> bytes:
        rng, responder = self.rng, self.victim.responder
        opcode = rng.choice([o for o in range(256) if opcodes.IS_WRITE[o]])
        imm = rng.getrandbits(32) if opcodes.HAS_IMM[opcode] else None
        length = rng.choice([0, 1, 256, 700])
        return self.data.build(
            opcode,
            self.near(responder.received.cack),
            rng.choice([0, 0x80, 0x20, 0xA0]),
            self.region.va + rng.choice([0, 1, SIZE - length]),
            self.region.rkey,
            rng.choice([rng.randrange(4), rng.getrandbits(16)]),
            self.near(responder._finished, 16),
            rng.randbytes(length),
            imm,
            rng.choice([None, 5]),
        )

    def message(self) -> bytes:
        rng, peer = self.rng, self.victim._peer
        op = rng.randrange(2)
        if rng.random() < 0.5:
            request = EndpointRequest(op, rng.getrandbits(32))
            return self.control.endpoint_request(rng.getrandbits(16), request)
        own = rng.choice([peer._next_id - 1 & 0xFFFF, peer.status._request_id])
        return self.control.endpoint_response(own, EndpointResponse(op))

    def other(self) -> bytes:
        rng = self.rng
        if rng.random() < 0.8:
            return self.control.probe_request(Probe(rng.getrandbits(16)))
        return self.control.acknowledge(Aeth(0, 1), self.near(self.victim.requester.board.cack))


@settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(seed=st.integers(0, 2**32), mpr_units=st.sampled_from([1, 8]))
def test_nothing_that_a_peer_may_say_raises_or_hangs_or_writes_outside(
    seed: int, mpr_units: int
) -> None:
    rng = random.Random(seed)
    lab = Lab(fabric_with(path_mtu=256), line=100, room=4)
    lab.keep = False
    config = QpConfig(
        timeout=5,
        exponential_retries=3,
        responder=ResponderConfig(mpr_units=mpr_units, max_wimm=2),
    )
    qa, qb = lab.pair(config=config)
    memory = bytearray(b"\xaa" * (SIZE + 2 * GUARD))
    region = lab.nics[4].register_memory(memoryview(memory)[GUARD:-GUARD])
    forgers = [Forger(lab, 0, qb, region, rng), Forger(lab, 4, qa, lab.region(0, SIZE), rng)]
    at, same = -1, 0
    for number in range(150):
        if number % 10 == 0:
            qb.post_recv(number, lab.now)
            imm = rng.choice([None, number])
            qa.post_write(number, bytes(1_500), region.va, region.rkey, imm, now_ns=lab.now)
        forger = rng.choice(forgers)
        if forger.victim.state is QpState.RTS:
            target = 4 if forger.victim is qb else 0
            lab.nics[target].receive(rng.randrange(4), forger.frame(), lab.now)
        for _ in range(rng.randrange(20)):
            if not lab.step():
                break
            same = same + 1 if lab.now == at else 0
            at = lab.now
            assert same < 1_000, "time stands still"
    assert memory[:GUARD] == memory[-GUARD:] == b"\xaa" * GUARD
    if qa.state is QpState.RTS:
        outstanding = qa.requester.loss.current.values()
        assert qa.requester.loss.inflight == sum(t.size for t in outstanding if not t.fate)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_message_with_two_ends_ends_both_queue_pairs(order: tuple[int, ...]) -> None:
    """Found by the test above: the second end was looked up in what the first had removed."""
    lab = Lab()
    _, qb = lab.pair(config=QpConfig(first_psn=100))
    region = lab.region(4, 1_000)
    forger = Forger(lab, 0, qb, region, random.Random(1))
    for i in order:
        msn = 0 if i else 5
        frame = forger.data.build(
            opcodes.WRITE_ONLY, 100 + i, 0, region.va, region.rkey, msn, 0, b"12"
        )
        lab.nics[4].receive(0, frame, 0)
    lab.pump(4)
    nacks = [s.parsed.nack for s in lab.sent if s.parsed.nack]
    if order == (0, 1, 2):  # each end found its message complete: nothing is wrong yet
        assert qb.state is QpState.RTS and nacks == []
        return
    assert qb.state is QpState.ERROR
    assert [(n.reason, n.nack_psn) for n in nacks] == [(0x19, 100 + order[1])]


def test_the_sender_hears_that_its_message_had_two_ends() -> None:
    lab = Lab()
    qa, qb = lab.pair()
    region = lab.region(4, 1_000)
    lab.rule(lambda sent: [] if sent.parsed.is_data and sent.parsed.va == region.va else None)
    qa.post_write(0, b"held back", region.va, region.rkey, now_ns=0)
    for wr_id in (1, 2):
        qa.post_write(wr_id, b"xy", region.va + wr_id, region.rkey, now_ns=0)
        qa.requester._msn = 1  # the fault: its counter stands still
    lab.run(until=50_000)
    assert qa.state is qb.state is QpState.ERROR
    assert [(c.wr_id, c.status) for c in lab.completions[0]] == [
        (0, WorkStatus.FLUSHED),
        (1, WorkStatus.FLUSHED),
        (2, WorkStatus.FATAL_NACK),
    ]
