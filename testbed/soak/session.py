# SPDX-License-Identifier: Apache-2.0
"""Two queue pairs for as long as they live, what they sent, and whether memory is as it must be."""

from __future__ import annotations

from dataclasses import dataclass, field

from endpoint.events import Completion, WorkOpcode, WorkStatus
from endpoint.memory import MemoryRegion
from endpoint.queue_pair import QpState, QueuePair
from testbed.virtual.host import HostNode

GUARD_BYTES = 256
FILLER = 0xAA


class SoakError(AssertionError):
    """Something that must hold in a soak does not."""


@dataclass(slots=True)
class Post:
    """A posted write: where in the region, what, and how it ended."""

    at: int
    data: memoryview
    imm: int | None
    status: WorkStatus | None = None


@dataclass(slots=True)
class End:
    """One queue pair, and the memory that its peer writes to. ``heard`` are the immediates."""

    host: HostNode
    qp: QueuePair
    memory: bytearray
    region: MemoryRegion
    posts: list[Post] = field(default_factory=list)
    heard: list[tuple[int | None, int]] = field(default_factory=list)
    done: int = 0
    used: int = 0
    receives: int = 0
    gone: bool = False
    """Destroyed, so that no more is to come of it."""

    @property
    def idle(self) -> bool:
        """Whether every posted write has completed."""
        return self.done == len(self.posts)


class Session:
    """``ends`` write to each other; ``left`` messages are still to be posted."""

    def __init__(self, name: str, a: End, b: End, left: int, ending: str) -> None:
        self.name = name
        self.ends = (a, b)
        self.left = left
        self.ending = ending
        self.ending_at = 0

    def other(self, end: End) -> End:
        """The peer of one end."""
        return self.ends[end is self.ends[0]]

    @property
    def healthy(self) -> bool:
        """Whether both can still send."""
        return all(not end.gone and end.qp.state is QpState.RTS for end in self.ends)

    def completed(self, end: End, completion: Completion) -> None:
        """Books a completion; SoakError for one out of order or with a wrong value."""
        if completion.opcode is WorkOpcode.RECV_WRITE_IMM:
            if completion.status is WorkStatus.SUCCESS:
                self._heard(end, completion)
            return
        if completion.wr_id != end.done:
            raise SoakError(f"{self.name}: write {completion.wr_id} completed before {end.done}")
        post = end.posts[end.done]
        end.done += 1
        post.status = completion.status
        if completion.status is WorkStatus.SUCCESS:
            self._compare(end, post, completion.wr_id)

    def _heard(self, end: End, completion: Completion) -> None:
        sent = [p for p in self.other(end).posts if p.imm is not None]
        place = len(end.heard)
        end.heard.append((completion.imm, completion.byte_len))
        if place >= len(sent) or end.heard[-1] != (sent[place].imm, len(sent[place].data)):
            raise SoakError(f"{self.name}: immediate {place} is {end.heard[-1]}")
        number = self.other(end).posts.index(sent[place])
        for wr_id, post in enumerate(self.other(end).posts[: number + 1]):
            self._compare(self.other(end), post, wr_id)

    def _compare(self, end: End, post: Post, wr_id: int) -> None:
        start = GUARD_BYTES + post.at
        if self.other(end).memory[start : start + len(post.data)] != post.data:
            raise SoakError(f"{self.name}: write {wr_id} completed, but memory differs")

    def check(self, mtu: int) -> int:
        """All memory of both ends, byte by byte; how many bytes. SoakError for a wrong one.

        A write that did not succeed may have placed any of its packets, each whole or not at all.
        """
        return sum(self._check_end(end, mtu) for end in self.ends)

    def _check_end(self, end: End, mtu: int) -> int:
        memory, peer = end.memory, self.other(end)
        if self.healthy and len(end.heard) != sum(p.imm is not None for p in peer.posts):
            raise SoakError(f"{self.name}: {len(end.heard)} immediates came")
        at = GUARD_BYTES
        for wr_id, post in enumerate(peer.posts):
            for offset in range(0, len(post.data), mtu):
                part = post.data[offset : offset + mtu]
                found = memory[at + offset : at + offset + len(part)]
                absent = post.status is not WorkStatus.SUCCESS and _untouched(found)
                if not absent and found != part:
                    raise SoakError(f"{self.name}: write {wr_id} at {offset}: memory differs")
            at += len(post.data)
        if not _untouched(memory[:GUARD_BYTES]) or not _untouched(memory[at:]):
            raise SoakError(f"{self.name}: memory outside all writes has changed")
        return len(memory)


def _untouched(memory: bytearray) -> bool:
    return memory.count(FILLER) == len(memory)
