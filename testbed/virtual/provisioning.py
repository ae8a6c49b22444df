# SPDX-License-Identifier: Apache-2.0
"""How the switches of the virtual world come by their program and their tables.

`DirectProvisioning` writes the entries into the tables in this process. `P4RuntimeProvisioning`
puts a P4Runtime service in front of every switch, and lets the controller push the program and
write and read back the entries over gRPC, as it does with any switch. Both must end in the same
state; the first is much quicker.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from types import TracebackType
from typing import Protocol

import p4src
from controller.client import SwitchTarget
from controller.install import install
from controller.pipeline import Pipeline, load_pipeline
from controller.tables import switch_entries
from softswitch.p4rt.device import Device
from softswitch.program import Program
from softswitch.server import P4RuntimeServer
from softswitch.switch import Switch
from topologies.fabric import Fabric


class Provisioning(Protocol):
    """Makes switches that forward, and brings them back after a stop."""

    def make(self, name: str, program: Program, rng: random.Random) -> Switch:
        """A new switch called ``name``, with its entries."""

    def again(self, switch: Switch) -> None:
        """Give a switch whose state was cleared its entries once more."""


class DirectProvisioning:
    """Entries go straight into the tables."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric

    def make(self, name: str, program: Program, rng: random.Random) -> Switch:
        switch = Switch(program, rng=rng, name=name)
        self.again(switch)
        return switch

    def again(self, switch: Switch) -> None:
        for entry in switch_entries(self._fabric, switch.name):
            switch.tables[entry.table].insert(entry.match, entry.action, entry.params)


class ProvisioningError(Exception):
    """The controller could not bring a switch to its program and entries."""


class P4RuntimeProvisioning:
    """Program and entries go over gRPC. A context manager: leaving it ends the services."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._servers = ExitStack()
        self._targets: dict[str, SwitchTarget] = {}
        self._pipelines: dict[str, Pipeline] = {}

    def __enter__(self) -> P4RuntimeProvisioning:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._servers.close()

    def make(self, name: str, program: Program, rng: random.Random) -> Switch:
        number = len(self._targets) + 1
        device = Device(number, lambda pushed: Switch(pushed, device_id=number, rng=rng, name=name))
        server = self._servers.enter_context(P4RuntimeServer("127.0.0.1:0", [device]))
        self._targets[name] = SwitchTarget(name, server.address, number)
        self._pipelines[name] = self._pipeline(program)
        self._install(name)
        if device.switch is None:
            raise ProvisioningError(f"{name}: holds no program after its installation")
        return device.switch

    def again(self, switch: Switch) -> None:
        self._install(switch.name)

    def _pipeline(self, program: Program) -> Pipeline:
        compiled = load_pipeline(p4src.JSON, p4src.P4INFO)
        if compiled.device_config != program.json_bytes:
            raise ProvisioningError("only the program as compiled has the P4Info to be pushed with")
        return compiled

    def _install(self, name: str) -> None:
        report = install(
            [self._targets[name]],
            self._pipelines[name],
            lambda switch: switch_entries(self._fabric, switch),
        )
        if report.errors:
            raise ProvisioningError("; ".join(report.errors))
