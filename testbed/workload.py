# SPDX-License-Identifier: Apache-2.0
"""Workloads as plans: who sends how much to whom, and with which bytes.

A plan is pure data; a world carries it out. The bytes of every message come from the seed, and
differ between messages, so that a stale or misplaced byte at a destination cannot go unnoticed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from endpoint.messages import MAX_MESSAGE_BYTES
from testbed.quantities import format_time
from testbed.scenario import (
    AllToAll,
    Incast,
    OneWrite,
    Permutation,
    RingAllReduce,
    ScenarioError,
    Workload,
)

_POOL_SLACK = 1 << 20


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """One QP from host ``source`` to host ``destination`` (indices), and what it sends.

    ``messages`` of ``message_bytes`` each, or (None) as many as can be posted from ``start_ns``
    until ``until_ns``; ``in_flight`` of them posted at once.
    """

    name: str
    group: str
    source: int
    destination: int
    message_bytes: int
    messages: int | None
    start_ns: int
    until_ns: int | None
    in_flight: int
    immediate: bool = False
    total_bytes: int | None = None
    """All messages together, when the last is shorter than the others."""

    def length(self, number: int) -> int:
        """Bytes of message ``number``."""
        if self.total_bytes is None:
            return self.message_bytes
        return min(self.message_bytes, self.total_bytes - number * self.message_bytes)


@dataclass(frozen=True, slots=True)
class RingPlan:
    """A ring all-reduce over all hosts, each buffer of ``chunks`` chunks of ``chunk_bytes``."""

    hosts: int
    chunk_bytes: int
    rounds: int

    @property
    def steps(self) -> int:
        """Steps of one round: reduce-scatter, then all-gather."""
        return 2 * (self.hosts - 1)

    def chunk_sent(self, host: int, step: int) -> int:
        """The chunk that ``host`` sends to its right neighbour in ``step``."""
        return (host - step) % self.hosts

    def reduces(self, step: int) -> bool:
        """Whether the receiver combines the chunk with its own (else it takes it as it is)."""
        return step < self.hosts - 1


def host_index(name: str, hosts: Sequence[str], field: str) -> int:
    """Index of a host; `ScenarioError` naming the field when the fabric has no such host."""
    try:
        return hosts.index(name)
    except ValueError:
        raise ScenarioError(
            f"workload.{field}: no host {name!r} (there are {hosts[0]} to {hosts[-1]})"
        ) from None


def pairs(workload: Workload, hosts: Sequence[str], seed: int) -> list[tuple[str, int, int]]:
    """``(group, source, destination)`` of every flow; a ring's flows go to the right neighbour."""
    n = len(hosts)
    if n < 2:
        raise ScenarioError("workload: the fabric has one host, and so nobody to send to")
    match workload:
        case OneWrite():
            ends = [
                host_index(workload.source, hosts, "source"),
                host_index(workload.destination, hosts, "destination"),
            ]
            found = [("write", ends[0], ends[1])]
        case Permutation():
            found = [("permutation", a, b) for a, b in enumerate(_partners(workload, n, seed))]
        case Incast():
            receiver = host_index(workload.receiver, hosts, "receiver")
            found = [
                ("incast", host_index(sender, hosts, f"senders[{i}]"), receiver)
                for i, sender in enumerate(workload.senders)
            ]
            if workload.victim is not None:
                source = host_index(workload.victim.source, hosts, "victim.source")
                target = host_index(workload.victim.destination, hosts, "victim.destination")
                found.append(("victim", source, target))
        case AllToAll():
            found = [("all_to_all", a, b) for a in range(n) for b in range(n) if a != b]
        case RingAllReduce():
            found = [("ring", a, (a + 1) % n) for a in range(n)]
    for _, a, b in found:
        if a == b:
            raise ScenarioError(f"workload: {hosts[a]} would send to itself")
    return found


def check_workload(workload: Workload, hosts: Sequence[str]) -> None:
    """Raise `ScenarioError` when these hosts cannot carry it out, whatever the seed."""
    pairs(workload, hosts, seed=0)
    file_bytes(workload)
    if isinstance(workload, RingAllReduce):
        ring_plan(workload, len(hosts))


def _partners(workload: Permutation, n: int, seed: int) -> list[int]:
    if workload.shift is not None:
        return [(a + workload.shift) % n for a in range(n)]
    rng = random.Random(f"{seed}/permutation")
    while True:
        order = list(range(n))
        rng.shuffle(order)
        if all(a != b for a, b in enumerate(order)):
            return order


def flow_plans(workload: Workload, hosts: Sequence[str], seed: int) -> list[FlowPlan]:
    """The flows of any workload but a ring (see `ring_plan`), in a fixed order."""
    if isinstance(workload, RingAllReduce):
        raise TypeError("a ring all-reduce has a ring_plan")
    plans = []
    total = file_bytes(workload)
    messages = workload.messages
    if total is not None:  # an empty file is one message without bytes
        messages = max(1, -(-total // workload.message_bytes))
    for group, source, destination in pairs(workload, hosts, seed):
        start_ns = workload.start if isinstance(workload, Incast) and group == "incast" else 0
        plans.append(
            FlowPlan(
                name=f"{hosts[source]}→{hosts[destination]}",
                group=group,
                source=source,
                destination=destination,
                message_bytes=workload.message_bytes,
                messages=messages,
                start_ns=start_ns,
                until_ns=workload.until,
                in_flight=workload.in_flight,
                immediate=workload.immediate,
                total_bytes=total,
            )
        )
    return plans


def file_bytes(workload: Workload) -> int | None:
    """Length of the file that a workload sends, None when it sends none.

    `ScenarioError` when the file cannot be read.
    """
    if not isinstance(workload, OneWrite) or workload.file is None:
        return None
    path = Path(workload.file)
    if path.exists() and not path.is_file():
        raise ScenarioError(f"workload.file: {path} is no regular file")
    try:
        with path.open("rb") as file:
            return os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ScenarioError(f"workload.file: {workload.file}: {error.strerror}") from error


def ring_plan(workload: RingAllReduce, hosts: int) -> RingPlan:
    """The plan of a ring; its buffer must divide into one chunk a host."""
    chunk, rest = divmod(workload.buffer_bytes, hosts)
    if rest or not 0 < chunk <= MAX_MESSAGE_BYTES:
        raise ScenarioError(
            f"workload.buffer_bytes: {workload.buffer_bytes} does not divide into {hosts} chunks "
            f"of at most {MAX_MESSAGE_BYTES} B"
        )
    return RingPlan(hosts, chunk, workload.rounds)


def describe(workload: Workload, flows: int) -> str:
    """One line for people."""
    match workload:
        case OneWrite(file=str()):
            return f"one_write: one file, messages of {workload.message_bytes} B"
        case RingAllReduce():
            return (
                f"ring_all_reduce of {workload.buffer_bytes} B over {flows} hosts, "
                f"{workload.rounds} rounds"
            )
        case _:
            amount = (
                f"{workload.messages} messages a flow"
                if workload.messages is not None
                else f"messages posted until {format_time(workload.until or 0)}"
            )
            return f"{workload.kind}: {flows} flows, {amount}, {workload.message_bytes} B each"


class MessageData(Protocol):
    """Where the bytes of messages come from."""

    def message(self, flow: int, number: int, start: int, length: int) -> memoryview:
        """Bytes of message ``number`` of a flow, which begins ``start`` bytes into the flow."""


class FileData:
    """The bytes of a file, as the messages of the one flow that sends it."""

    def __init__(self, path: str) -> None:
        self._bytes = memoryview(Path(path).read_bytes())

    def message(self, flow: int, number: int, start: int, length: int) -> memoryview:
        return self._bytes[start : start + length]


class DataPool:
    """Random bytes from the seed, of which each message is a slice.

    Slices overlap, but those of messages that are under way together start at different places:
    a byte that is stale, misplaced or another flow's does not pass for the right one.
    """

    def __init__(self, seed: int, largest: int) -> None:
        rng = random.Random(f"{seed}/data")
        self._size = largest + _POOL_SLACK
        blocks = [
            rng.randbytes(min(1 << 20, self._size - at)) for at in range(0, self._size, 1 << 20)
        ]
        self._bytes = memoryview(b"".join(blocks))

    def message(self, flow: int, number: int, start: int, length: int) -> memoryview:
        """A read-only view, nothing is copied; where in the flow it begins does not matter."""
        # Odd multipliers spread the starts; modulo 2^20 they are distinct for neighbours.
        at = (flow * 0x9E3B1 + number * 0x3C6EF + 1) % _POOL_SLACK
        return self._bytes[at : at + length]


def message_data(workload: Workload, seed: int) -> MessageData:
    """The source of the bytes of a workload's messages (of any but a ring)."""
    if isinstance(workload, RingAllReduce):
        raise TypeError("a ring all-reduce makes its own messages")
    if isinstance(workload, OneWrite) and workload.file is not None:
        return FileData(workload.file)
    return DataPool(seed, workload.message_bytes)
