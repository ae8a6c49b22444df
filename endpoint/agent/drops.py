# SPDX-License-Identifier: Apache-2.0
"""Frames lost in this machine after they had arrived, so that no path is blamed in silence.

Two places: the socket, when its receive buffer is full because the process did not get to read;
and before it, in the kernel's own queues (the backlog of a veth, for one), which only the
interface's counter of receive drops shows. That counter also has frames of other protocols which
nobody wanted, so it is reported under its own name.
"""

from collections.abc import Sequence

from endpoint.agent.nic_port import NicPort
from endpoint.agent.values import FramesDropped

SOCKET, INTERFACE = "socket", "interface"
_NET_DEV = "/proc/self/net/dev"  # of this process's network namespace, whatever /sys shows
_RECEIVE_DROPS = 3  # the fourth counter after the name


def parse_net_dev(text: str) -> dict[str, int]:
    """Receive drops by interface, from the text of /proc/net/dev (see proc_net(5))."""
    drops = {}
    for line in text.splitlines()[2:]:
        name, _, counters = line.rpartition(":")
        fields = counters.split()
        if name and len(fields) > _RECEIVE_DROPS:
            drops[name.strip()] = int(fields[_RECEIVE_DROPS])
    return drops


class DropWatch:
    """Looks at both places when asked. What the interface counted before is not this agent's."""

    def __init__(self, ports: Sequence[NicPort]) -> None:
        self._ports = ports
        self._seen = self._read()

    def look(self, now_ns: int) -> list[FramesDropped]:
        """What was dropped since the last look; adds it to the ports' counters."""
        found = []
        counted = self._read()
        for port in self._ports:
            at_socket = port.read_drops()
            if at_socket:
                port.socket_drops += at_socket
                found.append(FramesDropped(now_ns, port.number, port.interface, SOCKET, at_socket))
            count = counted.get(port.interface, 0)
            before = self._seen.get(port.interface, 0)
            if count > before:
                port.interface_drops += count - before
                found.append(
                    FramesDropped(now_ns, port.number, port.interface, INTERFACE, count - before)
                )
        self._seen = counted
        return found

    @staticmethod
    def _read() -> dict[str, int]:
        with open(_NET_DEV, encoding="utf-8") as file:
            return parse_net_dev(file.read())
