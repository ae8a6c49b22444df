# SPDX-License-Identifier: Apache-2.0
"""However `mrc up` ends, no process, interface or file of its fabric is left; its prompt works."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from small_fabric import small_fabric

import topologies
from testbed.mininet.run_folder import run_processes

pytestmark = pytest.mark.mininet

START_S = 60.0


class Up:
    """`mrc up` in a process of its own, with commands from a pipe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        fabric = folder / "small.yaml"
        spec = small_fabric(planes=1, t1s=1).spec
        fabric.write_text(topologies.to_yaml(spec), encoding="utf-8")
        self.runs = folder / "runs"
        environment = {
            **os.environ,
            "MRC_RUN_DIR": str(self.runs),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        _pretend_to_be_measured(folder / "cache")
        command = [sys.executable, "-c", "from testbed.cli import main; main()", "up"]
        options = [str(fabric), "--switch", "soft", "--results", str(folder / "results")]
        self.process = subprocess.Popen(
            [*command, *options],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._heard = b""

    def read_until(self, text: str) -> str:
        """Everything that it has said up to the line with `text`."""
        assert self.process.stdout is not None
        output = self.process.stdout.fileno()
        deadline = time.monotonic() + START_S
        wanted = text.encode()
        while (found := self._heard.find(wanted)) < 0 or b"\n" not in self._heard[found:]:
            ready, _, _ = select.select([output], [], [], max(0.0, deadline - time.monotonic()))
            some = os.read(output, 1 << 16) if ready else b""
            assert some, f"no {text!r} in:\n{self._heard.decode()}"
            self._heard += some
        end = self._heard.index(b"\n", found) + 1
        said, self._heard = self._heard[:end], self._heard[end:]
        return said.decode()

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    @property
    def run_id(self) -> str:
        (folder,) = self.runs.iterdir()
        return folder.name

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def _pretend_to_be_measured(cache: Path) -> None:
    """A calibration in which everything is cheap: the fabric is slow enough for any machine."""
    code = (
        "from testbed.mininet.calibration import Costs, store_costs\n"
        "store_costs('soft', Costs(agents_us=1, hop_us=1, path_rtt_us=1, measured_at='x', "
        "packets=1))"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    made = Up(tmp_path)
    try:
        yield made
    finally:
        made.close()


def _nothing_is_left(up: Up, run_id: str) -> None:
    deadline = time.monotonic() + 20
    while run_processes(run_id) or (up.runs / run_id).exists():
        assert time.monotonic() < deadline, [run_processes(run_id), list(up.runs.iterdir())]
        time.sleep(0.05)


def test_a_prompt_from_beginning_to_end(up: Up) -> None:
    said = up.read_until("up; `help` lists commands")
    assert "small: 2 hosts, 3 switches (soft), 4 links" in said
    run_id = up.run_id
    up.type("write h1 h2 50K")
    up.type("wait")
    assert "every byte equal" in up.read_until("write 1: 50.0 KiB in")
    up.type("fail link h2 p0t0b lossy 200")
    assert "usage: fail link A B" in up.read_until("at most 100 percent")
    up.type("fail link p0t0a p0t1a silent")
    up.read_until("broken (0): link p0t0a-p0t1a silent")
    up.type("heal")
    up.read_until("mended: link p0t0a-p0t1a silent")
    up.type("h1 echo hello from $(ip -o link show h1-eth0 | cut -d@ -f1)")
    up.read_until("hello from 2: h1-eth0")
    up.type("nonsense")
    up.read_until("no command 'nonsense'")
    up.type("exit")
    up.read_until("taking everything down")
    assert up.process.wait(30) == 0
    _nothing_is_left(up, run_id)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_ends_everything(up: Up, number: signal.Signals) -> None:
    up.read_until("up; `help` lists commands")
    run_id = up.run_id
    assert len(run_processes(run_id)) >= 10  # a shell a node, switches, agents
    os.kill(up.process.pid, number)
    status = up.process.wait(30)
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    _nothing_is_left(up, run_id)


@pytest.mark.parametrize(
    ("step", "program", "said"),
    [
        ("starting switches", b"softswitch", "switch p0t"),
        ("installing the program", b"softswitch", "p0t"),
        ("starting 2 host agents", b"endpoint.agent", "agent h"),
    ],
)
def test_what_dies_while_the_fabric_starts_is_named_and_nothing_is_left(
    up: Up, step: str, program: bytes, said: str
) -> None:
    up.read_until(step)
    run_id = up.run_id
    deadline = time.monotonic() + START_S
    while not (found := _running(run_id, program)):
        assert time.monotonic() < deadline, f"{program!r} does not start"
    os.kill(found[0], signal.SIGKILL)
    assert said in up.read_until("exit status -9")
    assert up.process.wait(30) == 2
    _nothing_is_left(up, run_id)


def _running(run_id: str, program: bytes) -> list[int]:
    """Processes of a run that run this module."""
    found = []
    for pid in run_processes(run_id):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"-m" in words and program in words:
                found.append(pid)
    return found


def test_ctrl_c_while_it_starts(up: Up) -> None:
    up.read_until("starting switches")
    run_id = up.run_id
    os.kill(up.process.pid, signal.SIGINT)
    assert up.process.wait(30) == 128 + signal.SIGINT
    _nothing_is_left(up, run_id)
