# SPDX-License-Identifier: Apache-2.0
"""Work that whoever owns the engine drives by itself, so that no control call is measured with it.

Sans-I/O like the engine: an exercise is fed completions and the time, and posts what comes next.
`Stream` keeps writes posted; `Ping` and `Pong` answer each other.

They use WRITE with immediate wherever the other side must know that a message is there. Looking
for its last byte in memory, as one may where packets stay in order, would be wrong: the packets
of one message take different paths, and the last may be placed first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from endpoint.agent.values import ExerciseKind, ExerciseResult
from endpoint.events import Completion, WorkOpcode, WorkStatus
from endpoint.qp_states import QpStateError
from endpoint.queue_pair import QueuePair

_SIGNED_LONG_LONG = "q"
_IMM_MASK = 0x7FFF_FFFF
LAST = 0xFFFF_FFFF
"""Immediate of the write after which a `Ping` sends no more."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A connected queue pair, and the one write that it makes again and again."""

    qp: QueuePair
    data: memoryview
    remote_va: int
    rkey: int

    def post(self, number: int, imm: int | None, now_ns: int) -> None:
        """Posts the write, with `number` as its work request."""
        self.qp.post_write(number, self.data, self.remote_va, self.rkey, imm, now_ns=now_ns)


@dataclass(frozen=True, slots=True)
class Extent:
    """When an exercise ends: after `iterations` (of each queue pair), or, where that is 0, after
    `duration_ns`. Of a duration, `margin_ns` at each end is not counted."""

    iterations: int = 0
    duration_ns: int = 0
    margin_ns: int = 0


class Record:
    """Times of every iteration; of a duration only how many ended in it, its margins left out."""

    def __init__(self, extent: Extent) -> None:
        self._extent = extent
        self.posted_ns = array(_SIGNED_LONG_LONG)
        self.completed_ns = array(_SIGNED_LONG_LONG)
        self.counted = 0
        self.begin_ns = 0
        self.end_ns = 0
        self.until_ns = 0

    def start(self, now_ns: int) -> None:
        """The exercise begins."""
        extent = self._extent
        self.until_ns = now_ns + extent.duration_ns
        self.begin_ns = now_ns + extent.margin_ns
        self.end_ns = self.until_ns - extent.margin_ns

    def posted(self, now_ns: int) -> None:
        """An iteration begins."""
        if self._extent.iterations:
            self.posted_ns.append(now_ns)

    def completed(self, now_ns: int) -> None:
        """An iteration, the oldest one of its queue pair, has ended."""
        if self._extent.iterations:
            self.completed_ns.append(now_ns)
        elif self.begin_ns <= now_ns < self.end_ns:
            self.counted += 1

    def result(self, error: str) -> ExerciseResult:
        """As a value. Begin and end are those of what was counted."""
        begin_ns, end_ns, counted = self.begin_ns, self.end_ns, self.counted
        if self._extent.iterations:
            counted = len(self.completed_ns)
            end_ns = self.completed_ns[-1] if counted else begin_ns
        return ExerciseResult(
            error, tuple(self.posted_ns), tuple(self.completed_ns), begin_ns, end_ns, counted
        )


class Exercise(ABC):
    """All completions of its queue pairs go to `hear`, from `start` until it is `drained`."""

    def __init__(self, lanes: Sequence[Lane], extent: Extent) -> None:
        self.done = False
        self.error = ""
        self.record = Record(extent)
        self._extent = extent
        self._lanes = {lane.qp.qpn: lane for lane in lanes}
        self._open = 0  # writes posted and not completed

    @property
    def qpns(self) -> list[int]:
        """Its queue pairs."""
        return list(self._lanes)

    @property
    def drained(self) -> bool:
        """Whether it is done and nothing that it posted is open."""
        return self.done and not self._open

    def start(self, now_ns: int) -> None:
        """Posts what comes first."""
        self.record.start(now_ns)
        self._begin(now_ns)

    def hear(self, completion: Completion, now_ns: int) -> None:
        """A completion of one of its queue pairs; posts what follows from it."""
        received = completion.opcode is WorkOpcode.RECV_WRITE_IMM
        if not received:
            self._open -= 1
        if self.done:
            return
        if completion.status is not WorkStatus.SUCCESS:
            self.end(f"QP {completion.qpn}: {completion.opcode.value} {completion.status.value}")
            return
        try:
            if received:
                self._received(completion, now_ns)
            else:
                self._written(self._lanes[completion.qpn], now_ns)
        except QpStateError as error:  # destroyed since it completed
            self.end(str(error))
        if not self._open and self._finished():
            self.done = True

    def end(self, error: str) -> None:
        """Over, with what is recorded so far; nothing more is posted."""
        self.error = self.error or error
        self.done = True

    def result(self) -> ExerciseResult:
        """What was recorded."""
        return self.record.result(self.error)

    def _post(self, lane: Lane, number: int, imm: int | None, now_ns: int) -> None:
        lane.post(number, imm, now_ns)
        self._open += 1

    def _in_time(self, posted: int, now_ns: int) -> bool:
        """Whether one more iteration may begin after `posted` of them."""
        if self._extent.iterations:
            return posted < self._extent.iterations
        return now_ns < self.record.until_ns

    @abstractmethod
    def _begin(self, now_ns: int) -> None: ...

    @abstractmethod
    def _written(self, lane: Lane, now_ns: int) -> None: ...

    def _received(self, completion: Completion, now_ns: int) -> None:
        self.end(f"QP {completion.qpn}: a WRITE with immediate that nobody waited for")

    @abstractmethod
    def _finished(self) -> bool:
        """Whether nothing more will be posted, now that nothing is open."""


class Stream(Exercise):
    """Every queue pair keeps `depth` writes posted. An iteration is a write, from its posting to
    its completion."""

    def __init__(self, lanes: Sequence[Lane], extent: Extent, depth: int) -> None:
        super().__init__(lanes, extent)
        self._depth = depth
        self._posted = dict.fromkeys(self._lanes, 0)

    def _begin(self, now_ns: int) -> None:
        for _ in range(self._depth):
            for lane in self._lanes.values():
                self._next(lane, now_ns)

    def _next(self, lane: Lane, now_ns: int) -> None:
        number = self._posted[lane.qp.qpn]
        if self._in_time(number, now_ns):
            self._posted[lane.qp.qpn] = number + 1
            self.record.posted(now_ns)
            self._post(lane, number, None, now_ns)

    def _written(self, lane: Lane, now_ns: int) -> None:
        self.record.completed(now_ns)
        self._next(lane, now_ns)

    def _finished(self) -> bool:
        return True  # a write that completes is followed by the next one at once


class Ping(Exercise):
    """Writes, waits for the answer, writes again. An iteration is a round trip, from posting to
    the answer's arrival. One lane. The last write says so, and the one at the other end is done."""

    def __init__(self, lane: Lane, extent: Extent) -> None:
        super().__init__([lane], extent)
        self._lane = lane
        self._sent = 0
        self._awaited: int | None = None  # immediate of the answer

    def _begin(self, now_ns: int) -> None:
        self._next(now_ns)

    def _next(self, now_ns: int) -> None:
        more = self._in_time(self._sent + 1, now_ns)
        self._awaited = self._sent & _IMM_MASK if more else LAST
        self._lane.qp.post_recv(self._sent, now_ns)
        self.record.posted(now_ns)
        self._post(self._lane, self._sent, self._awaited, now_ns)
        self._sent += 1

    def _received(self, completion: Completion, now_ns: int) -> None:
        awaited = self._awaited
        if completion.imm != awaited:
            self.end(f"QP {completion.qpn}: answer {completion.imm}, awaited was {awaited}")
            return
        self._awaited = None
        self.record.completed(now_ns)
        if awaited != LAST:
            self._next(now_ns)

    def _written(self, lane: Lane, now_ns: int) -> None:
        pass  # acknowledged; what counts is the answer

    def _finished(self) -> bool:
        return self._awaited is None


class Pong(Exercise):
    """Answers every write with one that carries the same immediate, up to the last. One lane."""

    def __init__(self, lane: Lane) -> None:
        super().__init__([lane], Extent())
        self._lane = lane
        self._answered = 0
        self._heard_last = False

    def _begin(self, now_ns: int) -> None:
        self._lane.qp.post_recv(0, now_ns)

    def _received(self, completion: Completion, now_ns: int) -> None:
        number = self._answered
        self._answered += 1
        self._heard_last = completion.imm == LAST
        if not self._heard_last:
            self._lane.qp.post_recv(self._answered, now_ns)
        self._post(self._lane, number, completion.imm, now_ns)

    def _written(self, lane: Lane, now_ns: int) -> None:
        pass

    def _finished(self) -> bool:
        return self._heard_last


def make(kind: ExerciseKind, lanes: Sequence[Lane], extent: Extent, depth: int) -> Exercise:
    """The exercise of a kind. ValueError for what none can be made of."""
    if len({lane.qp.qpn for lane in lanes}) != len(lanes) or not lanes:
        raise ValueError("exercise: it needs queue pairs, each once")
    if kind is ExerciseKind.STREAM:
        if depth < 1:
            raise ValueError(f"exercise: a depth of {depth} writes is less than one")
        _check_end(extent)
        return Stream(lanes, extent, depth)
    if len(lanes) != 1:
        raise ValueError(f"exercise: {kind.value} is for one queue pair, not {len(lanes)}")
    if kind is ExerciseKind.PING:
        _check_end(extent)
        return Ping(lanes[0], extent)
    return Pong(lanes[0])


def _check_end(extent: Extent) -> None:
    if not extent.iterations and extent.duration_ns <= 2 * extent.margin_ns:
        raise ValueError(
            f"exercise: nothing is left of {extent.duration_ns} ns between two margins of "
            f"{extent.margin_ns} ns"
        )
