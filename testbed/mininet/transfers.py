# SPDX-License-Identifier: Apache-2.0
"""Single writes from host to host, in the background, each verified to the last byte."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns

from endpoint.agent.client import AgentClient, connect_pair
from endpoint.agent.errors import AgentError
from endpoint.agent.values import QpInfo, Region, WriteWork
from endpoint.events import WorkStatus
from testbed.mininet.errors import MininetWorldError

MESSAGE_BYTES = 1 << 20
IN_FLIGHT = 4
MOST_BYTES = 1 << 30
_WAIT_S = 120.0
_COMPARE_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class TransferResult:
    """What became of a transfer. `error` says why it failed, None when every byte arrived."""

    bytes: int
    seconds: float
    packets: int
    retransmitted: int
    trimmed: int
    longest_gap_ms: float
    error: str | None


class Pair:
    """A queue pair from one host to another, kept for further transfers."""

    def __init__(self, source: AgentClient, target: AgentClient) -> None:
        self.source, self.target = source, target
        self.near: QpInfo
        self.far: QpInfo
        self.near, self.far = connect_pair(source, target)
        self.lock = threading.Lock()
        self.next_wr_id = 0


class Transfer(threading.Thread):
    """Writes `length` random bytes; `done` is called in its thread with the result."""

    def __init__(
        self,
        number: int,
        pair: Pair,
        length: int,
        folder: Path,
        done: Callable[[Transfer, TransferResult], None],
    ) -> None:
        super().__init__(name=f"transfer {number}", daemon=True)
        if not 1 <= length <= MOST_BYTES:
            raise MininetWorldError(f"a write has 1 to {MOST_BYTES} bytes, not {length}")
        self.number = number
        self.length = length
        self.written = 0
        self._pair = pair
        self._folder = folder
        self._done = done

    def uses(self, pair: Pair) -> bool:
        """Whether it goes over this queue pair."""
        return pair is self._pair

    def run(self) -> None:
        paths = [self._folder / f"transfer{self.number}.{end}" for end in ("source", "target")]
        with self._pair.lock:  # one at a time over a queue pair, so that figures are its own
            try:
                result = self._transfer(*paths)
            except (AgentError, OSError) as error:
                result = TransferResult(self.written, 0.0, 0, 0, 0, 0.0, str(error))
        for path in paths:
            path.unlink(missing_ok=True)
        self._done(self, result)

    def _transfer(self, source_path: Path, target_path: Path) -> TransferResult:
        pair = self._pair
        with source_path.open("wb+") as source, target_path.open("wb+") as target:
            for file in (source, target):
                file.truncate(self.length)
            sent = mmap.mmap(source.fileno(), self.length)
            arrived = mmap.mmap(target.fileno(), self.length)
        _fill(sent)
        here = pair.source.register_memory(file=str(source_path), remote_write=False)
        there = pair.target.register_memory(file=str(target_path))
        try:
            before = self._counters()
            started_ns = monotonic_ns()
            error = self._write(here, there)
            seconds = (monotonic_ns() - started_ns) / 1e9
            after = self._counters()
            gap_ms = self._longest_gap_ms(started_ns)
        finally:
            pair.source.deregister_memory(here)
            pair.target.deregister_memory(there)
        if error is None and not _equal(sent, arrived):
            error = "bytes at the destination differ from those that were sent"
        return TransferResult(
            bytes=self.written,
            seconds=seconds,
            packets=after["data_sent"] - before["data_sent"],
            retransmitted=after["retransmitted"] - before["retransmitted"],
            trimmed=after["nacks_trimmed"] - before["nacks_trimmed"],
            longest_gap_ms=gap_ms,
            error=error,
        )

    def _write(self, here: Region, there: Region) -> str | None:
        """Post all messages, some at a time; what went wrong."""
        pair, posted = self._pair, 0
        open_ids: dict[int, int] = {}
        with pair.source.watch_completions(qpn=pair.near.qpn) as completions:
            while posted < self.length or open_ids:
                while posted < self.length and len(open_ids) < IN_FLIGHT:
                    length = min(MESSAGE_BYTES, self.length - posted)
                    work = WriteWork(
                        pair.next_wr_id,
                        here.region_id,
                        posted,
                        length,
                        there.va + posted,
                        there.rkey,
                    )
                    pair.source.post_writes(pair.near.qpn, [work])
                    open_ids[pair.next_wr_id] = length
                    pair.next_wr_id += 1
                    posted += length
                for completion in completions.get(_WAIT_S):
                    length = open_ids.pop(completion.wr_id, 0)
                    if completion.status is not WorkStatus.SUCCESS and length:
                        return f"a write failed: {completion.status.value}"
                    self.written += length
        return None

    def _counters(self) -> dict[str, int]:
        return self._pair.source.statistics().qp(self._pair.near.qpn).counters

    def _longest_gap_ms(self, since_ns: int) -> float:
        placement = self._pair.target.statistics().qp(self._pair.far.qpn).placement
        gaps = [gap.length_ns for gap in placement.longest if gap.begin_ns >= since_ns]
        return max(gaps, default=0) / 1e6


def _fill(view: mmap.mmap) -> None:
    for at in range(0, len(view), _COMPARE_BYTES):
        view[at : at + _COMPARE_BYTES] = os.urandom(min(_COMPARE_BYTES, len(view) - at))


def _equal(one: mmap.mmap, other: mmap.mmap) -> bool:
    return all(
        one[at : at + _COMPARE_BYTES] == other[at : at + _COMPARE_BYTES]
        for at in range(0, len(one), _COMPARE_BYTES)
    )
