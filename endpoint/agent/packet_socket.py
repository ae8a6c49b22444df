# SPDX-License-Identifier: Apache-2.0
"""Raw sockets for the frames of one interface (AF_PACKET; linux/if_packet.h)."""

import socket
from struct import Struct

from endpoint.agent.errors import SetupError

_ETH_P_IPV6 = 0x86DD
_SOL_PACKET = 263
_PACKET_ADD_MEMBERSHIP, _PACKET_STATISTICS, _PACKET_IGNORE_OUTGOING = 1, 6, 23
_PACKET_MR_PROMISC = 1
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 32, 33, 35

_MEMBERSHIP = Struct("=iHH8x")  # packet_mreq: index, type, address length, address
_STATISTICS = Struct("=II")  # tpacket_stats: packets, drops
_TIMESPEC = Struct("@ll")  # seconds and nanoseconds of the real-time clock
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)


def open_packet_socket(
    interface: str, receive_bytes: int, send_bytes: int = 4 << 20
) -> socket.socket:
    """A non-blocking socket that receives and sends whole IPv6 frames of `interface`.

    Frames sent by this machine are not received. `receive_bytes` is how much the kernel keeps,
    its own overhead included, while nobody reads; it passes the system's limit where the process
    may. SetupError names the interface.

    Frames take the ordinary way out (no PACKET_QDISC_BYPASS): an nftables egress hook, which
    stands for a fault, must see them.
    """
    kind = socket.SOCK_RAW | socket.SOCK_NONBLOCK
    try:
        sock = socket.socket(socket.AF_PACKET, kind, 0)  # protocol 0: nothing before bind
    except PermissionError as error:
        raise SetupError(f"{interface}: raw sockets need root, or CAP_NET_RAW") from error
    try:
        index = socket.if_nametoindex(interface)
        sock.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        _set_buffer(sock, _SO_RCVBUFFORCE, socket.SO_RCVBUF, receive_bytes)
        _set_buffer(sock, _SO_SNDBUFFORCE, socket.SO_SNDBUF, send_bytes)
        membership = _MEMBERSHIP.pack(index, _PACKET_MR_PROMISC, 0)
        sock.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)
        sock.bind((interface, _ETH_P_IPV6))
    except OSError as error:
        sock.close()
        raise SetupError(f"{interface}: {error.strerror or error}") from error
    return sock


def _set_buffer(sock: socket.socket, force: int, plain: int, size: int) -> None:
    try:
        sock.setsockopt(socket.SOL_SOCKET, force, size)
    except PermissionError:
        sock.setsockopt(socket.SOL_SOCKET, plain, size)


def receive_frame(sock: socket.socket, most_bytes: int) -> tuple[bytes, int]:
    """The next frame, and when it reached this machine: ns of the real-time clock, 0 if unknown.

    OSError as of recvmsg(2); BlockingIOError when there is none.
    """
    frame, ancillary, _, _ = sock.recvmsg(most_bytes, _ANCILLARY_BYTES)
    for level, kind, data in ancillary:
        if kind == _SO_TIMESTAMPNS and level == socket.SOL_SOCKET and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            return frame, seconds * 1_000_000_000 + nanoseconds
    return frame, 0


def read_drops(sock: socket.socket) -> int:
    """Frames that the kernel dropped at this socket since the last call (PACKET_STATISTICS)."""
    answer = sock.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size)
    drops: int = _STATISTICS.unpack(answer)[1]
    return drops
