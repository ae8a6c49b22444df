# SPDX-License-Identifier: Apache-2.0
"""One switch of a fabric in a namespace: the kernel, the embedded switch, or BMv2.

All three have the same interfaces, MAC addresses and table entries, and take and give frames on
veth pairs whose far ends are this process's.
"""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from pathlib import Path

import kernel_node
from namespaces import Namespaces, plug
from outer_frames import Outer, is_multicast, number_of

import p4src
from controller.install import install
from controller.pipeline import load_pipeline
from controller.queues import port_queues
from controller.tables import switch_entries
from softswitch.interface import Interface
from testbed.mininet.bmv2 import Bmv2Process
from testbed.mininet.interfaces import interface_name, interfaces_of, mtu
from testbed.mininet.soft import SoftProcess
from testbed.mininet.switch_process import SwitchProcess, SwitchSetup
from topologies import Fabric, sids

PROCESSES: dict[str, type[SwitchProcess]] = {"bmv2": Bmv2Process, "soft": SoftProcess}
KERNEL = "kernel"

_BATCH = 32
_RECEIVE_BYTES = 8 << 20
_MARKER_S = 15
_SETTLE_S = 0.3
_LAST_NUMBER = (1 << 20) - 1
_DROPPED_FIRST = 0x7FFF  # a uSID that no table holds: a marker leaves by an adjacency

Result = tuple[int, bytes]
"""Egress port and frame."""


class OneNode:
    """A context manager; `kind` is `kernel`, `soft` or `bmv2`.

    `configure`: what gives a kernel its routes.
    """

    def __init__(
        self,
        kind: str,
        fabric: Fabric,
        switch: str,
        folder: Path,
        configure: kernel_node.Configure = kernel_node.configure,
    ) -> None:
        self.kind = kind
        self.fabric = fabric
        self.switch = switch
        self.ports = list(fabric.switch_ports(fabric.switch(switch)))
        self._folder = folder
        self._configure = configure
        self._stack = Namespaces()
        self._next = 1

    def __enter__(self) -> OneNode:
        try:
            self._build()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()

    def _build(self) -> None:
        fabric, switch = self.fabric, self.switch
        wires = self._stack.silent("wires")
        if self.kind == KERNEL:
            self.namespace = self._stack.plain(switch)
            kernel_node.prepare(self.namespace)
        else:
            self.namespace = self._stack.silent(switch)
        for port in self.ports:
            far = fabric.neighbour(switch, port)
            plug(
                (self.namespace, interface_name(switch, port), fabric.mac(switch, port)),
                (wires, f"wire{port}", fabric.mac(far.node, far.port)),
                mtu(fabric),
            )
        self._wires = {
            port: wires.make(lambda p=port: Interface(p, f"wire{p}", _RECEIVE_BYTES))
            for port in self.ports
        }
        for wire in self._wires.values():
            self._stack.callback(wire.close)
        if self.kind == KERNEL:
            self._configure(self.namespace, fabric, switch)
        else:
            start_switch(self._stack, self.kind, fabric, switch, self.namespace, self._folder)

    # -- addresses ----------------------------------------------------------------------------

    def address(self, *usids: int) -> int:
        """The IPv6 address with these uSIDs in the fabric's block."""
        return sids.address_int(self.fabric.sid_block, *usids)

    @property
    def own(self) -> int:
        """The node's uN."""
        return self.fabric.switch(self.switch).usid

    def adjacency(self, port: int) -> int:
        """The uA of one of its ports."""
        return self.fabric.adjacency_usid(self.fabric.switch(self.switch).plane, port)

    def neighbour(self, port: int) -> int:
        """The uSID of the switch or NIC at one of its ports."""
        switch = self.fabric.switch(self.switch)
        if self.fabric.faces_nic(switch, port):
            return sids.usid(switch.plane, sids.TIER_NIC, port - 1)
        return self.fabric.switch(self.fabric.neighbour(self.switch, port).node).usid

    # -- frames -------------------------------------------------------------------------------

    def frames(self, packets: Sequence[Outer], in_port: int) -> list[bytes]:
        """The packets as frames that arrive by `in_port`, numbered from 1."""
        far = self.fabric.neighbour(self.switch, in_port)
        to_mac = self.fabric.mac(self.switch, in_port)
        from_mac = self.fabric.mac(far.node, far.port)
        return [packet.frame(n, to_mac, from_mac) for n, packet in enumerate(packets, start=1)]

    def exchange(self, frames: Sequence[bytes], in_port: int) -> list[Result | None]:
        """What became of each frame, numbered from 1, that arrives by `in_port`; None: dropped.

        Markers that leave by every port follow each batch, and what comes later than they do is
        still waited for at the end.
        """
        left: dict[int, Result] = {}
        markers = self._markers(in_port)
        for first in range(0, len(frames), _BATCH):
            for frame in [*frames[first : first + _BATCH], *markers]:
                self._wires[in_port].send(frame)
            missing = len(markers)
            deadline = time.monotonic() + _MARKER_S
            while missing:
                assert time.monotonic() < deadline, f"{self.kind}: {missing} markers are missing"
                missing -= self._receive(left, 0.2)
        deadline = time.monotonic() + _SETTLE_S
        while time.monotonic() < deadline:
            self._receive(left, 0.05)
        assert not any(wire.send_errors for wire in self._wires.values())
        results = [left.pop(number, None) for number in range(1, len(frames) + 1)]
        assert not left, f"{self.kind}: frames that were not sent: {left}"
        return results

    def all_that_comes(self, frame: bytes, in_port: int) -> list[Result]:
        """Everything, listener reports aside, that leaves after one frame came by `in_port`."""
        self._wires[in_port].send(frame)
        arrivals: list[tuple[int, int, bytes]] = []
        deadline = time.monotonic() + _SETTLE_S
        while time.monotonic() < deadline:
            select.select(self._wires.values(), (), (), 0.05)
            for wire in self._wires.values():
                wire.receive(arrivals, 256)
        return [(port, data) for _, port, data in arrivals if not is_multicast(data)]

    def _markers(self, in_port: int) -> list[bytes]:
        far = self.fabric.neighbour(self.switch, in_port)
        macs = self.fabric.mac(self.switch, in_port), self.fabric.mac(far.node, far.port)
        return [
            Outer(self.address(self.own, self.adjacency(port), _DROPPED_FIRST)).frame(
                _LAST_NUMBER, *macs
            )
            for port in self.ports
        ]

    def _receive(self, left: dict[int, Result], wait_s: float) -> int:
        """Note what has come; how many markers there were."""
        select.select(self._wires.values(), (), (), wait_s)
        arrivals: list[tuple[int, int, bytes]] = []
        for wire in self._wires.values():
            wire.receive(arrivals, 256)
        markers = 0
        for _, port, frame in arrivals:
            number = number_of(frame)
            if number == _LAST_NUMBER:
                markers += 1
            elif not is_multicast(frame):
                assert number not in left, f"{self.kind}: twice: {frame.hex()}"
                left[number] = port, frame
        return markers


def start_switch(
    stack: Namespaces, kind: str, fabric: Fabric, name: str, namespace: object, folder: Path
) -> SwitchProcess:
    """A switch process in its namespace, with program, tables and queues; ended with `stack`."""
    ports = interfaces_of(fabric, name)
    setup = SwitchSetup(
        name=name,
        device_id=int.from_bytes(name.encode(), "big") % 60_000 + 1,
        ports=ports,
        queues={number: port_queues(fabric, name, number) for number, _ in ports},
        folder=folder,
        log=folder / f"{name}.log",
    )
    process = PROCESSES[kind](setup)
    process.node = namespace
    stack.callback(process.stop)
    process.start()
    process.wait_ready()
    report = install(
        [process.target],
        load_pipeline(p4src.JSON, p4src.P4INFO),
        lambda switch: switch_entries(fabric, switch),
    )
    assert not report.errors, report.errors
    return process
