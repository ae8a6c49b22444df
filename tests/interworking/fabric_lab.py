# SPDX-License-Identifier: Apache-2.0
"""A small fabric of namespaces, with an agent on each host; any switch may be a Linux kernel."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path

import kernel_node
from namespaces import Namespace, Namespaces, plug
from one_node import start_switch

from endpoint.agent.client import AgentClient, connect_pair
from endpoint.agent.process import AgentCommand, start_agents
from endpoint.agent.values import QpInfo, QpOptions, Region
from testbed.mininet.interfaces import interface_name, interfaces_of, mtu
from topologies import load

# A process that is not scheduled for some milliseconds is ordinary where processors are shared.
PATIENT = QpOptions(base_rtt_ns=8_000_000, timeout=17)
_START_S = 60


class FabricLab:
    """A context manager. `kernel`: switches that are Linux kernels, and how each is configured;
    the others run the P4 program, as `kind` (`soft` or `bmv2`)."""

    def __init__(
        self, description: str, kernel: Mapping[str, kernel_node.Configure], kind: str, folder: Path
    ) -> None:
        self.folder = folder
        self._yaml = folder / "fabric.yaml"
        self._yaml.write_text(description, encoding="utf-8")
        self.fabric = load(str(self._yaml))
        self.kernel = kernel
        self._kind = kind
        self._stack = Namespaces()
        self.nodes: dict[str, Namespace] = {}
        self.clients: dict[str, AgentClient] = {}

    def __enter__(self) -> FabricLab:
        try:
            self._build()
            self._start_agents()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()

    def _build(self) -> None:
        fabric, stack = self.fabric, self._stack
        switches = [switch.name for switch in fabric.switches()]
        for name in (*(host.name for host in fabric.hosts), *switches):
            if name in self.kernel:
                self.nodes[name] = stack.plain(name)
                kernel_node.prepare(self.nodes[name])
            else:
                self.nodes[name] = stack.silent(name)
        for link in fabric.links():
            plug(
                self._end(link.a, link.a_port),
                self._end(link.b, link.b_port),
                mtu(fabric),
            )
        for name in switches:
            configure = self.kernel.get(name)
            if configure is not None:
                configure(self.nodes[name], fabric, name)
            else:
                start_switch(stack, self._kind, fabric, name, self.nodes[name], self.folder)

    def _end(self, node: str, port: int) -> tuple[Namespace, str, bytes]:
        return self.nodes[node], interface_name(node, port), self.fabric.mac(node, port)

    def _start_agents(self) -> None:
        commands = [
            (
                AgentCommand(
                    fabric=str(self._yaml),
                    host=host.name,
                    ports=[name for _, name in interfaces_of(self.fabric, host.name)],
                    socket=str(self.folder / f"{host.name}.sock"),
                    launch=self.nodes[host.name].enter,
                ),
                self.folder / f"{host.name}.log",
            )
            for host in self.fabric.hosts
        ]
        for agent in start_agents(commands, _START_S):
            self._stack.callback(agent.stop)
            client = agent.client()
            self._stack.callback(client.close)
            self.clients[agent.command.host] = client

    @contextmanager
    def connected(self, one: str, other: str, options: QpOptions = PATIENT):
        """A pair of connected queue pairs, destroyed afterwards."""
        infos: tuple[QpInfo, QpInfo] = connect_pair(self.clients[one], self.clients[other], options)
        try:
            yield infos
        finally:
            for host, info in zip((one, other), infos, strict=True):
                self.clients[host].destroy_qp(info.qpn)


class Transfer:
    """A file of random bytes at one host, and an empty one, as long, at another."""

    def __init__(self, lab: FabricLab, source: str, target: str, size: int) -> None:
        name = f"{source}-{target}-{len(list(lab.folder.iterdir()))}"
        self._sent, self._placed = lab.folder / f"{name}.sent", lab.folder / f"{name}.placed"
        self._sent.write_bytes(random.Random(name).randbytes(size))
        self.source: Region = lab.clients[source].register_memory(
            file=str(self._sent), remote_write=False
        )
        self.target: Region = lab.clients[target].register_memory(
            size, file=str(self._placed), create=True
        )

    def is_whole(self) -> bool:
        return self._sent.read_bytes() == self._placed.read_bytes()
