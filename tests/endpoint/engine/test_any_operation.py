# SPDX-License-Identifier: Apache-2.0
"""Proves that ports, paths, operators, peers and distances may change at any time, in any order:
work requests still end, in order and with the right bytes, and no state is left behind."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from engine_lab import Lab, Sent, fabric_with, marked, trimmed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from endpoint.events import WorkOpcode, WorkStatus
from endpoint.memory import MemoryRegion
from endpoint.queue_pair import QpConfig, QpState, QueuePair
from endpoint.responder import ResponderConfig
from topologies.sids import ev_plane, ev_uplink

GUARD = 64
SIZE = 20_000
HOSTS = {"demo": (0, 4), "tiny": (0, 2), "rack16": (0, 4)}
OPERATIONS = (
    "write", "write", "write", "down", "up", "deny", "allow", "path dies", "paths live",
    "connect", "receive", "farther", "nearer", "deregister", "destroy",
)  # fmt: skip


@dataclass
class End:
    """One end of a connection: what it sent, and the memory that the other end writes to."""

    qp: QueuePair
    memory: bytearray
    region: MemoryRegion
    used: int = 0
    receives: int = 0
    sent: list[tuple[int, bytes, int | None]] = field(default_factory=list)
    region_gone: bool = False


class Chaos:
    """A lab in which anything happens until `heal_ns`, and nothing bad after it."""

    def __init__(self, fabric: str, seed: int, loss: float, heal_ns: int) -> None:
        self.rng = random.Random(seed)
        self.loss = loss
        self.heal_ns = heal_ns
        self.hosts = HOSTS[fabric]
        room = self.rng.choice([1, 4])
        spec = {"path_mtu": 256}
        self.lab = Lab(fabric_with(fabric, **spec), self.hosts, line=100, room=room)
        self.lab.keep = False
        self.lab.rule(self.network)
        self.dead: set[tuple[int, int, int]] = set()
        self.ends: list[dict[int, End]] = []

    def network(self, sent: Sent) -> list[tuple[int, bytes]] | None:
        if sent.now >= self.heal_ns:
            return None
        ev, rng = sent.parsed.ev, self.rng
        if (sent.source, ev_plane(ev), ev_uplink(ev)) in self.dead or rng.random() < self.loss:
            return []
        frame = sent.frame
        if rng.random() < self.loss:
            frame = trimmed(self.lab.fabric, frame, last_hop=rng.random() < 0.5)
        if rng.random() < self.loss:
            frame = marked(frame)
        copies = 2 if rng.random() < self.loss else 1
        late = rng.choice([0, 0, 0, 20_000])
        return [(self.lab.delay + rng.randrange(late + 1), frame) for _ in range(copies)]

    # -- what may happen ------------------------------------------------------------------------

    def connect(self) -> None:
        rng = self.rng
        config = QpConfig(
            first_psn=rng.choice([0, 0xFFFFF8, None]),
            timeout=rng.choice([5, 7]),
            min_active=rng.choice([None, 0]),
            congestion=rng.choice(["window", "nscc"]),
            responder=ResponderConfig(rng.choice([1, 8]), rng.choice([0, 2])),
        )
        pair = self.lab.pair(*self.hosts, config)
        ends = {}
        for host, qp in zip(self.hosts, pair, strict=True):
            memory = bytearray(b"\xaa" * (SIZE + 2 * GUARD))
            inside = memoryview(memory)[GUARD:-GUARD]
            ends[host] = End(qp, memory, self.lab.nics[host].register_memory(inside))
        self.ends.append(ends)

    def happen(self, operation: str) -> None:
        rng, lab = self.rng, self.lab
        host = rng.choice(self.hosts)
        nic, spec = lab.nics[host], lab.fabric.spec
        ends = rng.choice(self.ends)
        end, qp = ends[host], ends[host].qp
        connected = qp.state is QpState.RTS
        if operation == "write":
            self.write(ends, host)
        elif operation == "receive":
            self.receive(end)
        elif operation in ("down", "up"):
            change = nic.port_down if operation == "down" else nic.port_up
            change(rng.randrange(spec.planes), lab.now)
        elif operation in ("deny", "allow") and connected:
            change_ev = qp.evs.deny if operation == "deny" else qp.evs.allow
            change_ev(rng.choice(qp.evs.all_evs()), lab.now)
            nic.wake(qp)
        elif operation == "path dies":
            self.dead.add((host, rng.randrange(spec.planes), rng.randrange(spec.t1s)))
        elif operation == "paths live":
            self.dead.clear()
        elif operation in ("farther", "nearer"):
            lab.delay = 30_000 if operation == "farther" else 2_500
        elif operation == "connect" and len(self.ends) < 4:
            self.connect()
        elif operation == "deregister" and rng.random() < 0.2 and not end.region_gone:
            end.region_gone = True
            nic.memory.deregister(end.region.rkey)
        elif operation == "destroy" and rng.random() < 0.2 and qp.state is not QpState.RESET:
            nic.destroy_qp(qp.qpn, lab.now)

    def write(self, ends: dict[int, End], host: int) -> None:
        rng, end = self.rng, ends[host]
        target = ends[self.other(host)]
        data = rng.randbytes(rng.choice([0, 1, 256, 257, rng.randrange(4_000)]))
        if end.qp.state is QpState.RESET or target.used + len(data) > SIZE:
            return
        imm = rng.choice([None, rng.getrandbits(32)])
        region, at, wr_id = target.region, target.used, len(end.sent)
        end.sent.append((at, data, imm))
        end.qp.post_write(wr_id, data, region.va + at, region.rkey, imm, now_ns=self.lab.now)
        target.used += len(data)

    def receive(self, end: End) -> None:
        if end.qp.state is not QpState.RESET:
            end.qp.post_recv(end.receives, self.lab.now)
            end.receives += 1

    def other(self, host: int) -> int:
        return self.hosts[1 - self.hosts.index(host)]

    def heal(self) -> None:
        for host, nic in self.lab.nics.items():
            for port in range(self.lab.fabric.spec.planes):
                nic.port_up(port, self.lab.now)
            for ends in self.ends:
                end = ends[host]
                for _ in range(sum(imm is not None for _, _, imm in ends[self.other(host)].sent)):
                    self.receive(end)
                if end.qp.state is QpState.RTS:
                    for ev in end.qp.evs.all_evs():
                        end.qp.evs.allow(ev, self.lab.now)
                    nic.wake(end.qp)

    # -- what must hold -------------------------------------------------------------------------

    def over(self) -> bool:
        """Whether nothing is left to wait for; a peer that is gone is not waited for."""
        return not any(
            ends[host].qp.state is ends[self.other(host)].qp.state is QpState.RTS
            and ends[host].qp.requester.busy
            for ends in self.ends
            for host in self.hosts
        )

    def check(self) -> None:
        for ends in self.ends:
            for host in self.hosts:
                self.check_sender(host, ends[host], ends[self.other(host)])

    def check_sender(self, host: int, end: End, target: End) -> None:
        qp, memory = end.qp, target.memory
        assert memory[:GUARD] == memory[-GUARD:] == b"\xaa" * GUARD
        done = [c for c in self.lab.completions[host] if c.qpn == qp.qpn]
        sent = [c for c in done if c.opcode is not WorkOpcode.RECV_WRITE_IMM]
        assert [c.wr_id for c in sent] == list(range(len(sent)))
        for completion in sent:
            at, data, _ = end.sent[completion.wr_id]
            if completion.status is WorkStatus.SUCCESS:
                assert memory[GUARD + at : GUARD + at + len(data)] == data
        both = qp.state is target.qp.state is QpState.RTS
        if both or qp.state is not QpState.RTS:
            assert len(sent) == len(end.sent)
        if both:
            assert all(c.status is WorkStatus.SUCCESS for c in sent)
            loss = qp.requester.loss
            assert not loss.current and not loss.uncovered and not loss.inflight
        arrived = [
            (c.imm, c.byte_len)
            for c in self.lab.completions[self.other(host)]
            if c.qpn == target.qp.qpn
            and c.opcode is WorkOpcode.RECV_WRITE_IMM
            and c.status is WorkStatus.SUCCESS
        ]
        wanted = [(imm, len(data)) for _, data, imm in end.sent if imm is not None]
        assert arrived == wanted if both else arrived == wanted[: len(arrived)]


@settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    fabric=st.sampled_from(sorted(HOSTS)),
    seed=st.integers(0, 2**32),
    loss=st.sampled_from([0.0, 0.0, 0.05, 0.3]),
    operations=st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=60),
)
def test_whatever_happens_work_requests_end_and_memory_is_right(
    fabric: str, seed: int, loss: float, operations: list[str]
) -> None:
    chaos = Chaos(fabric, seed, loss, heal_ns=1_500_000)
    lab = chaos.lab
    chaos.connect()
    for operation in operations:
        chaos.happen(operation)
        lab.run(until=lab.now + chaos.rng.choice([0, 500, 5_000, 50_000]))
    lab.run(until=max(lab.now, chaos.heal_ns))
    chaos.heal()
    lab.run(until=lab.now + 600_000_000, done=chaos.over)
    assert chaos.over()
    lab.run(until=lab.now + 200_000)
    chaos.check()
