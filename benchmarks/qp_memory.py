# SPDX-License-Identifier: Apache-2.0
"""Memory of a queue pair: 1,000 connections between the 16 hosts of `rack16`, in virtual time.

Each connection is two queue pairs, one at either host, and both write to the other; so 2,000 are
counted. What is counted is what Python allocates (tracemalloc) between the moment before the first
is made and the moment when all is at rest, divided by 2,000: the queue pairs, their paths and
prepared headers, their share of peers and timers, and nothing of the application's buffers.
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from dataclasses import dataclass
from typing import Any

from endpoint.events import WorkStatus
from endpoint.memory import MemoryRegion
from testbed.losses import Losses
from testbed.run import compiled_program
from testbed.virtual.host import HostNode
from testbed.virtual.plant import Plant
from topologies import load

FABRIC = "rack16"
CONNECTIONS = 1_000
WRITE_BYTES = 16_384
AT_ONCE = 20
"""Connections that begin to write in each step; all at once would measure trimming."""
_STEP_NS = 10_000
LIMIT_BYTES = 64 * 1024
_BIN_NS = 1_000_000
_LONGEST_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class QpMemory:
    """Bytes a queue pair: once connected, and at rest after its write in either direction."""

    queue_pairs: int
    connected: float
    used: float
    moved_bytes: int


def measure(
    connections: int = CONNECTIONS, write_bytes: int = WRITE_BYTES, seed: int = 1
) -> QpMemory:
    """Connect, transfer, compare all memory. RuntimeError when anything did not arrive right."""
    plant = Plant(load(FABRIC), compiled_program(), seed, Losses(lambda flow: 0), _BIN_NS)
    rng = random.Random(seed)
    ends = [rng.sample(plant.hosts, 2) for _ in range(connections)]
    data = rng.randbytes(write_bytes + connections * 2)
    inboxes = _Inboxes(plant.hosts, ends, write_bytes)
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        before = _allocated()
        pairs = []
        for near, far in ends:
            a, b = near.nic.create_qp(), far.nic.create_qp()
            a.connect(b.info(), 0)
            b.connect(a.info(), 0)
            pairs.append((a, b))
        connected = _allocated() - before
        failed = 0
        for number, (a, b) in enumerate(pairs):
            for turn, qp in enumerate((a, b)):
                start = 2 * number + turn
                region, at = inboxes.slot(number, turn)
                view = memoryview(data)[start : start + write_bytes]
                qp.post_write(number, view, region.va + at, region.rkey, now_ns=plant.loop.now)
            if number % AT_ONCE == 0:
                failed += _step(plant)
        failed += _run(plant)
        used = _allocated() - before
    finally:
        if not was_tracing:
            tracemalloc.stop()
    wrong = inboxes.wrong(data)
    if failed or wrong:
        raise RuntimeError(f"{failed} writes failed, {wrong} arrived wrong")
    count = 2 * connections
    return QpMemory(count, connected / count, used / count, count * write_bytes)


class _Inboxes:
    """Memory of each host that its peers write to, a slot a queue pair; made beforehand."""

    def __init__(self, hosts: list[HostNode], ends: list[list[HostNode]], write_bytes: int) -> None:
        self._write_bytes = write_bytes
        filled = dict.fromkeys((host.name for host in hosts), 0)
        self._slots: list[tuple[str, int]] = []
        for near, far in ends:
            for target in (far, near):
                self._slots.append((target.name, filled[target.name]))
                filled[target.name] += write_bytes
        self._regions: dict[str, MemoryRegion] = {
            host.name: host.nic.register_memory(bytearray(filled[host.name])) for host in hosts
        }

    def slot(self, number: int, turn: int) -> tuple[MemoryRegion, int]:
        """Region and offset of what the near (0) or far (1) end of a connection writes."""
        name, at = self._slots[2 * number + turn]
        return self._regions[name], at

    def wrong(self, data: bytes) -> int:
        """How many writes are not in memory as sent."""
        size = self._write_bytes
        return sum(
            self._regions[name].buffer[at : at + size] != data[start : start + size]
            for start, (name, at) in enumerate(self._slots)
        )


def _run(plant: Plant) -> int:
    """Until nothing happens any more; how many writes did not succeed."""
    failed = 0
    while plant.loop.heap:
        if plant.loop.now > _LONGEST_NS:
            raise RuntimeError("the transfers do not come to an end")
        failed += _step(plant)
    return failed


def _step(plant: Plant) -> int:
    """A few µs in which every host sends what it can; how many writes failed."""
    loop, failed = plant.loop, 0
    for host in plant.hosts:
        host.pump(loop.now)
    loop.run(loop.now + _STEP_NS)
    for host in plant.hosts:
        done = host.nic.poll_completions()
        failed += sum(completion.status is not WorkStatus.SUCCESS for completion in done)
        host.nic.events()
    return failed


def _allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def run() -> list[dict[str, Any]]:
    """Two records: once connected, and after use."""
    result = measure()
    return [
        {
            "benchmark": "qp_memory",
            "configuration": {"fabric": FABRIC, "queue pairs": result.queue_pairs, "when": when},
            "metric": "memory of a queue pair",
            "value": round(bytes_each / 1024, 1),
            "lowest": round(bytes_each / 1024, 1),
            "highest": round(bytes_each / 1024, 1),
            "unit": "KiB",
        }
        for when, bytes_each in (("connected", result.connected), ("used", result.used))
    ]
