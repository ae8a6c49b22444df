# SPDX-License-Identifier: Apache-2.0
"""A ring all-reduce in the virtual world: WRITE_IMMs chained by what the left neighbour sent.

Each host holds a buffer of as many chunks as there are hosts. In step s it sends one chunk to its
right neighbour's staging memory; the neighbour combines it with its own chunk (XOR), or, in the
second half, takes it over, and only then sends its next. At the end of a round every buffer must
equal the XOR of all buffers at its start.
"""

from __future__ import annotations

from functools import reduce

from endpoint.events import Completion, WorkStatus
from testbed.virtual.traffic import Flow
from testbed.workload import DataPool, RingPlan


def _xor(a: bytes, b: bytes) -> bytes:
    value = int.from_bytes(a, "little") ^ int.from_bytes(b, "little")
    return value.to_bytes(len(a), "little")


class RingHost:
    """One host of the ring: ``right`` is the flow to its right neighbour, ``left`` from its left.

    Staging slots alternate between even and odd rounds: a neighbour can be one round ahead, and
    never two, since a round needs something of everybody.
    """

    def __init__(self, ring: RingTraffic, index: int, right: Flow, left: Flow) -> None:
        self.ring = ring
        self.index = index
        self.right = right
        self.left = left
        self._chunks: list[bytes] = []
        self._round = 0
        self._received = 0  # steps of this round
        self._sent: dict[int, tuple[int, bytes]] = {}

    def start(self, now: int) -> None:
        """Begin the first round."""
        for number in range(2 * self.ring.plan.steps):
            self._post_receive(number)
        self._begin_round(now)

    def _post_receive(self, number: int) -> None:
        if number < self.ring.plan.steps * self.ring.plan.rounds:
            self.left.receiver_qp.post_recv(number)

    def _begin_round(self, now: int) -> None:
        self._chunks = self.ring.initial(self.index, self._round)
        self._received = 0
        self._send(0, now)

    def _send(self, step: int, now: int) -> None:
        plan, flow = self.ring.plan, self.right
        if flow.error is not None:
            return
        number = self._round * plan.steps + step
        # A copy: this host will change the chunk while the network may still need to repeat it.
        data = self._chunks[plan.chunk_sent(self.index, step)]
        flow.sender_qp.post_write(
            number,
            memoryview(data),
            flow.region.va + self.ring.offset(number),
            flow.region.rkey,
            imm=number,
            now_ns=now,
        )
        flow.note_post(plan.chunk_bytes, now)
        self._sent[number] = (now, data)

    def sent(self, completion: Completion, now: int) -> None:
        """A chunk has been acknowledged whole: it must be in the neighbour's memory."""
        flow = self.right
        if completion.status is not WorkStatus.SUCCESS:
            flow.error = flow.error or completion.status.value
            return
        posted_ns, data = self._sent.pop(completion.wr_id)
        flow.completion_ns.append(now - posted_ns)
        if flow.check(memoryview(data), self.ring.offset(completion.wr_id)):
            flow.bytes_verified += len(data)
        else:
            flow.bytes_wrong += len(data)

    def received(self, completion: Completion, now: int) -> None:
        """The left neighbour's next chunk is in place; completions come in the order sent."""
        if completion.status is not WorkStatus.SUCCESS:
            return
        plan, step = self.ring.plan, self._received
        number = self._round * plan.steps + step
        if completion.imm != number:
            raise AssertionError(f"ring step {number} expected, {completion.imm} completed")
        self._post_receive(number + 2 * plan.steps)
        at = self.ring.offset(number)
        staged = bytes(self.left.region.buffer[at : at + plan.chunk_bytes])
        chunk = plan.chunk_sent((self.index - 1) % plan.hosts, step)
        own = self._chunks[chunk]
        self._chunks[chunk] = _xor(own, staged) if plan.reduces(step) else staged
        self._received += 1
        if self._received < plan.steps:
            self._send(self._received, now)
            return
        self._end_round(now)

    def _end_round(self, now: int) -> None:
        plan = self.ring.plan
        if b"".join(self._chunks) != self.ring.expected(self._round):
            self.right.bytes_wrong += plan.chunk_bytes * plan.hosts
        self.ring.host_finished(self._round, now)
        self._round += 1
        if self._round < plan.rounds:
            self._begin_round(now)

    @property
    def done(self) -> bool:
        """Whether this host has finished all rounds and all it sent is acknowledged."""
        finished = self._round == self.ring.plan.rounds and not self.right.open
        return self.right.error is not None or finished


class RingTraffic:
    """All hosts of a ring. ``round_ns`` holds the duration of each finished round."""

    def __init__(self, plan: RingPlan, flows: list[Flow], pool: DataPool) -> None:
        self.plan = plan
        self._pool = pool
        self._done = [0] * plan.rounds
        self._began_ns = 0
        self.round_ns: list[int] = []
        self.hosts = [RingHost(self, i, flow, flows[i - 1]) for i, flow in enumerate(flows)]

    @staticmethod
    def region_bytes(plan: RingPlan) -> int:
        """Staging memory of one host."""
        return 2 * plan.steps * plan.chunk_bytes

    def offset(self, number: int) -> int:
        """Where the chunk of a step (counted over all rounds) is staged."""
        return number % (2 * self.plan.steps) * self.plan.chunk_bytes

    def initial(self, host: int, round_number: int) -> list[bytes]:
        """A host's buffer at the start of a round, by chunk."""
        size = self.plan.chunk_bytes
        data = self._pool.message(host, round_number, 0, size * self.plan.hosts)
        return [bytes(data[i * size : (i + 1) * size]) for i in range(self.plan.hosts)]

    def expected(self, round_number: int) -> bytes:
        """Every buffer at the end of a round."""
        buffers = (b"".join(self.initial(h, round_number)) for h in range(self.plan.hosts))
        return reduce(_xor, buffers)

    def host_finished(self, round_number: int, now: int) -> None:
        """Note the time when the last host ends a round."""
        self._done[round_number] += 1
        if self._done[round_number] == self.plan.hosts:
            self.round_ns.append(now - self._began_ns)
            self._began_ns = now

    @property
    def done(self) -> bool:
        """Whether every host is done."""
        return all(host.done for host in self.hosts)
