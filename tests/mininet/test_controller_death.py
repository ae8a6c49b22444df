# SPDX-License-Identifier: Apache-2.0
"""A controller that is killed while it installs leaves switches and hosts at work, and the next one
finishes what it began."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

pytest.importorskip("mininet", reason="needs Mininet's modules: make mininet")

from small_fabric import small_fabric

import topologies
from testbed.mininet.live import LiveFabric
from testbed.mininet.session import Session
from testbed.mininet.transfers import Transfer, TransferResult

pytestmark = pytest.mark.mininet

RUN_S = 60.0
EMPTY = "p1t1a"
REPORTED = (1, 2, 3, 4)
"""Switches that it has finished when it is killed; others are under way."""


class Controller:
    """`python -m controller` for the switches of a fabric that is up."""

    def __init__(self, live: LiveFabric, folder: Path) -> None:
        fabric, switches = folder / "small.yaml", folder / "switches.yaml"
        fabric.write_text(topologies.to_yaml(live.fabric.spec), encoding="utf-8")
        places = {}
        for switch in live.fabric.switches():
            target = live.net.switch(switch.name).target
            places[switch.name] = {"address": target.address, "device_id": target.device_id}
        switches.write_text(yaml.safe_dump(places), encoding="utf-8")
        self._command = [sys.executable, "-u", "-m", "controller", str(fabric)]
        self._command += ["--switches", str(switches)]

    def killed_after(self, switches: int) -> None:
        """Kill it when it has reported so many switches."""
        with subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(switches):
                assert EMPTY not in process.stdout.readline(), "the empty one takes longest"
            process.kill()
        assert process.returncode == -signal.SIGKILL

    def finished(self) -> str:
        """What it says at its end."""
        done = subprocess.run(
            self._command, capture_output=True, text=True, timeout=RUN_S, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1]


def test_a_killed_controller_can_be_followed_by_another(live: LiveFabric, tmp_path: Path) -> None:
    ended: list[TransferResult] = []

    def tell(transfer: Transfer, result: TransferResult) -> None:
        ended.append(result)

    session = Session(live, small_fabric(), 1.0, tmp_path, tell)
    controller = Controller(live, tmp_path)
    done = threading.Event()

    def keep_writing() -> None:
        while not done.is_set():
            session.write("h1", "h2", 64 << 10).join(RUN_S)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        for switches in REPORTED:
            _empty(live, EMPTY)
            controller.killed_after(switches)
            live.check()
        count = live.fabric.switch_count
        assert controller.finished().startswith(f"{count} of {count} switches installed")
        assert controller.finished().endswith(" 0 changes")
    finally:
        done.set()
        writer.join(RUN_S)
        session.close()
    assert ended and all(result.error is None for result in ended)
    live.check()


def _empty(live: LiveFabric, name: str) -> None:
    """A new process, without program and tables."""
    process = live.net.switch(name)
    process.stop()
    process.start()
    process.wait_ready()
