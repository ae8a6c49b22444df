# SPDX-License-Identifier: Apache-2.0
"""One port of a switch process: whole frames of a network interface (AF_PACKET; packet(7))."""

from __future__ import annotations

import errno
import socket
from struct import Struct

_ETH_P_ALL = 0x0003
_SOL_PACKET = 263
_ADD_MEMBERSHIP, _STATISTICS, _AUXDATA, _IGNORE_OUTGOING = 1, 6, 8, 23
_PROMISCUOUS = 1
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 32, 33, 35

_MREQ = Struct("=iHH8x")  # packet_mreq: index, type, address length, address
_STATS = Struct("=II")  # tpacket_stats: packets, drops
_TIME = Struct("@ll")  # timespec, real-time clock
_AUX = Struct("=IIIHHHH")  # tpacket_auxdata: status, lengths, offsets, VLAN TCI and TPID
_VLAN = Struct("!HH")
_VLAN_VALID = 1 << 4
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIME.size) + socket.CMSG_SPACE(_AUX.size)
_SEND_BYTES = 4 << 20

MOST_FRAME_BYTES = 65535 + 18

Arrival = tuple[int, int, bytes]
"""When a frame reached the machine (ns of the real-time clock), its port, the frame."""


class InterfaceError(Exception):
    """An interface cannot be used; the message names it."""


class Interface:
    """Port `number` of a switch on the interface `name`. Counts what happens to frames.

    `receive_bytes`: how much the kernel keeps while nobody reads, its own overhead included.
    Raises InterfaceError.
    """

    __slots__ = (
        "_socket",
        "kernel_drops",
        "name",
        "number",
        "received",
        "send_errors",
        "sent",
    )

    def __init__(self, number: int, name: str, receive_bytes: int) -> None:
        self.number = number
        self.name = name
        self.received = self.sent = 0
        self.send_errors: dict[str, int] = {}
        self.kernel_drops = 0
        self._socket = _open(name, receive_bytes)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def receive(self, arrivals: list[Arrival], most: int) -> None:
        """Append what has arrived, up to `most` frames, oldest first."""
        receive, number = self._socket.recvmsg, self.number
        for _ in range(most):
            try:
                frame, ancillary, _, _ = receive(MOST_FRAME_BYTES, _ANCILLARY_BYTES)
            except BlockingIOError:
                return
            except OSError as error:  # ENETDOWN, once when the interface goes down
                self._count(error)
                return
            self.received += 1
            stamp = 0
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
                    seconds, nanoseconds = _TIME.unpack(data)
                    stamp = seconds * 1_000_000_000 + nanoseconds
                elif level == _SOL_PACKET and kind == _AUXDATA:
                    frame = _with_tag(frame, data)
            arrivals.append((stamp, number, frame))

    def send(self, frame: bytes) -> None:
        """Send a frame; one that the kernel refuses is lost, and counted by error."""
        try:
            self._socket.send(frame)
        except OSError as error:
            self._count(error)
        else:
            self.sent += 1

    def _count(self, error: OSError) -> None:
        name = errno.errorcode.get(error.errno or 0, "?")
        self.send_errors[name] = self.send_errors.get(name, 0) + 1

    def read_kernel_drops(self) -> int:
        """Add frames that the kernel dropped here, unread, since the last call; those of it."""
        data = self._socket.getsockopt(_SOL_PACKET, _STATISTICS, _STATS.size)
        dropped: int = _STATS.unpack(data)[1]
        self.kernel_drops += dropped
        return dropped


def _open(name: str, receive_bytes: int) -> socket.socket:
    kind = socket.SOCK_RAW | socket.SOCK_NONBLOCK
    try:
        opened = socket.socket(socket.AF_PACKET, kind, 0)  # protocol 0: nothing before bind
    except PermissionError:
        raise InterfaceError(f"{name}: packet sockets need root, or CAP_NET_RAW") from None
    try:
        index = socket.if_nametoindex(name)
        opened.setsockopt(_SOL_PACKET, _IGNORE_OUTGOING, 1)
        opened.setsockopt(_SOL_PACKET, _AUXDATA, 1)
        opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        _buffer(opened, _SO_RCVBUFFORCE, socket.SO_RCVBUF, receive_bytes)
        _buffer(opened, _SO_SNDBUFFORCE, socket.SO_SNDBUF, _SEND_BYTES)
        opened.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, _MREQ.pack(index, _PROMISCUOUS, 0))
        opened.bind((name, _ETH_P_ALL))
    except OSError as error:
        opened.close()
        raise InterfaceError(f"{name}: {error.strerror or error}") from None
    return opened


def _buffer(opened: socket.socket, force: int, plain: int, size: int) -> None:
    try:
        opened.setsockopt(socket.SOL_SOCKET, force, size)
    except PermissionError:
        opened.setsockopt(socket.SOL_SOCKET, plain, size)


def _with_tag(frame: bytes, auxdata: bytes) -> bytes:
    """The frame as it was on the wire: the kernel takes an 802.1Q tag out and tells of it."""
    status, _, _, _, _, tci, tpid = _AUX.unpack(auxdata)
    if not status & _VLAN_VALID:
        return frame
    return frame[:12] + _VLAN.pack(tpid or 0x8100, tci) + frame[12:]
