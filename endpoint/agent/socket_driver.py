# SPDX-License-Identifier: Apache-2.0
"""A `endpoint.verbs.Driver` in real time: one socket a port, whole Ethernet frames in and out.

For programs that use the API in a process of their own, without the agent's service: give it
`AF_PACKET` sockets bound to the NIC's interfaces, or any datagram sockets that lead to another
NIC. All work is done in the calls; between them nothing moves, so a program that waits for its
peer calls `wait` (with a condition of its own, or one that is never met, and a deadline).
"""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic_ns

from endpoint.nic import Nic

BURST = 32
"""Data frames that may wait at a port, and frames taken from one before the others' turn."""
MAX_FRAME = 65_536


class SocketDriver:
    """`sockets[port]` of the NIC's ports, from 0; they are made non-blocking."""

    def __init__(self, nic: Nic, sockets: Sequence[socket.socket]) -> None:
        if len(sockets) != nic.fabric.spec.planes:
            raise ValueError(f"{len(sockets)} sockets for {nic.fabric.spec.planes} ports")
        self._nic = nic
        self._sockets = list(sockets)
        self._waiting: list[deque[bytes]] = [deque() for _ in sockets]
        for port in sockets:
            port.setblocking(False)

    def now_ns(self) -> int:
        """The monotonic clock."""
        return monotonic_ns()

    def kick(self) -> None:
        """Sends what the NIC has, as far as the sockets take it."""
        room = [max(0, BURST - len(queue)) for queue in self._waiting]
        for port, frame, urgent in self._nic.frames_to_send(monotonic_ns(), room):
            queue = self._waiting[port]
            if urgent:
                queue.appendleft(frame)
            else:
                queue.append(frame)
        for port in range(len(self._sockets)):
            self._drain(port)

    def _drain(self, port: int) -> None:
        queue = self._waiting[port]
        while queue:
            try:
                self._sockets[port].send(queue[0])
            except BlockingIOError:
                return
            except OSError:
                queue.clear()  # nobody at the other end: lost, as on a dead link
                return
            queue.popleft()

    def wait(self, done: Callable[[], bool], deadline_ns: int) -> None:
        """Feeds and drains the NIC until `done()` or the deadline of the monotonic clock."""
        while not done():
            now_ns = monotonic_ns()
            if now_ns >= deadline_ns:
                return
            due_ns = self._nic.next_timer_ns()
            until_ns = deadline_ns if due_ns is None else min(due_ns, deadline_ns)
            blocked = [s for s, queue in zip(self._sockets, self._waiting, strict=True) if queue]
            timeout_s = max(0, until_ns - now_ns) / 1e9
            readable, _, _ = select.select(self._sockets, blocked, (), timeout_s)
            for port, source in enumerate(self._sockets):
                if source in readable:
                    self._feed(port)
            now_ns = monotonic_ns()
            due_ns = self._nic.next_timer_ns()
            if due_ns is not None and due_ns <= now_ns:
                self._nic.on_timer(now_ns)
            self.kick()

    def _feed(self, port: int) -> None:
        for _ in range(BURST):
            try:
                frame = self._sockets[port].recv(MAX_FRAME)
            except OSError:
                return
            self._nic.receive(port, frame, monotonic_ns())
