# SPDX-License-Identifier: Apache-2.0
"""One NIC port: an interface's frames in and out, counted; errors are losses, never failures."""

import errno
import socket
from collections import deque

from endpoint.agent.arrivals import Arrival
from endpoint.agent.errors import SetupError
from endpoint.agent.netlink import LinkState
from endpoint.agent.pacing import Pacer
from endpoint.agent.packet_socket import open_packet_socket, read_drops, receive_frame
from endpoint.agent.values import PortStatistics, PortStatus

MOST_FRAME_BYTES = 9216 + 14 + 4
"""Longer than any frame of a fabric, so that no frame is cut here and taken for a trimmed one."""

_BACKLOG_FRAMES = 1024


class NicPort:
    """A port of the NIC. `number` is its plane; the interface may vanish and come back."""

    def __init__(self, number: int, interface: str, pacer: Pacer, receive_bytes: int) -> None:
        self.number = number
        self.interface = interface
        self.pacer = pacer
        self.usable = True
        self.starved = False
        """Whether it had no room left when frames were last asked for."""
        self.mtu = 0
        self.changes = 0
        self.frames_received = self.bytes_received = 0
        self.frames_sent = self.bytes_sent = 0
        self.socket_drops = self.interface_drops = 0
        self.send_errors: dict[str, int] = {}
        self.receive_errors: dict[str, int] = {}
        self._receive_bytes = receive_bytes
        self._backlog: deque[bytes] = deque()
        self._socket = open_packet_socket(interface, receive_bytes)
        self._index = socket.if_nametoindex(interface)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    # -- in -------------------------------------------------------------------------------------

    def receive(self, arrivals: list[Arrival], most: int) -> bool:
        """Appends what has arrived, up to `most` frames; whether that may not be all."""
        sock, number = self._socket, self.number
        for _ in range(most):
            try:
                frame, time_ns = receive_frame(sock, MOST_FRAME_BYTES)
            except BlockingIOError:
                return False
            except OSError as error:  # ENETDOWN once, when the interface goes down
                _count(self.receive_errors, error)
                return False
            self.frames_received += 1
            self.bytes_received += len(frame)
            arrivals.append((time_ns, number, frame))
        return True

    def read_drops(self) -> int:
        """Frames dropped at the socket since the last call."""
        try:
            return read_drops(self._socket)
        except OSError as error:
            _count(self.receive_errors, error)
            return 0

    # -- out ------------------------------------------------------------------------------------

    @property
    def blocked(self) -> bool:
        """Whether frames wait for the kernel to take more; then `fileno()` is to be watched."""
        return bool(self._backlog)

    def room(self, now_ns: int) -> int:
        """Data frames that may be sent now."""
        return 0 if self._backlog or not self.usable else self.pacer.room(now_ns)

    def send(self, frame: bytes, urgent: bool, now_ns: int) -> None:
        """Sends a frame, or keeps it until the kernel takes it. One that it refuses is lost, and
        counted: so it is when an egress hook drops it or the link has just gone down."""
        self.pacer.sent(len(frame), urgent, now_ns)
        if self._backlog:
            self._keep(frame)
            return
        try:
            self._socket.send(frame)
        except BlockingIOError:
            self._keep(frame)
        except OSError as error:
            _count(self.send_errors, error)
        else:
            self.frames_sent += 1
            self.bytes_sent += len(frame)

    def _keep(self, frame: bytes) -> None:
        if len(self._backlog) < _BACKLOG_FRAMES:
            self._backlog.append(frame)
        else:
            _count(self.send_errors, OSError(errno.EAGAIN, "backlog full"))

    def unblock(self) -> None:
        """The kernel takes frames again: sends what was kept, in order."""
        while self._backlog:
            frame = self._backlog[0]
            try:
                self._socket.send(frame)
            except BlockingIOError:
                return
            except OSError as error:
                _count(self.send_errors, error)
            else:
                self.frames_sent += 1
                self.bytes_sent += len(frame)
            self._backlog.popleft()

    # -- the link -------------------------------------------------------------------------------

    def heard(self, link: LinkState) -> bool:
        """The kernel told of this interface; whether `usable` changed.

        An interface that was made anew under the old name gets a new socket.
        """
        usable = link.usable
        if not link.gone:
            self.mtu = link.mtu
            if link.index != self._index and not self._reopen():
                usable = False
        elif link.index != self._index:
            return False  # the end of an interface that another one has replaced
        if usable == self.usable:
            return False
        self.usable = usable
        self.changes += 1
        self._backlog.clear()
        return True

    def _reopen(self) -> bool:
        try:
            fresh = open_packet_socket(self.interface, self._receive_bytes)
            index = socket.if_nametoindex(self.interface)
        except (SetupError, OSError):  # gone again: the next message tells
            return False
        self._socket.close()
        self._socket, self._index = fresh, index
        return True

    # -- for control ----------------------------------------------------------------------------

    def statistics(self) -> PortStatistics:
        """The counters as they are now."""
        return PortStatistics(
            self.number,
            self.frames_received,
            self.bytes_received,
            self.frames_sent,
            self.bytes_sent,
            dict(self.send_errors),
            dict(self.receive_errors),
            self.socket_drops,
            self.interface_drops,
        )

    def status(self) -> PortStatus:
        """The port as it is now."""
        pacer = self.pacer
        return PortStatus(
            self.number,
            self.interface,
            self.usable,
            self.mtu,
            pacer.rate_bps,
            pacer.rate_fps,
            self.changes,
        )


def _count(counts: dict[str, int], error: OSError) -> None:
    name = errno.errorcode.get(error.errno or 0, str(error.errno))
    counts[name] = counts.get(name, 0) + 1
