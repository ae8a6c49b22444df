# SPDX-License-Identifier: Apache-2.0
"""Queue pairs that come and go: opened, used, reset, destroyed, cut off, brought into ERROR."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter, deque
from zlib import crc32

from endpoint.events import WorkOpcode
from endpoint.queue_pair import QpConfig, QueuePair
from endpoint.responder import ResponderConfig
from endpoint.serial import PSN_MASK
from testbed.soak.plant import SoakPlant
from testbed.soak.session import FILLER, GUARD_BYTES, End, Post, Session, SoakError
from testbed.virtual.host import HostNode

SESSIONS = 24
MESSAGES = (2, 20)
MESSAGE_BYTES = 65_536
POSTED_AT_ONCE = 4
_POOL_BYTES = 1 << 20
_BURIED = 64
_CROWD_NS = 300_000
_ENDINGS = ("destroy", "destroy", "destroy", "reset", "reset", "sever", "kill", "violate")
_ABRUPT = frozenset({"sever", "kill", "violate"})
_RESET_STEP = 1 << 21
_WRAP = (PSN_MASK - 3, PSN_MASK - 40, PSN_MASK - 200)


class Work:
    """Keeps ``SESSIONS`` sessions going. ``stats`` sums those of queue pairs that are gone."""

    def __init__(self, plant: SoakPlant) -> None:
        self.plant = plant
        self.sessions: list[Session] = []
        self.made = self.destroyed = self.resets = self.opened = 0
        self.endings: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.compared_bytes = 0
        self.ending = False
        """Set at the end: sessions finish what they have to do and then stay as they are."""
        self._past: Counter[str] = Counter()
        self._rng: random.Random = plant.rng("work")
        self._pool = memoryview(self._rng.randbytes(_POOL_BYTES))
        self._by_qp: dict[tuple[str, int], tuple[Session, End]] = {}
        self._buried: deque[tuple[Session, int]] = deque()
        self._mtu = plant.fabric.spec.path_mtu

    # -- one step -----------------------------------------------------------------------------

    def step(self) -> None:
        """Take completions, end and open sessions, post; then every host sends what it can."""
        for host in self.plant.hosts:
            self._collect(host)
        for session in list(self.sessions):
            self._advance(session)
        while len(self.sessions) < SESSIONS and not self.ending:
            self._open()
        for host in self.plant.hosts:
            for event in host.nic.events():
                self.plant.note(host.name, event)
            host.pump(self.plant.loop.now)

    @property
    def at_rest(self) -> bool:
        """Whether every session is healthy and has done all it had to do."""
        return all(s.healthy and not s.left and self._settled(s) for s in self.sessions)

    def stats(self) -> Counter[str]:
        """Counters over all queue pairs, those that are gone included."""
        total = Counter(self._past)
        for host in self.plant.hosts:
            for qp in host.nic.queue_pairs():
                total.update(qp.stats.as_dict())
        return total

    @property
    def data_sent(self) -> int:
        """Data packets sent so far, retransmissions included."""
        return self._past["data_sent"] + sum(
            qp.stats.data_sent for host in self.plant.hosts for qp in host.nic.queue_pairs()
        )

    # -- sessions -----------------------------------------------------------------------------

    def _open(self) -> None:
        rng = self._rng
        hosts = rng.sample(self.plant.hosts, 2)
        if rng.random() < 0.6:
            # Many send to one host for a while, so that queues fill and packets are trimmed.
            crowded = self.plant.hosts[self.plant.loop.now // _CROWD_NS % len(self.plant.hosts)]
            hosts = [next(host for host in hosts if host is not crowded), crowded]
        config = self._config()
        self._start([(host, self._make(host, config)) for host in hosts])

    def _make(self, host: HostNode, config: QpConfig) -> QueuePair:
        self.made += 1
        return host.nic.create_qp(config)

    def _config(self) -> QpConfig:
        rng = self._rng
        return QpConfig(
            first_psn=rng.choice([None, *_WRAP]),
            timeout=rng.choice([5, 6, 7]),
            linear_retries=rng.choice([2, 7]),
            exponential_retries=rng.choice([1, 3]),
            min_active=rng.choice([None, 0]),
            congestion=rng.choice(["window", "uet-1.0-nscc"]),
            responder=ResponderConfig(rng.choice([1, 8]), rng.choice([0, 2, 16])),
        )

    def _start(self, pair: list[tuple[HostNode, QueuePair]]) -> None:
        now, rng = self.plant.loop.now, self._rng
        messages = rng.randint(*MESSAGES)
        ends = []
        for host, qp in pair:
            memory = bytearray([FILLER]) * (messages * MESSAGE_BYTES + 2 * GUARD_BYTES)
            inside = memoryview(memory)[GUARD_BYTES:-GUARD_BYTES]
            ends.append(End(host, qp, memory, host.nic.register_memory(inside)))
        a, b = ends
        a.qp.connect(b.qp.info(), now)
        b.qp.connect(a.qp.info(), now)
        self.opened += 1
        name = f"session {self.opened} {a.host.name}/{a.qp.qpn} {b.host.name}/{b.qp.qpn}"
        session = Session(name, a, b, messages, rng.choice(_ENDINGS))
        session.ending_at = rng.randrange(session.left)
        self.sessions.append(session)
        for end in ends:
            self._by_qp[end.host.name, end.qp.qpn] = (session, end)
        self.plant.note("open", name)

    def _advance(self, session: Session) -> None:
        now = self.plant.loop.now
        if not session.healthy:
            session.left = 0
            if all(end.gone or end.idle for end in session.ends):
                self.endings["in error"] += session.ending not in _ABRUPT
                self._bury(session)
            return
        for end in session.ends:
            owed = sum(post.imm is not None for post in session.other(end).posts) - end.receives
            for _ in range(owed):
                if self._rng.random() < 0.7:
                    end.qp.post_recv(end.receives, now)
                    end.receives += 1
        if session.left:
            self._post(session, now)
            if session.ending in _ABRUPT and session.left <= session.ending_at:
                self._break(session)
        elif self._settled(session) and not self.ending:
            self._finish(session)

    def _settled(self, session: Session) -> bool:
        return all(
            end.idle and len(end.heard) == sum(p.imm is not None for p in session.other(end).posts)
            for end in session.ends
        )

    def _post(self, session: Session, now: int) -> None:
        rng = self._rng
        for end, share in zip(session.ends, (1.0, 0.3), strict=True):
            while session.left and len(end.posts) - end.done < POSTED_AT_ONCE:
                if rng.random() >= share:
                    break
                session.left -= 1
                size = rng.choice([0, 1, self._mtu, self._mtu + 1, rng.randrange(MESSAGE_BYTES),
                                   MESSAGE_BYTES])  # fmt: skip
                start = rng.randrange(_POOL_BYTES - size)
                imm = rng.getrandbits(32) if rng.random() < 0.3 else None
                post = Post(end.used, self._pool[start : start + size], imm)
                end.used += size
                region = session.other(end).region
                end.posts.append(post)
                wr_id = len(end.posts) - 1
                end.qp.post_write(
                    wr_id, post.data, region.va + post.at, region.rkey, imm, now_ns=now
                )

    # -- their ends ---------------------------------------------------------------------------

    def _break(self, session: Session) -> None:
        """While writes are under way: one end goes, or both, or the memory."""
        self.endings[session.ending] += 1
        a, b = session.ends
        if session.ending == "violate":
            session.left = max(session.left, 1)
            b.host.nic.memory.deregister(b.region.rkey)
            session.ending_at = -1
            return
        self._destroy(session, b)
        if session.ending == "kill":
            self._destroy(session, a)

    def _finish(self, session: Session) -> None:
        self.endings[session.ending] += 1
        if session.ending != "reset":
            self._bury(session)
            return
        self._check(session)
        now = self.plant.loop.now
        pair = []
        for end in session.ends:
            old = end.qp
            self._forget(session, end)
            qp = end.host.nic.reset_qp(old.qpn, now)
            self._collect(end.host, flushed=old.qpn)
            # An eighth of the number space further each time: what is still under way, of this
            # queue pair or of the seven before it, can not hit it.
            psn = old.first_psn + _RESET_STEP & PSN_MASK
            qp.configure(dataclasses.replace(old.config, first_psn=psn))
            pair.append((end.host, qp))
            self.resets += 1
        self._lay_down(session)
        self._start(pair)

    def _bury(self, session: Session) -> None:
        self._check(session)
        for end in session.ends:
            if not end.gone:
                self._destroy(session, end)
        self._lay_down(session)

    def _lay_down(self, session: Session) -> None:
        """Its memory stays registered for a while: nothing may change it any more."""
        self.sessions.remove(session)
        self._buried.append((session, _sum(session)))
        if len(self._buried) > _BURIED:
            self._unearth()

    def _unearth(self) -> None:
        session, was = self._buried.popleft()
        if _sum(session) != was:
            raise SoakError(f"{session.name}: memory changed after its queue pairs were gone")
        for end in session.ends:
            regions = end.host.nic.memory
            if not (session.ending == "violate" and end is session.ends[1] and _revoked(session)):
                regions.deregister(end.region.rkey)

    def _check(self, session: Session) -> None:
        for end in session.ends:
            self._collect(end.host)
        self.compared_bytes += session.check(self._mtu)

    def _destroy(self, session: Session, end: End) -> None:
        now = self.plant.loop.now
        self._collect(end.host)
        end.host.nic.destroy_qp(end.qp.qpn, now)
        self._collect(end.host)
        self._forget(session, end)
        self.destroyed += 1
        if not end.idle:
            raise SoakError(f"{session.name}: destroyed with {end.done} of {len(end.posts)} ended")

    def _forget(self, session: Session, end: End) -> None:
        end.gone = True
        del self._by_qp[end.host.name, end.qp.qpn]
        self._past.update(end.qp.stats.as_dict())

    def _collect(self, host: HostNode, flushed: int | None = None) -> None:
        for completion in host.nic.poll_completions():
            self.plant.note(host.name, completion)
            if completion.opcode is not WorkOpcode.RECV_WRITE_IMM:
                self.statuses[completion.status.value] += 1
            if completion.qpn == flushed:
                continue
            session, end = self._by_qp[host.name, completion.qpn]
            session.completed(end, completion)

    def check_living(self) -> None:
        """Compare the memory of the sessions that are still there."""
        for session in self.sessions:
            self._check(session)

    def end_all(self) -> None:
        """Destroy every queue pair and deregister every region."""
        for session in list(self.sessions):
            self._bury(session)
        while self._buried:
            self._unearth()


def _revoked(session: Session) -> bool:
    return session.ending_at < 0


def _sum(session: Session) -> int:
    a, b = session.ends
    return crc32(b.memory, crc32(a.memory))
