# SPDX-License-Identifier: Apache-2.0
"""A switch of the virtual world: the P4 program's pipelines around three queues a port.

Ingress runs when a frame has arrived whole, egress when the port takes the packet out of its
queue. The pipelines themselves take no time; time passes in queues and on links.
"""

from __future__ import annotations

import random
from heapq import heappush
from typing import Any

from softswitch.program import Program
from softswitch.queues import PortScheduler
from testbed.losses import Losses
from testbed.virtual.link import Direction
from testbed.virtual.loop import EventLoop
from testbed.virtual.provisioning import Provisioning
from topologies.timing import ETHERNET_OVERHEAD_BYTES

TRIMMED = "MrcIngress.queueing.trimmed"
MARKED = "MrcIngress.queueing.marked"
DROPS = "MrcIngress.drops"
CLASS_ENQUEUED = "MrcIngress.queueing.class_enqueued"
CLASS_DEQUEUED = "MrcEgress.dequeueing.class_dequeued"
_KEPT = (TRIMMED, MARKED, DROPS, CLASS_ENQUEUED, CLASS_DEQUEUED)


class SwitchPort:
    """A port: receives into the pipeline, and sends from its queues at the link's rate."""

    __slots__ = (
        "_egress",
        "_free_at",
        "_node",
        "_remainder",
        "_waiting",
        "direction",
        "loop",
        "number",
        "scheduler",
    )

    def __init__(self, node: SwitchNode, number: int, scheduler: PortScheduler) -> None:
        self._node = node
        self.number = number
        self.scheduler = scheduler
        self.loop = node.loop
        self.direction: Direction
        self._free_at = 0
        self._remainder = 0
        self._waiting = 0

    def receive(self, now: int, frame: bytes) -> None:
        """A frame has arrived whole."""
        node = self._node
        node.hops += 1
        for number, priority, packet in node.switch.ingress(self.number, frame, now // 1000):
            port = node.ports.get(number)
            if port is None:
                node.no_such_port += 1
            elif port._waiting or port._free_at > now:
                port._enqueue(priority, packet, now)
            else:
                # Idle port, empty queues: the packet would leave its queue as it entered it.
                frame_out = node.switch.egress(packet, now // 1000)
                if frame_out is not None:
                    port._put_on_wire(frame_out, now)

    def _enqueue(self, priority: int, packet: Any, now: int) -> None:
        if self.scheduler.enqueue(priority, packet, now):
            self._waiting += 1
            if self._waiting == 1:
                loop = self.loop
                heappush(loop.heap, (self._free_at, next(loop.sequence), self._send, None))

    def _send(self, now: int, _: Any) -> None:
        """The port is free: put the next packet on the wire. It was scheduled as one waited."""
        if now < self._free_at:
            return  # the queues were flushed since, and have begun anew
        while self._waiting:
            item = self.scheduler.dequeue(now)
            assert item is not None
            self._waiting -= 1
            frame = self._node.switch.egress(item[1], now // 1000)
            if frame is not None:
                self._put_on_wire(frame, now)
                if self._waiting:
                    loop = self.loop
                    heappush(loop.heap, (self._free_at, next(loop.sequence), self._send, None))
                return

    def _put_on_wire(self, frame: bytes, now: int) -> None:
        direction = self.direction
        on_wire, self._remainder = divmod(
            (len(frame) + ETHERNET_OVERHEAD_BYTES) * direction.numerator + self._remainder,
            direction.denominator,
        )
        self._free_at = free_at = now + on_wire
        loop = self.loop
        heappush(
            loop.heap,
            (free_at + direction.delay_ns, next(loop.sequence), direction.deliver, frame),
        )

    def flush(self, now: int) -> list[tuple[int, Any]]:
        """Take everything out of the queues, as (priority, packet)."""
        items = []
        while (item := self.scheduler.dequeue(now)) is not None:
            items.append(item)
        self._waiting = 0
        return items


class SwitchNode:
    """A switch and its ports. ``provisioning`` makes it, and fills it again after a stop."""

    def __init__(
        self,
        loop: EventLoop,
        name: str,
        program: Program,
        *,
        rng: random.Random,
        provisioning: Provisioning,
    ) -> None:
        self.loop = loop
        self.name = name
        self.ports: dict[int, SwitchPort] = {}
        self.hops = 0
        self.no_such_port = 0
        self.lost_in_stop: dict[tuple[int, int], int] = {}
        """Packets that waited when the switch stopped, by port and priority."""
        self._past: dict[str, list[int]] = {}
        self._provisioning = provisioning
        self.switch = provisioning.make(name, program, rng)

    def add_port(self, number: int, scheduler: PortScheduler) -> SwitchPort:
        """A new port; its `direction` is set when it is wired."""
        port = self.ports[number] = SwitchPort(self, number, scheduler)
        return port

    def counts(self, counter: str) -> list[int]:
        """Packets in each cell of a counter since the start of the run, over all restarts."""
        current = self.switch.counters[counter].packets
        past = self._past.get(counter)
        return (
            list(current) if past is None else [a + b for a, b in zip(past, current, strict=True)]
        )

    def stop(self, now: int, losses: Losses, occurrence: int) -> None:
        """Lose queues, tables, registers and counters; `counts` remembers the latter."""
        self._past = {counter: self.counts(counter) for counter in _KEPT}
        for port in self.ports.values():
            for priority, packet in port.flush(now):
                key = (port.number, priority)
                self.lost_in_stop[key] = self.lost_in_stop.get(key, 0) + 1
                frame = self.switch.egress(packet, now // 1000)
                if frame is not None:
                    losses.lost(now, frame, self.name, "switch stopped", occurrence)
        self.switch.clear_state()

    def start(self) -> None:
        """Be provisioned again."""
        self._provisioning.again(self.switch)
