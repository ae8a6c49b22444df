# SPDX-License-Identifier: Apache-2.0
"""Puts an agent together from its settings, runs it, and takes it apart again."""

import json
import logging
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic_ns

from endpoint.agent.commands import CommandQueue
from endpoint.agent.control_socket import MOST_STREAMS, ControlServer
from endpoint.agent.errors import SetupError
from endpoint.agent.host import AgentHost
from endpoint.agent.link_monitor import LinkMonitor
from endpoint.agent.loop import AgentLoop
from endpoint.agent.nic_port import NicPort
from endpoint.agent.pacing import Pacer
from endpoint.agent.service import AgentService
from endpoint.nic import Nic, NicConfig
from topologies import Fabric
from topologies.timing import data_frame_bytes

_SWITCH_INTERVAL_S = 0.0005
"""How long a control thread may hold the interpreter while packets wait, at most about."""

_log = logging.getLogger("agent")


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """`ports`: interface names by plane. `rate_bps`: bits per second of each port, framing
    overhead counted, by default the fabric's; `rate_fps`: data frames per second, 0 for no limit;
    `burst`: frames, by default fitting the rate. `receive_bytes`: of each socket. `seed`: of all
    random choices, by default a fresh one. `hold_ns`: how long received frames are held back."""

    fabric: Fabric
    host: str
    ports: Sequence[str]
    socket: str
    rate_bps: int | None = None
    rate_fps: int = 0
    burst: int | None = None
    receive_bytes: int = 16 << 20
    seed: int | None = None
    end_with_stdin: bool = False
    hold_ns: int = 0


class Agent:
    """A host agent. `run` returns after `stop`. SetupError when it cannot be put together."""

    def __init__(self, settings: AgentSettings) -> None:
        fabric = settings.fabric
        host = fabric.host(settings.host)
        planes = fabric.spec.planes
        if len(settings.ports) != planes or len(set(settings.ports)) != planes:
            raise SetupError(
                f"ports: {', '.join(settings.ports)}: {fabric.name} has {planes} planes, and each "
                "needs an interface of its own"
            )
        if settings.hold_ns < 0:
            raise SetupError(f"hold-ns: {settings.hold_ns} ns is negative")
        nic = Nic(NicConfig(fabric, host.index), random.Random(settings.seed))
        self._commands = CommandQueue()
        self._links = LinkMonitor()
        self.host = AgentHost(nic, _open_ports(settings))
        self._loop = AgentLoop(self.host, self._links, self._commands, settings.hold_ns)
        self._loop.start()
        if settings.end_with_stdin:
            if sys.stdin is None or sys.stdin.closed:
                raise SetupError("end-with-stdin: there is no standard input")
            self._loop.watch(sys.stdin, self._stdin_ended)
        service = AgentService(self.host, self._commands, self.stop, MOST_STREAMS)
        self._server = ControlServer(settings.socket, service)

    def ready_line(self) -> str:
        """What a starter waits for: one line of JSON."""
        info = self.host.info(monotonic_ns())
        interfaces = [port.interface for port in self.host.ports]
        return json.dumps(
            {
                "ready": info.host,
                "pid": info.process_id,
                "socket": self._server.path,
                "ports": interfaces,
            }
        )

    def stop(self) -> None:
        """Ends `run` soon; safe in any thread and in a signal handler."""
        self._loop.stop()

    def _stdin_ended(self) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            _log.info("standard input ended, and so does the agent")
            self._loop.unwatch(sys.stdin)
            self.stop()

    def run(self) -> None:
        """Moves packets until stopped, then completes what was posted and lets streams end."""
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        info = self.host.info(monotonic_ns())
        _log.info("%s of %s is ready at %s", info.host, info.fabric, self._server.path)
        try:
            self._loop.run()
        finally:
            self._commands.close()
            self.host.close(monotonic_ns())
            self._server.stop()
            for port in self.host.ports:
                port.close()
            self._links.close()
            _log.info("ended")


def _open_ports(settings: AgentSettings) -> list[NicPort]:
    fabric = settings.fabric
    frame = data_frame_bytes(fabric.spec.path_mtu)
    rate_bps = fabric.nic_rate_bps if settings.rate_bps is None else settings.rate_bps
    try:
        pacers = [Pacer(rate_bps, settings.rate_fps, frame, settings.burst) for _ in settings.ports]
    except ValueError as error:
        raise SetupError(str(error)) from error
    return [
        NicPort(number, interface, pacers[number], settings.receive_bytes)
        for number, interface in enumerate(settings.ports)
    ]
