# SPDX-License-Identifier: Apache-2.0
"""Two hosts in this process, each with the real control service, and a loop without sockets.

No root, no interfaces: the loop hands each frame to the other host at once.
"""

from __future__ import annotations

import random
import select
import threading
from pathlib import Path
from time import monotonic_ns

from endpoint.agent.commands import CommandQueue
from endpoint.agent.control_socket import ControlServer
from endpoint.agent.host import AgentHost
from endpoint.agent.service import AgentService
from endpoint.nic import Nic, NicConfig
from topologies import load

FABRIC = "tiny"
ROOM = 8


class ControlLab:
    """Hosts h1 and h3 of the fabric `tiny`, on different T0s, at `sockets`."""

    def __init__(self, folder: Path, streams: int = 8) -> None:
        fabric = load(FABRIC)
        self.hosts: list[AgentHost] = []
        self.commands: list[CommandQueue] = []
        self.servers: list[ControlServer] = []
        self.shut_down = threading.Event()
        self.sockets = [str(folder / name) for name in ("h1.sock", "h3.sock")]
        for index, socket in zip((0, 2), self.sockets, strict=True):
            host = AgentHost(Nic(NicConfig(fabric, index), random.Random(index)), [])
            commands = CommandQueue()
            service = AgentService(host, commands, self.shut_down.set, streams)
            self.hosts.append(host)
            self.commands.append(commands)
            self.servers.append(ControlServer(socket, service))
        self._stopping = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        nics = [host.nic for host in self.hosts]
        room = [ROOM] * nics[0].fabric.spec.planes
        timeout = 0.0
        while not self._stopping:
            select.select(self.commands, (), (), timeout)
            now = monotonic_ns()
            moved = 0
            for commands in self.commands:
                commands.run(now)
            for host, nic, peer in zip(self.hosts, nics, nics[::-1], strict=True):
                due = nic.next_timer_ns()
                if due is not None and due <= now:
                    nic.on_timer(now)
                frames = nic.frames_to_send(now, room)
                moved += len(frames)
                for port, frame, urgent in frames:
                    if not urgent:
                        host.path_use.sent(frame, now)
                    peer.receive(port, frame, now)
            for host in self.hosts:
                host.placement.look(now)
                host.harvest()
            timeout = 0.0 if moved else 0.002

    def pause(self) -> None:
        """Ends the loop, as if it hung: commands are taken but never run."""
        self._stopping = True
        self.commands[0].wake()
        self._thread.join()

    def close(self) -> None:
        self.pause()
        for commands in self.commands:
            commands.close()
        for host in self.hosts:
            host.close(monotonic_ns())
        for server in self.servers:
            server.stop(0.1)
