# SPDX-License-Identifier: Apache-2.0
"""State of this network namespace's links, told by the kernel when it changes (rtnetlink)."""

import errno
import socket
import time

from endpoint.agent.netlink import (
    DumpDone,
    LinkState,
    NetlinkError,
    link_dump_request,
    parse_messages,
)

_RTMGRP_LINK = 1
_BUFFER_BYTES = 1 << 16
_RECEIVE_BUFFER = 1 << 20


class LinkMonitor:
    """A socket that hears of every link. Opening it also asks for their present state.

    Where messages were lost (too many at once), it asks for all states again.
    """

    def __init__(self) -> None:
        kind = socket.SOCK_RAW | socket.SOCK_NONBLOCK
        self._socket = socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        self._socket.bind((0, _RTMGRP_LINK))
        self._sequence = 0
        self._complete = False
        self._ask()

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def _ask(self) -> None:
        self._sequence += 1
        try:
            self._socket.send(link_dump_request(self._sequence))
        except OSError as error:
            if error.errno != errno.EBUSY:  # a dump is under way, and its states are as new
                raise

    def first(self, timeout_s: float = 5.0) -> dict[str, LinkState]:
        """All links by name, as they are now. NetlinkError when the kernel does not answer."""
        links: dict[str, LinkState] = {}
        deadline = time.monotonic() + timeout_s
        while not self._complete:
            for link in self.read():
                links[link.name] = link
            if time.monotonic() > deadline:
                raise NetlinkError(f"netlink: no list of links within {timeout_s:g} s")
            if not self._complete:
                time.sleep(0.001)
        return {name: link for name, link in links.items() if not link.gone}

    def read(self) -> list[LinkState]:
        """What was heard since the last call, oldest first."""
        heard: list[LinkState] = []
        while True:
            try:
                data = self._socket.recv(_BUFFER_BYTES)
            except BlockingIOError:
                return heard
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                self._ask()
                continue
            for message in parse_messages(data):
                if isinstance(message, DumpDone):
                    self._complete = True
                elif message.name:
                    heard.append(message)
