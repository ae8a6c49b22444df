# SPDX-License-Identifier: Apache-2.0
"""Two agents in two network namespaces, their ports joined by one veth pair a plane.

There is no switch: a frame leaves with the address of its path, and the other NIC takes it, since
a NIC looks at the inner destination only. Names carry a prefix of their own, and everything is
removed with `close`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from endpoint.agent.client import AgentClient, connect_pair
from endpoint.agent.errors import AgentError
from endpoint.agent.process import AgentCommand, AgentProcess, start_agents
from endpoint.agent.values import QpInfo, QpOptions

PLANES = 2
MTU = 4300
FABRIC = """\
name: pair
planes: 2
t0s: 1
t1s: 1
nics_per_t0: 2
rate_gbps: {nic_t0: 0.08, t0_t1: 0.08}
delay_ns: {nic_t0: 100000, t0_t1: 100000}
"""
# A process that is not scheduled for some milliseconds is ordinary where processors are shared.
PATIENT = QpOptions(base_rtt_ns=8_000_000, timeout=17)


def missing() -> str | None:
    """Why these tests cannot run here, if they cannot."""
    if os.geteuid():
        return "needs root"
    if shutil.which("ip") is None:
        return "needs ip (iproute2)"
    name = f"mrcprobe{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return None if made.returncode == 0 else "needs network namespaces"


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"


def until(condition: Callable[[], bool], what: str, timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        time.sleep(0.01)


class NetnsPair:
    """Namespaces, links and agents of hosts h1 and h2."""

    HOSTS = ("h1", "h2")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prefix = f"mt{os.getpid() % 100_000}"
        self.fabric = folder / "fabric.yaml"
        self.fabric.write_text(FABRIC, encoding="utf-8")
        self.agents: dict[str, AgentProcess] = {}
        self.clients: dict[str, AgentClient] = {}

    def namespace(self, host: str) -> str:
        return f"{self.prefix}{host}"

    def interface(self, host: str, plane: int) -> str:
        return f"{self.prefix}{host}e{plane}"

    def ip(self, host: str, *command: str) -> None:
        run("ip", "-n", self.namespace(host), *command)

    def nft(self, host: str, script: str) -> None:
        run("ip", "netns", "exec", self.namespace(host), "nft", script)

    def build(self) -> None:
        for host in self.HOSTS:
            name = self.namespace(host)
            run("ip", "netns", "add", name)
            for scope in ("all", "default"):
                setting = f"net.ipv6.conf.{scope}.disable_ipv6=1"
                run("ip", "netns", "exec", name, "sysctl", "-qw", setting)
        for plane in range(PLANES):
            self.plug(plane)

    def plug(self, plane: int) -> None:
        one, other = (self.interface(host, plane) for host in self.HOSTS)
        here, there = (self.namespace(host) for host in self.HOSTS)
        run(
            *("ip", "-n", here, "link", "add", one, "mtu", str(MTU), "type", "veth"),
            *("peer", "name", other, "mtu", str(MTU), "netns", there),
        )
        self.ip("h1", "link", "set", one, "up")
        self.ip("h2", "link", "set", other, "up")

    def command(self, host: str, *options: str) -> AgentCommand:
        return AgentCommand(
            fabric=str(self.fabric),
            host=host,
            ports=[self.interface(host, plane) for plane in range(PLANES)],
            socket=str(self.folder / f"{host}.sock"),
            launch=("ip", "netns", "exec", self.namespace(host)),
            options=options,
        )

    def start(self, **options: tuple[str, ...]) -> None:
        """Starts, side by side, the agents that do not run; options by host."""
        hosts = [host for host in self.HOSTS if self._is_down(host)]
        commands = [
            (self.command(host, *options.get(host, ())), self.folder / f"{host}.log")
            for host in hosts
        ]
        for host, agent in zip(hosts, start_agents(commands, 60), strict=True):
            self.agents[host] = agent
            self.clients[host] = agent.client()

    def _is_down(self, host: str) -> bool:
        agent = self.agents.get(host)
        return agent is None or agent.returncode is not None

    def end(self, host: str) -> int:
        """Stops an agent; its exit status."""
        self.clients[host].close()
        return self.agents[host].stop()

    @contextmanager
    def connected(self, options: QpOptions = PATIENT) -> Iterator[tuple[QpInfo, QpInfo]]:
        """A connected pair of queue pairs, h1's first, destroyed afterwards."""
        infos = connect_pair(self.clients["h1"], self.clients["h2"], options)
        try:
            yield infos
        finally:
            for host, info in zip(self.HOSTS, infos, strict=True):
                with suppress(AgentError):
                    self.clients[host].destroy_qp(info.qpn)

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        for agent in self.agents.values():
            agent.kill()
        for host in self.HOSTS:
            name = self.namespace(host)
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


skip_unless_possible = pytest.mark.skipif(bool(missing()), reason=missing() or "")
