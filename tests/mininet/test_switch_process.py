# SPDX-License-Identifier: Apache-2.0
"""A switch process that does not start says how it was started and what it said itself."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from small_fabric import small_fabric

from controller.queues import port_queues
from testbed.mininet.bmv2 import Bmv2Process
from testbed.mininet.errors import SwitchProcessError
from testbed.mininet.interfaces import interfaces_of
from testbed.mininet.soft import SoftProcess
from testbed.mininet.switch_process import SwitchProcess, SwitchSetup

FABRIC = small_fabric()


class Here:
    """A namespace that is this process's own; what was run in it."""

    def __init__(self, said: str = "") -> None:
        self.said = said
        self.stdin = ""

    def spawn(self, command: Sequence[str], **params: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, **params)  # type: ignore[call-overload,no-any-return]

    def run(self, command: Sequence[str], stdin: str = "") -> str:
        self.stdin = stdin
        return self.said


def _setup(folder: Path) -> SwitchSetup:
    ports = interfaces_of(FABRIC, "p0t0a")
    queues = {number: port_queues(FABRIC, "p0t0a", number) for number, _ in ports}
    return SwitchSetup("p0t0a", 3, ports, queues, folder, folder / "p0t0a.log")


class Scripted(SwitchProcess):
    kind = "soft"

    def __init__(self, setup: SwitchSetup, script: str) -> None:
        super().__init__(setup)
        self.node = Here()
        self._script = script

    def command(self) -> list[str]:
        return ["sh", "-c", self._script]

    def set_queues(self) -> None:
        raise AssertionError("it never answered")


def test_one_that_ends_at_once(tmp_path: Path) -> None:
    process = Scripted(_setup(tmp_path), "echo cannot open eth7; exit 3")
    process.start()
    with pytest.raises(SwitchProcessError) as failed:
        process.wait_ready(10)
    message = str(failed.value)
    assert "switch p0t0a ended (exit status 3)" in message
    assert "command: sh -c echo cannot open eth7" in message
    assert message.endswith("cannot open eth7")


def test_one_that_never_answers_is_reported_and_can_be_stopped(tmp_path: Path) -> None:
    process = Scripted(_setup(tmp_path), "sleep 60")
    process.start()
    with pytest.raises(SwitchProcessError, match=r"did not answer within 0\.3 s"):
        process.wait_ready(0.3)
    assert process.running
    process.stop()
    assert not process.running
    assert process.pid is None


def test_one_that_ends_later_is_noticed(tmp_path: Path) -> None:
    process = Scripted(_setup(tmp_path), "read line; exit 5")
    process.start()
    process.check()
    assert process._process is not None and process._process.stdin is not None
    process._process.stdin.close()
    process._process.wait(10)
    with pytest.raises(SwitchProcessError, match="exit status 5"):
        process.check()


def test_bmv2_command_starts_empty_with_a_queue_a_class(tmp_path: Path) -> None:
    command = Bmv2Process(_setup(tmp_path)).command()
    general, target = command[: command.index("--")], command[command.index("--") + 1 :]
    assert general[:2] == ["simple_switch_grpc", "--no-p4"]
    assert "1@p0t0a-eth1" in general and "3@p0t0a-eth3" in general
    assert general[general.index("--device-id") + 1] == "3"
    assert target[target.index("--priority-queues") + 1] == "3"
    assert target[target.index("--grpc-server-addr") + 1] == f"unix:{tmp_path}/p0t0a.sock"


def test_bmv2_gets_rate_and_depth_of_each_queue_of_each_port(tmp_path: Path) -> None:
    process = Bmv2Process(_setup(tmp_path))
    process.node = here = Here("Control utility for runtime P4 table manipulation\nRuntimeCmd: \n")
    process.set_queues()
    queues = port_queues(FABRIC, "p0t0a", 2)
    lines = here.stdin.splitlines()
    assert len(lines) == 3 * 2 * 3
    for priority in range(3):
        assert f"set_queue_depth {queues.capacity[priority]} 2 {priority}" in lines
        assert f"set_queue_rate {queues.bmv2_packet_rates[priority]} 2 {priority}" in lines


def test_what_bmv2_refuses_is_an_error(tmp_path: Path) -> None:
    process = Bmv2Process(_setup(tmp_path))
    process.node = Here("RuntimeCmd: Invalid port number\n")
    with pytest.raises(SwitchProcessError, match=r"p0t0a: simple_switch_CLI: .*Invalid port"):
        process.set_queues()


def test_the_embedded_switch_reads_its_queues_from_a_file(tmp_path: Path) -> None:
    process = SoftProcess(_setup(tmp_path))
    process._write_queues()
    command = process.command()
    file = Path(command[command.index("--queues") + 1])
    port = json.loads(file.read_text(encoding="utf-8"))["ports"]["2"]
    queues = port_queues(FABRIC, "p0t0a", 2)
    assert port["rate_bps"] == queues.rate_bps == 4_000_000
    assert port["capacities"] == list(queues.capacity)
    assert "--end-with-stdin" in command
