# SPDX-License-Identifier: Apache-2.0
"""A switch's pipelines and queues, worked through in the order in which things happened.

A process is not always scheduled when a frame arrives or a port falls free. So a frame enters the
pipeline at the time it arrived, whenever that is told, and before that leaves every packet whose
port was free by then. Being late delays frames, but neither fills queues nor slows ports below
their rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Any

from softswitch.queues import PortScheduler
from softswitch.switch import Switch

Send = Callable[[bytes], None]


class _Port:
    """Queues, and where their packets go. `since_ns`: when they last ceased to be empty."""

    __slots__ = ("queued", "scheduler", "send", "since_ns")

    def __init__(self, scheduler: PortScheduler, send: Send) -> None:
        self.scheduler = scheduler
        self.send = send
        self.queued = 0
        self.since_ns = 0


class RealTimePipeline:
    """`switch` between ports that have queues and a way out, by port number."""

    def __init__(
        self, switch: Switch, queues: Mapping[int, PortScheduler], ways_out: Mapping[int, Send]
    ) -> None:
        self.switch = switch
        self.no_such_port = 0
        """Packets for ports that are not there."""
        self._ports = {
            number: _Port(scheduler, ways_out[number]) for number, scheduler in queues.items()
        }
        self._due: list[tuple[int, int]] = []
        """Heap of (time, port), one item for each port that has packets."""
        self._at_ns = 0

    @property
    def due_ns(self) -> int | None:
        """When `work` has something to send, None when nothing waits."""
        return self._due[0][0] if self._due else None

    def dropped(self, number: int) -> list[int]:
        """Packets that found the queue of their class full, by class."""
        return self._ports[number].scheduler.dropped

    def work(self, arrivals: Iterable[tuple[int, int, bytes]], now_ns: int) -> None:
        """Take in frames (time of arrival, port, frame), in order, and send all that is due.

        A time before that of an earlier call counts as that one, and none is after `now_ns`.
        """
        ingress = self.switch.ingress
        with self.switch.lock:
            at_ns = self._at_ns
            for arrived_ns, number, frame in arrivals:
                if arrived_ns > at_ns:
                    at_ns = min(arrived_ns, now_ns)
                self._release(at_ns)
                for out, priority, packet in ingress(number, frame, at_ns // 1000):
                    self._enqueue(out, priority, packet, at_ns)
            self._at_ns = max(at_ns, now_ns)
            self._release(now_ns)

    def _enqueue(self, number: int, priority: int, packet: Any, at_ns: int) -> None:
        port = self._ports.get(number)
        if port is None:
            self.no_such_port += 1
        elif port.scheduler.enqueue(priority, packet, at_ns):
            port.queued += 1
            if port.queued == 1:
                port.since_ns = at_ns
                self._schedule(number, port)

    def _schedule(self, number: int, port: _Port) -> None:
        due_ns = port.scheduler.next_dequeue_ns()
        assert due_ns is not None
        heappush(self._due, (max(due_ns, port.since_ns), number))

    def _release(self, until_ns: int) -> None:
        """Send every packet whose time has come, each at its own time."""
        due = self._due
        while due and due[0][0] <= until_ns:
            at_ns, number = heappop(due)
            port = self._ports[number]
            item = port.scheduler.dequeue(at_ns)
            if item is not None:
                port.queued -= 1
                port.since_ns = at_ns
                depth = port.scheduler.depth(item[0])
                frame = self.switch.egress(item[1], at_ns // 1000, depth)
                if frame is not None:
                    port.send(frame)
            if port.queued:
                self._schedule(number, port)
