# SPDX-License-Identifier: Apache-2.0
"""Forwards packets between interfaces in real time: the loop around a switch's two pipelines.

The process is not always scheduled when a frame arrives or a port falls free. So it works through
what happened in the order and with the times in which it should have: a frame enters the pipeline
at the time the kernel received it, and before that leaves every packet whose port was free by
then. Being late delays frames, but neither fills queues nor slows ports below their rate.
"""

from __future__ import annotations

import logging
import select
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from operator import itemgetter
from pathlib import Path
from time import monotonic_ns, time_ns
from typing import Any

from softswitch.interface import Arrival, Interface
from softswitch.queue_settings import QueueSettings
from softswitch.queues import PortScheduler
from softswitch.switch import Switch

RECEIVE_BUDGET = 64
"""Frames taken from one interface before the others have their turn."""
_CHECK_NS = 1_000_000_000
_SWITCH_INTERVAL_S = 0.0005
"""How long a control thread may keep the interpreter from forwarding, about."""
_TIMER_SLACK = Path("/proc/self/timerslack_ns")

_log = logging.getLogger("softswitch")


class _Port:
    """An interface with its queues. `since_ns`: when the queues last ceased to be empty."""

    __slots__ = ("interface", "queued", "scheduler", "since_ns")

    def __init__(self, interface: Interface, scheduler: PortScheduler) -> None:
        self.interface = interface
        self.scheduler = scheduler
        self.queued = 0
        self.since_ns = 0


class Forwarder:
    """`use` a switch, `run` in one thread, `stop` from any. Settings are by port number."""

    def __init__(
        self, interfaces: Sequence[Interface], settings: Mapping[int, QueueSettings]
    ) -> None:
        self._interfaces = list(interfaces)
        self._settings = settings
        self._next: Switch | None = None
        self._switch: Switch | None = None
        self._ports: dict[int, _Port] = {}
        self._due: list[tuple[int, int]] = []
        """Heap of (time, port), one item for each port that has packets."""
        self._at_ns = 0
        self._stopping = False
        self._bell, self._ring = socket.socketpair()
        self._bell.setblocking(False)
        self.no_such_port = 0
        self.without_program = 0

    # -- from other threads -------------------------------------------------------------------

    def use(self, switch: Switch) -> None:
        """Forward with this switch from the next packet on; what is queued in another is lost."""
        self._next = switch
        self._wake()

    def stop(self) -> None:
        """End `run` soon; safe in a signal handler."""
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        self._ring.send(b"\0")

    # -- the loop -----------------------------------------------------------------------------

    def run(self) -> None:
        """Forward until `stop`."""
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        with suppress(OSError):
            _TIMER_SLACK.write_text("1")
        check_ns = monotonic_ns() + _CHECK_NS
        watched = [self._bell, *self._interfaces]
        wait_s = 0.0
        while not self._stopping:
            readable, _, _ = select.select(watched, (), (), wait_s)
            arrivals: list[Arrival] = []
            for source in readable:
                if isinstance(source, Interface):
                    source.receive(arrivals, RECEIVE_BUDGET)
                else:
                    self._hear()
            now_ns = monotonic_ns()
            switch = self._switch
            if switch is None:
                self.without_program += len(arrivals)
            else:
                with switch.lock:
                    self._forward(switch, arrivals, now_ns)
            if now_ns >= check_ns:
                check_ns = now_ns + _CHECK_NS
                self._check_drops()
            wake_ns = min(self._due[0][0], check_ns) if self._due else check_ns
            wait_s = max(0, wake_ns - monotonic_ns()) / 1e9
        self._report()

    def _hear(self) -> None:
        self._bell.recv(4096)
        switch, self._next = self._next, None
        if switch is None:
            return
        self._switch = switch
        self._due.clear()
        stamp = switch.program.stamps_packets
        self._ports = {
            interface.number: _Port(
                interface, self._settings[interface.number].scheduler(stamp=stamp)
            )
            for interface in self._interfaces
        }

    def _forward(self, switch: Switch, arrivals: list[Arrival], now_ns: int) -> None:
        if len(arrivals) > 1:
            arrivals.sort(key=itemgetter(0))
        offset_ns = time_ns() - monotonic_ns()
        at_ns = self._at_ns
        for stamp_ns, number, frame in arrivals:
            arrived_ns = min(stamp_ns - offset_ns, now_ns) if stamp_ns else now_ns
            if arrived_ns > at_ns:
                at_ns = arrived_ns
            self._release(switch, at_ns)
            for egress_port, priority, packet in switch.ingress(number, frame, at_ns // 1000):
                self._enqueue(egress_port, priority, packet, at_ns)
        self._at_ns = max(at_ns, now_ns)
        self._release(switch, now_ns)

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

    def _release(self, switch: Switch, until_ns: int) -> None:
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
                frame = switch.egress(item[1], at_ns // 1000, depth)
                if frame is not None:
                    port.interface.send(frame)
            if port.queued:
                self._schedule(number, port)

    # -- what is told -------------------------------------------------------------------------

    def _check_drops(self) -> None:
        for interface in self._interfaces:
            dropped = interface.read_kernel_drops()
            if dropped:
                _log.warning(
                    "port %d (%s): the kernel dropped %d frames unread",
                    interface.number,
                    interface.name,
                    dropped,
                )

    def _report(self) -> None:
        self._check_drops()
        for interface in self._interfaces:
            port = self._ports.get(interface.number)
            _log.info(
                "port %d (%s): received %d, sent %d, dropped: kernel %d, queues %s, errors %s",
                interface.number,
                interface.name,
                interface.received,
                interface.sent,
                interface.kernel_drops,
                port.scheduler.dropped if port else [],
                interface.send_errors or "none",
            )
        _log.info(
            "packets for ports that are not there: %d; before a program was there: %d",
            self.no_such_port,
            self.without_program,
        )
