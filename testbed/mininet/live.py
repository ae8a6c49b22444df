# SPDX-License-Identifier: Apache-2.0
"""A fabric that is up: namespaces, switches, agents, and everything that can be done with them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from testbed.mininet.agents import Agents
from testbed.mininet.capture_process import Capture
from testbed.mininet.flows import HostEnd
from testbed.mininet.interfaces import interface_name
from testbed.mininet.net import FabricNet, Say
from testbed.mininet.run_folder import RunFolder
from topologies.fabric import Fabric


class LiveFabric:
    """A context manager. `hosts`: those that get an agent, all by default."""

    def __init__(
        self,
        fabric: Fabric,
        switch_kind: str,
        *,
        logs: Path,
        seed: int,
        hold_ns: int,
        say: Say,
        hosts: Sequence[str] | None = None,
    ) -> None:
        self.fabric = fabric
        self.switch_kind = switch_kind
        self.seed = seed
        self._hold_ns = hold_ns
        self.used = False
        """Whether traffic has passed, so that counters do not start from 0."""
        self._logs = logs
        self._say = say
        self._hosts = [host.name for host in fabric.hosts] if hosts is None else list(hosts)
        self._stack = ExitStack()
        self.run: RunFolder
        self.net: FabricNet
        self.agents: Agents

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.run = stack.enter_context(RunFolder(f"{self.fabric.name} ({self.switch_kind})"))
            self.net = stack.enter_context(
                FabricNet(self.fabric, self.switch_kind, self.run, self._logs, self._say)
            )
            self._say(f"starting {len(self._hosts)} host agents")
            self.agents = stack.enter_context(
                Agents(self.net, self._hosts, self.seed, self._hold_ns)
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def ends(self) -> dict[str, HostEnd]:
        """Hosts that have an agent, by name."""
        return {name: HostEnd(name, client) for name, client in self.agents.clients.items()}

    def capture(self, link: str, folder: Path) -> Capture:
        """Write both directions of a link to `folder/<link>.pcap` until the capture is closed."""
        found = self.fabric.link(link)
        folder.mkdir(parents=True, exist_ok=True)
        return Capture(
            self.net.node(found.a), interface_name(found.a, found.a_port), folder / f"{link}.pcap"
        )

    def check(self) -> None:
        """MininetWorldError when a switch or an agent has ended of its own accord."""
        for switch in self.fabric.switches():
            self.net.switch(switch.name).check()
        self.agents.check()
