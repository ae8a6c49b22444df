# SPDX-License-Identifier: Apache-2.0
"""The host agents of a fabric: started in their namespaces, reached over their sockets."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import topologies
from controller.queues import bmv2_packet_rates
from endpoint.agent.client import AgentClient
from endpoint.agent.errors import AgentStartError
from endpoint.agent.process import AgentCommand, AgentProcess, start_agents
from testbed.mininet.errors import MininetWorldError
from testbed.mininet.interfaces import interfaces_of
from testbed.mininet.net import FabricNet
from testbed.mininet.run_folder import PROMPTLY, RUN_VARIABLE
from topologies.fabric import Fabric
from topologies.timing import data_frame_bytes, link_bytes

START_S = 60.0
CALL_S = 20.0
PACE_PERCENT = 95
"""Of the data frames that a link lets through, what a NIC port sends. At the full rate, what jitter
has put into a queue would stay there for good."""
BURST_FRAMES = 2
"""Frames that a port may send at once. One would lose the time by which it wakes up too late;
more would fill the short queues of slow switches for nothing."""


def data_queue_rate(fabric: Fabric, switch_kind: str) -> int | None:
    """Packets per second of the data queue at a NIC port's rate; None where data shares the port.

    BMv2's data queue has a share of the link for itself, which nobody else may use.
    """
    if switch_kind != "bmv2":
        return None
    spec = fabric.spec
    return bmv2_packet_rates(fabric.nic_rate_bps, spec.path_mtu, spec.trim_length)[0]


def data_frames_per_second(fabric: Fabric, switch_kind: str) -> int:
    """Full data frames that a NIC port may send, at least one a second."""
    most = data_queue_rate(fabric, switch_kind)
    if most is None:
        frame = link_bytes(data_frame_bytes(fabric.spec.path_mtu))
        most = fabric.nic_rate_bps // (8 * frame)
    return max(1, most * PACE_PERCENT // 100)


class Agents:
    """Agents of these hosts of a built fabric; a context manager that ends them.

    `hold_ns`: how long they hold received frames back (`testbed.mininet.scaling.hold_ns`).
    `clients` are by host name. Raises MininetWorldError.
    """

    def __init__(self, net: FabricNet, hosts: Sequence[str], seed: int, hold_ns: int) -> None:
        self._net = net
        self._hosts = list(hosts)
        self._seed = seed
        self._hold_ns = hold_ns
        self.processes: dict[str, AgentProcess] = {}
        self.clients: dict[str, AgentClient] = {}

    def __enter__(self) -> Self:
        spec = self._net.fabric.spec
        self._description.write_text(topologies.to_yaml(spec), encoding="utf-8")
        self._start(self._hosts)
        return self

    @property
    def _description(self) -> Path:
        return self._net.run.file("fabric.yaml")

    def _start(self, hosts: Sequence[str]) -> None:
        try:
            started = start_agents([self._command(host) for host in hosts], START_S)
        except AgentStartError as error:
            raise MininetWorldError(str(error)) from error
        for host, process in zip(hosts, started, strict=True):
            self.processes[host] = process
            self.clients[host] = process.client(timeout_s=CALL_S)

    def _command(self, host: str) -> tuple[AgentCommand, Path]:
        net = self._net
        index = net.fabric.host(host).index
        command = AgentCommand(
            fabric=str(self._description),
            host=host,
            ports=[name for _, name in interfaces_of(net.fabric, host)],
            socket=str(net.run.file(f"{host}.sock")),
            launch=("env", f"{RUN_VARIABLE}={net.run.id}", *PROMPTLY, *net.node(host).enter()),
            options=(
                *("--seed", str(self._seed * 65537 + index)),
                *("--rate-fps", str(data_frames_per_second(net.fabric, net.switch_kind))),
                *("--burst", str(BURST_FRAMES)),
                *("--hold-ns", str(self._hold_ns)),
            ),
        )
        return command, net.logs / f"{host}.log"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self.clients.values():
            client.close()
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            process.stop()

    def restart(self, host: str) -> None:
        """End an agent, if it still runs, and start a new one, which knows no queue pair."""
        self.clients.pop(host).close()
        self.processes.pop(host).stop()
        self._start([host])

    def check(self) -> None:
        """MininetWorldError when one has ended of its own accord."""
        for host, process in self.processes.items():
            if process.returncode is not None:
                raise MininetWorldError(
                    f"the agent of {host} ended (exit status {process.returncode})\n"
                    f"  end of {process.log}:\n{process.log_tail()}"
                )
