# SPDX-License-Identifier: Apache-2.0
"""The switches of a fabric in this process, behind P4Runtime servers, and a way to install."""

import contextlib
import dataclasses
import json
import random

import p4src
from controller.client import SwitchTarget, Timeouts
from controller.install import InstallOptions, InstallReport, install
from controller.pipeline import Pipeline, load_pipeline
from controller.tables import TableEntry, switch_entries
from softswitch.p4rt.device import Device
from softswitch.server import P4RuntimeServer
from softswitch.switch import Switch
from topologies import Fabric

TIMEOUTS = Timeouts(connect_s=10, push_s=30, call_s=10)
OPTIONS = InstallOptions(timeouts=TIMEOUTS)


def compiled_pipeline() -> Pipeline:
    return load_pipeline(p4src.JSON, p4src.P4INFO)


def with_cookie(pipeline: Pipeline, cookie: int) -> Pipeline:
    return dataclasses.replace(pipeline, cookie=cookie)


def with_small_table(pipeline: Pipeline, name: str, size: int) -> Pipeline:
    """A build of the program in which one table holds `size` entries; with the same cookie."""
    program = json.loads(pipeline.device_config)
    for table in program["pipelines"][0]["tables"]:
        if table["name"] == name:
            table["max_size"] = size
    return dataclasses.replace(pipeline, device_config=json.dumps(program).encode())


class Installation:
    """`devices` and `targets` by switch name, in the fabric's order."""

    def __init__(self, fabric: Fabric, pipeline: Pipeline, stack: contextlib.ExitStack) -> None:
        self.fabric = fabric
        self.pipeline = pipeline
        self.devices: dict[str, Device] = {}
        self.targets: dict[str, SwitchTarget] = {}
        self.servers: dict[str, P4RuntimeServer] = {}
        self.commits: list[Switch] = []
        for number, node in enumerate(fabric.switches(), start=1):
            device = Device(number, self._make_switch, on_commit=self.commits.append)
            server = stack.enter_context(P4RuntimeServer("127.0.0.1:0", [device]))
            self.devices[node.name] = device
            self.servers[node.name] = server
            self.targets[node.name] = SwitchTarget(node.name, server.address, number)

    def _make_switch(self, program) -> Switch:
        return Switch(program, rng=random.Random(1))

    def entries(self, name: str) -> tuple[TableEntry, ...]:
        return tuple(switch_entries(self.fabric, name))

    def install(self, entries_of=None, pipeline=None, **options) -> InstallReport:
        return install(
            list(self.targets.values()),
            pipeline or self.pipeline,
            entries_of or self.entries,
            dataclasses.replace(OPTIONS, **options),
        )

    def table(self, name: str, table: str):
        return self.devices[name].switch.tables[table]

    def held(self, name: str) -> set[TableEntry]:
        """What the switch itself holds, not what it says over P4Runtime."""
        tables = self.devices[name].switch.tables
        return {
            TableEntry(table.name, entry.key, entry.action, entry.params)
            for table in tables.values()
            for entry in table.entries()
        }
