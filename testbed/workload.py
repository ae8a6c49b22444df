# SPDX-License-Identifier: Apache-2.0
"""Workloads as plans: who sends how much to whom, and with which bytes.

A plan is pure data; a world carries it out. The bytes of every message come from the seed, and
differ between messages, so that a stale or misplaced byte at a destination cannot go unnoticed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

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
    for group, source, destination in pairs(workload, hosts, seed):
        late = isinstance(workload, Incast) and group == "incast"
        plans.append(
            FlowPlan(
                name=f"{hosts[source]}→{hosts[destination]}",
                group=group,
                source=source,
                destination=destination,
                message_bytes=workload.message_bytes,
                messages=None if group == "victim" else workload.messages,
                start_ns=workload.start if late else 0,
                until_ns=workload.until,
                in_flight=workload.in_flight,
                immediate=workload.immediate,
            )
        )
    return plans


def ring_plan(workload: RingAllReduce, hosts: int) -> RingPlan:
    """The plan of a ring; its buffer must divide into one chunk a host."""
    if hosts < 2:
        raise ScenarioError("workload: a ring needs at least two hosts")
    chunk, rest = divmod(workload.buffer_bytes, hosts)
    if rest or not chunk:
        raise ScenarioError(
            f"workload.buffer_bytes: {workload.buffer_bytes} does not divide into {hosts} chunks"
        )
    return RingPlan(hosts, chunk, workload.rounds)


def describe(workload: Workload, flows: int) -> str:
    """One line for people."""
    match workload:
        case RingAllReduce():
            return (
                f"ring_all_reduce of {workload.buffer_bytes} B over {flows} hosts, "
                f"{workload.rounds} rounds"
            )
        case _:
            amount = (
                f"{workload.messages} messages a flow"
                if workload.messages is not None
                else f"messages posted until {workload.until} ns"
            )
            return f"{workload.kind}: {flows} flows, {amount}, {workload.message_bytes} B each"


class DataPool:
    """Random bytes from the seed, of which each message is a slice of its own.

    Slices overlap, but no two start at the same place except by a chance of one in a million
    messages squared, so two messages never hold the same bytes at the same offset.
    """

    def __init__(self, seed: int, largest: int) -> None:
        rng = random.Random(f"{seed}/data")
        self._size = largest + _POOL_SLACK
        blocks = [
            rng.randbytes(min(1 << 20, self._size - at)) for at in range(0, self._size, 1 << 20)
        ]
        self._bytes = memoryview(b"".join(blocks))

    def message(self, flow: int, number: int, length: int) -> memoryview:
        """The bytes of message ``number`` of flow ``flow``: a read-only view, nothing is copied."""
        # Odd multipliers spread the starts; modulo 2^20 they are distinct for neighbours.
        start = (flow * 0x9E3B1 + number * 0x3C6EF + 1) % _POOL_SLACK
        return self._bytes[start : start + length]
