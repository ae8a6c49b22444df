# SPDX-License-Identifier: Apache-2.0
"""A fabric of namespaces, links and switch processes, built with Mininet from its description."""

from __future__ import annotations

import resource
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mininet.net import Mininet

import p4src
from controller.client import Timeouts
from controller.install import InstallOptions, install
from controller.limits import check_installable
from controller.pipeline import Pipeline, load_pipeline
from controller.queues import port_queues
from controller.tables import switch_entries
from testbed.mininet.bmv2 import Bmv2Process
from testbed.mininet.errors import MininetWorldError, SwitchProcessError
from testbed.mininet.interfaces import (
    check_prepared,
    interfaces_of,
    mtu,
    prepare_script,
    quiet_namespace_script,
)
from testbed.mininet.nodes import FabricHost, FabricLink, FabricSwitch, MarkedNode
from testbed.mininet.run_folder import RunFolder
from testbed.mininet.soft import SoftProcess
from testbed.mininet.switch_process import START_S, SwitchProcess, SwitchSetup
from topologies.fabric import Fabric

PROCESSES: dict[str, type[SwitchProcess]] = {"bmv2": Bmv2Process, "soft": SoftProcess}

Say = Callable[[str], None]

_FILES_A_NODE = 16
_STARTS = 8


class FabricNet:
    """A context manager: entering builds and provisions it, leaving takes everything away.

    Logs go to `logs`, one a switch. `say` is told of each step. Raises MininetWorldError.
    """

    def __init__(
        self, fabric: Fabric, switch_kind: str, run: RunFolder, logs: Path, say: Say
    ) -> None:
        self.fabric = fabric
        self.run = run
        self.logs = logs
        self.switch_kind = switch_kind
        self._say = say
        self.pipeline: Pipeline = load_pipeline(p4src.JSON, p4src.P4INFO)
        self._mtu = mtu(fabric)
        self.mininet: Any = None

    # -- coming and going ---------------------------------------------------------------------

    def __enter__(self) -> Self:
        check_installable(self.fabric)
        self.logs.mkdir(parents=True, exist_ok=True)
        _allow_files(_FILES_A_NODE * (self.fabric.nic_count + self.fabric.switch_count) + 256)
        try:
            self._build()
        except BaseException:
            self._tear_down()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tear_down()

    def _build(self) -> None:
        fabric = self.fabric
        self._say(
            f"{fabric.name}: {fabric.nic_count} hosts, {fabric.switch_count} switches "
            f"({self.switch_kind}), {fabric.link_count} links"
        )
        # Mininet would raise limits of the whole machine and leave them so; none is needed here.
        Mininet.inited = True
        self.mininet = Mininet(build=False, controller=None, link=FabricLink)
        environment = self.run.environment
        for host in fabric.hosts:
            self.mininet.addHost(host.name, cls=FabricHost, ip=None, environment=environment)
        for device_id, switch in enumerate(fabric.switches(), start=1):
            self.mininet.addSwitch(
                switch.name,
                cls=FabricSwitch,
                dpid=f"{device_id:x}",
                environment=environment,
                process=self._process(switch.name, device_id),
            )
        for node in self.nodes:
            _shell(node, quiet_namespace_script())
        for link in fabric.links():
            self._add_link(link)
        for node in self.nodes:
            self._prepare(node)
        self._say("starting switches")
        self.start_switches([switch.name for switch in fabric.switches()])

    def _process(self, name: str, device_id: int) -> SwitchProcess:
        ports = interfaces_of(self.fabric, name)
        setup = SwitchSetup(
            name=name,
            device_id=device_id,
            ports=ports,
            queues={number: port_queues(self.fabric, name, number) for number, _ in ports},
            folder=self.run.path,
            log=self.logs / f"{name}.log",
        )
        return PROCESSES[self.switch_kind](setup)

    def _add_link(self, link: Any) -> None:
        self.mininet.addLink(
            link.a,
            link.b,
            port1=link.a_port,
            port2=link.b_port,
            addr1=_mac(self.fabric.mac(link.a, link.a_port)),
            addr2=_mac(self.fabric.mac(link.b, link.b_port)),
        )

    def _prepare(self, node: MarkedNode) -> None:
        names = [name for _, name in interfaces_of(self.fabric, node.name)]
        links = _shell(node, prepare_script(names, self._mtu))
        check_prepared(node.name, names, self._mtu, links)

    def _tear_down(self) -> None:
        if self.mininet is not None:
            for switch in self.mininet.switches:
                switch.process.begin_stop()
            self.mininet.stop()
            self.mininet = None

    # -- nodes --------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[MarkedNode]:
        return [*self.mininet.hosts, *self.mininet.switches]

    def node(self, name: str) -> MarkedNode:
        """The node with this name; it has one."""
        node: MarkedNode = self.mininet[name]
        return node

    def switch(self, name: str) -> SwitchProcess:
        """The process of the switch with this name."""
        process: SwitchProcess = self.mininet[name].process
        return process

    def frames_arrived(self, name: str) -> dict[int, int]:
        """Frames that have reached each port's interface of a node since it was made."""
        text = Path(f"/proc/{self.node(name).pid}/net/dev").read_text(encoding="utf-8")
        counts = {}
        for line in text.splitlines()[2:]:
            interface, _, counters = line.partition(":")
            counts[interface.strip()] = int(counters.split()[1])
        return {port: counts[own] for port, own in interfaces_of(self.fabric, name)}

    # -- switches -----------------------------------------------------------------------------

    def start_switches(self, names: Sequence[str]) -> None:
        """Start switch processes, wait for them, and give them program, tables and queues."""
        processes = [self.switch(name) for name in names]
        for process in processes:
            process.start()
        with ThreadPoolExecutor(_STARTS) as pool:
            for ready in [pool.submit(process.wait_ready) for process in processes]:
                ready.result()
        self._say("installing the program and its tables")
        report = install(
            [process.target for process in processes],
            self.pipeline,
            lambda name: switch_entries(self.fabric, name),
            InstallOptions(workers=4, timeouts=Timeouts(connect_s=START_S)),
        )
        for process in processes:
            process.check()
        if report.errors:
            raise SwitchProcessError("\n".join(report.errors))


def _allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        limit = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _shell(node: MarkedNode, script: str) -> str:
    try:
        return node.run(["sh", "-c", script])
    except MininetWorldError as error:
        raise MininetWorldError(f"{node.name}: preparing its namespace failed: {error}") from error


def _mac(address: bytes) -> str:
    return address.hex(":")
