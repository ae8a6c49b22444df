# SPDX-License-Identifier: Apache-2.0
"""`python -m testbed.mininet.capture INTERFACE FILE`: both directions of a link into a pcap file.

Runs in the namespace of one end until its standard input ends. Prints `capturing` once it does.
A frame that a fault swallows at this end is not in the file, one that the far end swallows neither.
"""

from __future__ import annotations

import select
import socket
import sys
from pathlib import Path
from struct import Struct

from endpoint.wire.pcap import PcapWriter

_ETH_P_ALL = 0x0003
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
_TIMESPEC = Struct("@ll")
_RECEIVE_BYTES = 64 << 20
_MOST_FRAME_BYTES = 65553
_FLUSH_S = 0.5


def main() -> int:
    """Exit status 0, or 2 when the interface cannot be opened."""
    interface, path = sys.argv[1], Path(sys.argv[2])
    try:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        tap.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
        tap.bind((interface, _ETH_P_ALL))
    except OSError as error:
        print(f"capture: {interface}: {error.strerror}", file=sys.stderr)
        return 2
    with tap, path.open("wb") as file:
        writer = PcapWriter(file)
        file.flush()
        print("capturing", flush=True)
        open_input = True
        while open_input:
            readable, _, _ = select.select([tap, sys.stdin], (), (), _FLUSH_S)
            open_input = sys.stdin not in readable
            while _take(tap, writer):
                pass
            file.flush()
    return 0


def _take(tap: socket.socket, writer: PcapWriter) -> bool:
    """Write the next frame; whether there was one."""
    try:
        frame, ancillary, _, _ = tap.recvmsg(_MOST_FRAME_BYTES, socket.CMSG_SPACE(_TIMESPEC.size))
    except BlockingIOError:
        return False
    except OSError:  # the interface went down; it may come back
        return False
    time_ns = 0
    for _, _, data in ancillary:
        seconds, nanoseconds = _TIMESPEC.unpack(data)
        time_ns = seconds * 1_000_000_000 + nanoseconds
    writer.write(time_ns, frame)
    return True


if __name__ == "__main__":
    sys.exit(main())
