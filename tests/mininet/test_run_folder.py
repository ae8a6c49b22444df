# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind is cleared by its id, whoever dies, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from testbed.cli.app import app
from testbed.mininet.run_folder import (
    RUN_VARIABLE,
    RunFolder,
    clear_run,
    find_runs,
    run_processes,
)

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True)"


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runs"
    monkeypatch.setenv("MRC_RUN_DIR", str(folder))
    return folder


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of another run."""
    environment = {**os.environ, RUN_VARIABLE: "0" * 12}
    process = subprocess.Popen(["sleep", "60"], env=environment)
    yield process
    process.kill()
    process.wait()


def _sleeper(run: RunFolder, code: str = "") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", f"{code}\nimport time; time.sleep(60)"]
    return subprocess.Popen(command, env=run.environment, stdout=subprocess.PIPE)


def _until(condition: object, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def test_leaving_a_run_ends_its_processes_and_removes_its_files(
    bystander: subprocess.Popen[bytes],
) -> None:
    with RunFolder("test") as run:
        (run.path / "socket").write_text("")
        process = _sleeper(run)
        assert run_processes(run.id) == [process.pid]
    assert process.wait(5) == -signal.SIGTERM
    assert not run.path.exists()
    assert bystander.poll() is None


def test_a_process_that_ignores_the_request_to_end_is_killed() -> None:
    with RunFolder("test") as run:
        process = _sleeper(run, STUBBORN)
        assert process.stdout is not None
        process.stdout.readline()  # it ignores SIGTERM by now
        assert clear_run(run.path) == 1
        assert process.wait(5) == -signal.SIGKILL


def test_children_of_children_are_found() -> None:
    with RunFolder("test") as run:
        shell = subprocess.Popen(["sh", "-c", "sleep 61 & sleep 62"], env=run.environment)
        _until(lambda: len(run_processes(run.id)) == 3)
    shell.wait(5)
    assert run_processes(run.id) == []


def test_a_killed_owner_leaves_nothing_behind(
    runs: Path, bystander: subprocess.Popen[bytes]
) -> None:
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, time\n"
            "from testbed.mininet.run_folder import RunFolder\n"
            "with RunFolder('test') as run:\n"
            "    subprocess.Popen(['sleep', '63'], env=run.environment)\n"
            "    print(run.id, flush=True)\n"
            "    time.sleep(60)\n",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    run_id = owner.stdout.readline().strip()
    assert len(run_processes(run_id)) == 1
    owner.kill()
    owner.wait()
    _until(lambda: not run_processes(run_id) and not (runs / run_id).exists())
    assert bystander.poll() is None


def test_clean_clears_crashed_runs_and_leaves_running_ones_and_other_files(
    runs: Path, bystander: subprocess.Popen[bytes]
) -> None:
    crashed = runs / "00000000000a"
    crashed.mkdir(parents=True)
    (crashed / "state.json").write_text('{"pid": 1, "started": 1, "what": "a crashed run"}')
    unreadable = runs / "00000000000b"
    unreadable.mkdir()
    others = runs / "not-ours"
    others.mkdir()
    left = subprocess.Popen(["sleep", "64"], env={**os.environ, RUN_VARIABLE: crashed.name})
    with RunFolder("a running fabric") as run:
        said = CliRunner().invoke(app, ["clean"])
        assert said.exit_code == 0, said.output
        assert run.path.exists()
        assert (
            f"{run.id}: a running fabric: runs in process {os.getpid()}, left alone" in said.output
        )
    assert "00000000000a: a crashed run: cleared, 1 processes ended" in said.output
    assert "00000000000b: unknown: cleared, 0 processes ended" in said.output
    assert left.wait(5) == -signal.SIGTERM
    assert not crashed.exists() and not unreadable.exists()
    assert others.exists()
    assert bystander.poll() is None
    assert find_runs() == []


def test_clean_with_nothing_to_clean(runs: Path) -> None:
    said = CliRunner().invoke(app, ["clean"])
    assert said.exit_code == 0
    assert str(runs) in said.output.replace("\n", "")
