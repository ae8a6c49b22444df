# SPDX-License-Identifier: Apache-2.0
"""A host of the virtual world: a protocol engine, and the ports that its frames leave by.

A port has two short queues: control first, then data. Data is pulled: when a port has less than
`SLACK` frames waiting, the engine is asked for more, so that a frame's path is chosen late, from
what is known then, and the port is never idle for want of being asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappush
from typing import Any

from endpoint.nic import Nic
from endpoint.stats import QpStats
from testbed.frames import DATA, is_whole, label
from testbed.losses import Losses
from testbed.measure import Bins
from testbed.virtual.link import Direction
from testbed.virtual.loop import EventLoop
from topologies.timing import ETHERNET_OVERHEAD_BYTES

SLACK = 3
"""Data frames that may wait at a port beside the one on the wire."""

_REFILL = 1
"""The engine is asked for data when no more than this many frames wait."""


class HostPort:
    """A NIC port: what waits to be sent, and what arrives."""

    __slots__ = (
        "_free_at",
        "_node",
        "_remainder",
        "_sending",
        "busy_ns",
        "control",
        "data",
        "direction",
        "down_by",
        "number",
    )

    def __init__(self, node: HostNode, number: int) -> None:
        self._node = node
        self.number = number
        self.control: deque[bytes] = deque()
        self.data: deque[bytes] = deque()
        self.direction: Direction
        self.busy_ns = 0
        self.down_by: int | None = None
        """The occurrence that took the port down, as its host has noticed; None while up."""
        self._free_at = 0
        self._remainder = 0
        self._sending = False

    def receive(self, now: int, frame: bytes) -> None:
        """A frame has arrived whole."""
        if self.down_by is None:
            self._node.receive(now, self.number, frame)
        else:
            self._node.lose(now, self, frame)

    def start(self, now: int) -> None:
        """Something was queued: send, if the port is free."""
        if not self._sending:
            self._sending = True
            if self._free_at > now:
                loop = self._node.loop
                heappush(loop.heap, (self._free_at, next(loop.sequence), self._send, None))
            else:
                self._send(now, None)

    def _send(self, now: int, _: Any) -> None:
        pulled = False
        if self.control:
            frame = self.control.popleft()
        elif self.data:
            frame = self.data.popleft()
            pulled = len(self.data) <= _REFILL
        else:
            self._sending = False
            return
        direction = self.direction
        on_wire, self._remainder = divmod(
            (len(frame) + ETHERNET_OVERHEAD_BYTES) * direction.numerator + self._remainder,
            direction.denominator,
        )
        self.busy_ns += on_wire
        self._free_at = free_at = now + on_wire
        loop = self._node.loop
        heappush(
            loop.heap,
            (free_at + direction.delay_ns, next(loop.sequence), direction.deliver, frame),
        )
        heappush(loop.heap, (free_at, next(loop.sequence), self._send, None))
        if pulled:
            self._node.pump(now)

    def flush(self) -> list[bytes]:
        """Take everything out of the queues."""
        frames = [*self.control, *self.data]
        self.control.clear()
        self.data.clear()
        return frames


class HostNode:
    """A host: its engine, its ports, its timer.

    ``on_progress(host, now)`` is called after anything that may have completed a work request.
    """

    def __init__(
        self,
        loop: EventLoop,
        name: str,
        nic: Nic,
        ports: int,
        *,
        goodput: Bins,
        losses: Losses,
    ) -> None:
        self.loop = loop
        self.name = name
        self.nic = nic
        self.ports = [HostPort(self, number) for number in range(ports)]
        self.quiet = False
        """Set at the end of a run: nothing more is sent, so that what is in flight can land."""
        self._goodput = goodput
        self._losses = losses
        self.on_progress: Callable[[HostNode, int], None] = lambda host, now: None
        self._timer_at: int | None = None
        self._room = [0] * ports
        self._inbound: dict[int, tuple[QpStats, dict[int, int]]] = {}

    def expect(self, qpn: int, stats: QpStats, bins: dict[int, int]) -> None:
        """Account what a QP of this host places to ``bins`` (see `testbed.measure.Bins`)."""
        self._inbound[qpn] = (stats, bins)

    def receive(self, now: int, port: int, frame: bytes) -> None:
        """A frame has reached the NIC."""
        inbound = None
        if self._inbound:  # where nothing is expected, a frame may be spoilt beyond a label
            tag = label(frame)
            inbound = self._inbound.get(tag.qpn) if tag.kind == DATA else None
        if inbound is None:
            self.nic.receive(port, frame, now)
        else:
            stats, bins = inbound
            before = stats.data_bytes_received
            self.nic.receive(port, frame, now)
            placed = stats.data_bytes_received - before
            if placed:
                index = now // self._goodput.bin_ns
                self._goodput.rows[port][index] += placed
                bins[index] += placed
            if self._losses.awaiting and is_whole(frame):
                self._losses.arrived(now, frame)
        self.pump(now)

    def pump(self, now: int) -> None:
        """Ask the engine what it wants to send, and re-arm its timer."""
        if self.quiet:
            return
        nic, ports, room = self.nic, self.ports, self._room
        for port in ports:
            room[port.number] = SLACK - len(port.data) if port.down_by is None else 0
        started = []
        for number, frame, urgent in nic.frames_to_send(now, room):
            port = ports[number]
            (port.control if urgent else port.data).append(frame)
            if port not in started:
                started.append(port)
        for port in started:
            port.start(now)
        self.on_progress(self, now)
        self._arm(now)

    def _arm(self, now: int) -> None:
        due = self.nic.next_timer_ns()
        if due is not None and (self._timer_at is None or due < self._timer_at):
            self._timer_at = max(due, now)
            self.loop.at(self._timer_at, self._timer)

    def _timer(self, now: int, _: Any) -> None:
        if self._timer_at != now or self.quiet:
            return  # an earlier timer was armed since, and has run
        self._timer_at = None
        due = self.nic.next_timer_ns()
        if due is not None and due <= now:
            self.nic.on_timer(now)
            self.pump(now)
        else:
            self._arm(now)

    def carrier_lost(self, now: int, number: int, occurrence: int) -> None:
        """The NIC has noticed that a port lost its carrier."""
        port = self.ports[number]
        port.down_by = occurrence
        self.nic.port_down(number, now)
        for frame in port.flush():
            self.lose(now, port, frame)
        self.pump(now)

    def carrier_back(self, now: int, number: int) -> None:
        """The NIC has noticed that a port has carrier again."""
        self.ports[number].down_by = None
        self.nic.port_up(number, now)
        self.pump(now)

    def lose(self, now: int, port: HostPort, frame: bytes) -> None:
        """A frame is lost at a port that is down."""
        assert port.down_by is not None
        place = f"{self.name} port {port.number}"
        self._losses.lost(now, frame, place, "NIC port down", port.down_by)
