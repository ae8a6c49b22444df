# SPDX-License-Identifier: Apache-2.0
"""Two or more NICs and the smallest network between them: exact losses, explicit time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from endpoint.events import Completion
from endpoint.memory import Access, MemoryRegion
from endpoint.nic import Nic, NicConfig
from endpoint.queue_pair import QpConfig, QueuePair
from endpoint.wire.dscp import DscpMap
from endpoint.wire.frame import ParsedFrame, parse_frame
from topologies import Fabric, load

Verdict = list[tuple[int, bytes]]
"""What becomes of a frame: (delay in ns, bytes) of each copy that arrives; [] loses it."""


@dataclass
class Sent:
    """One frame on its way, as a rule sees it."""

    number: int
    now: int
    source: int
    port: int
    frame: bytes
    parsed: ParsedFrame


Rule = Callable[[Sent], Verdict | None]
"""Asked for each frame; None leaves it to the next rule, and in the end to the plain delay."""


class Lab:
    """NICs whose frames arrive `delay` ns later at the NIC they are addressed to.

    A NIC's port takes `line` ns a frame; `room` frames may wait there.
    """

    def __init__(
        self,
        fabric: Fabric | str = "demo",
        hosts: tuple[int, ...] = (0, 4),
        seed: int = 1,
        delay: int = 2_500,
        line: int = 0,
        room: int = 4,
    ) -> None:
        self.fabric = load(fabric) if isinstance(fabric, str) else fabric
        self.nics = {i: Nic(NicConfig(self.fabric, i), random.Random(f"{seed} {i}")) for i in hosts}
        self.by_address = {nic.address: i for i, nic in self.nics.items()}
        self.delay = delay
        self.line = line
        self.room = room
        self.now = 0
        self.sent: list[Sent] = []
        self.rules: list[Rule] = []
        self.heap: list[tuple[int, int, int, int, bytes | None]] = []
        self.count = 0
        planes = self.fabric.spec.planes
        self.busy_until = {i: [0] * planes for i in hosts}
        self.waiting = {i: [0] * planes for i in hosts}
        self.completions: dict[int, list[Completion]] = {i: [] for i in hosts}
        self.keep = True

    # -- set-up -------------------------------------------------------------------------------

    def pair(
        self,
        a: int = 0,
        b: int = 4,
        config: QpConfig | None = None,
        config_b: QpConfig | None = None,
    ) -> tuple[QueuePair, QueuePair]:
        """Two connected queue pairs."""
        qa = self.nics[a].create_qp(config or QpConfig())
        qb = self.nics[b].create_qp(config_b or config or QpConfig())
        qa.connect(qb.info(), self.now)
        qb.connect(qa.info(), self.now)
        return qa, qb

    def region(self, nic: int, size: int, access: Access = Access.REMOTE_WRITE) -> MemoryRegion:
        """A zeroed region."""
        return self.nics[nic].register_memory(bytearray(size), access)

    def rule(self, rule: Rule) -> None:
        """Adds a rule in front of the others."""
        self.rules.insert(0, rule)

    def losing(self, share: float, seed: int = 1) -> Rule:
        """A rule that loses this share of all frames."""
        rng = random.Random(seed)
        return lambda sent: [] if rng.random() < share else None

    # -- running ------------------------------------------------------------------------------

    def pump(self, i: int) -> None:
        """Takes what a NIC wants to send."""
        nic = self.nics[i]
        room = [self.room - n for n in self.waiting[i]]
        for port, frame, urgent in nic.frames_to_send(self.now, room):
            start = self.now
            if self.line and not urgent:
                start = max(self.now, self.busy_until[i][port]) + self.line
                self.busy_until[i][port] = start
                self.waiting[i][port] += 1
                self.push(start, -1 - i, port, None)
            self.send(i, port, frame, start)
        self.completions[i] += nic.poll_completions()

    def send(self, source: int, port: int, frame: bytes, start: int) -> None:
        parsed = parse_frame(frame, dscp_of(self.fabric))
        sent = Sent(len(self.sent), self.now, source, port, frame, parsed)
        if self.keep:
            self.sent.append(sent)
        verdict = next((v for v in (r(sent) for r in self.rules) if v is not None), None)
        if verdict is None:
            verdict = [(self.delay, frame)]
        target = self.by_address[parsed.dst]
        for delay, copy in verdict:
            self.push(start + delay, target, port, copy)

    def push(self, at: int, target: int, port: int, frame: bytes | None) -> None:
        self.count += 1
        heappush(self.heap, (at, self.count, target, port, frame))

    def step(self) -> bool:
        """The next thing that happens; False when nothing ever will."""
        for i in self.nics:
            self.pump(i)
        timers = [(t, i) for i, nic in self.nics.items() if (t := nic.next_timer_ns()) is not None]
        timer = min(timers, default=None)
        if self.heap and (timer is None or self.heap[0][0] <= timer[0]):
            at, _, target, port, frame = heappop(self.heap)
            self.now = max(self.now, at)
            if frame is None:
                self.waiting[-1 - target][port] -= 1
            else:
                self.nics[target].receive(port, frame, self.now)
            return True
        if timer is None:
            return False
        self.now = max(self.now, timer[0])
        self.nics[timer[1]].on_timer(self.now)
        return True

    def run(self, until: int | None = None, done: Callable[[], bool] | None = None) -> None:
        """Runs until a time, or until `done()`, or until nothing is left to happen."""
        for _ in range(2_000_000):
            if done is not None and done():
                break
            if until is not None and self.next_ns() is None:
                break
            if until is not None and (self.next_ns() or 0) > until:
                self.now = until
                break
            if not self.step():
                break
        else:
            raise AssertionError("the lab does not come to rest")
        for i in self.nics:
            self.pump(i)

    def next_ns(self) -> int | None:
        for i in self.nics:
            self.pump(i)
        times = [t for nic in self.nics.values() if (t := nic.next_timer_ns()) is not None]
        if self.heap:
            times.append(self.heap[0][0])
        return min(times, default=None)

    # -- what was sent ------------------------------------------------------------------------

    def data(self, source: int = 0) -> list[Sent]:
        """The data packets that a NIC sent."""
        return [s for s in self.sent if s.source == source and s.parsed.is_data]


def dscp_of(fabric: Fabric) -> DscpMap:
    d = fabric.dscp
    return DscpMap(
        no_trim=d.no_trim,
        trimmable=d.trimmable,
        trimmable_retx=d.trimmable_retx,
        trimmed=d.trimmed,
        trimmed_lasthop=d.trimmed_lasthop,
        control=d.control,
    )


def trimmed(fabric: Fabric, frame: bytes, last_hop: bool = False) -> bytes:
    """The frame as a switch cuts it."""
    dscp = fabric.dscp.trimmed_lasthop if last_hop else fabric.dscp.trimmed
    return with_class(frame, dscp)[: fabric.spec.trim_length]


def with_class(frame: bytes, dscp: int, ecn: int = 0) -> bytes:
    """The frame with another outer DSCP and ECN."""
    traffic_class = dscp << 2 | ecn
    out = bytearray(frame)
    out[14] = 0x60 | traffic_class >> 4
    out[15] = (traffic_class & 0x0F) << 4 | out[15] & 0x0F
    return bytes(out)


def marked(frame: bytes) -> bytes:
    """The frame with congestion experienced on the outer header."""
    out = bytearray(frame)
    out[15] |= 0x30
    return bytes(out)


def transfer(lab: Lab, size: int = 200_000, config: QpConfig | None = None, imm: int | None = None):
    """One write from the first to the second NIC, run to its end; everything for assertions."""
    a, b = list(lab.nics)[:2]
    qa, qb = lab.pair(a, b, config)
    data = random.Random(size).randbytes(size)
    region = lab.region(b, size)
    if imm is not None:
        qb.post_recv(9)
    qa.post_write(7, data, region.va, region.rkey, imm=imm, now_ns=lab.now)
    lab.run(done=lambda: bool(lab.completions[a]))
    return qa, qb, bytes(region.buffer) == data


def fabric_with(name: str = "demo", **changes: object) -> Fabric:
    """A preset with some fields changed."""
    return Fabric(load(name).spec.model_copy(update=changes))
