# SPDX-License-Identifier: Apache-2.0
"""What a running fabric leaves on a machine, and how it is taken away in every case.

A run has an id of its own. Everything it starts carries the id in its environment, and its files
lie in one folder of that name. Its interfaces are all in namespaces that live as long as the
processes in them. So to clear a run is to end the processes that carry its id and to remove its
folder: nothing is ever looked for by a name that another program could have.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from testbed.mininet.errors import MininetWorldError

RUN_VARIABLE = "MRC_RUN"
"""In the environment of every process of a run: its id."""

PROMPTLY = ("nice", "-n", "-10")
"""What to put before the command of a process that carries packets, so that it is scheduled when
they come, whatever else runs. Where that is not allowed, `nice` says so and runs it anyway."""

_ID = re.compile(r"[0-9a-f]{12}")
_STATE = "state.json"
_TERM_S = 2.0
_KILL_S = 5.0


def runs_folder() -> Path:
    """Where the folders of runs are: /run/mrc, or $MRC_RUN_DIR. Sockets need a short path."""
    return Path(os.environ.get("MRC_RUN_DIR", "/run/mrc"))


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that a run belongs to: `started` in clock ticks since boot tells it from a
    later one with the same id."""

    pid: int
    started: int

    @classmethod
    def this_process(cls) -> Owner:
        started = _start_ticks(os.getpid())
        assert started is not None
        return cls(os.getpid(), started)

    @property
    def alive(self) -> bool:
        return _start_ticks(self.pid) == self.started


class RunFolder:
    """The folder of one run of this process, and a janitor that clears the run should this
    process die. A context manager: leaving it clears the run."""

    def __init__(self, what: str) -> None:
        """`what` names the run for people."""
        self.id = secrets.token_hex(6)
        self.path = runs_folder() / self.id
        self._what = what
        self._janitor: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise MininetWorldError(f"{error.filename}: {error.strerror}") from error
        owner = Owner.this_process()
        state = {"pid": owner.pid, "started": owner.started, "what": self._what}
        (self.path / _STATE).write_text(json.dumps(state) + "\n", encoding="utf-8")
        self._janitor = subprocess.Popen(
            [sys.executable, "-m", "testbed.mininet.janitor", str(self.path)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        clear_run(self.path)
        if self._janitor is not None and self._janitor.stdin is not None:
            self._janitor.stdin.close()
            self._janitor.wait()

    @property
    def environment(self) -> dict[str, str]:
        """The environment for everything that belongs to the run."""
        return {**os.environ, RUN_VARIABLE: self.id}

    def file(self, name: str) -> Path:
        """A path in the folder."""
        return self.path / name


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run's folder as `find_runs` finds it. `owner` is None where its state is unreadable."""

    path: Path
    owner: Owner | None
    what: str

    @property
    def alive(self) -> bool:
        return self.owner is not None and self.owner.alive


def find_runs() -> list[FoundRun]:
    """All runs of this machine, by id; folders with other names are not ours."""
    folder = runs_folder()
    if not folder.is_dir():
        return []
    return [_read(path) for path in sorted(folder.iterdir()) if _ID.fullmatch(path.name)]


def _read(path: Path) -> FoundRun:
    try:
        state = json.loads((path / _STATE).read_text(encoding="utf-8"))
        return FoundRun(path, Owner(int(state["pid"]), int(state["started"])), str(state["what"]))
    except (OSError, ValueError, KeyError, TypeError):
        return FoundRun(path, None, "unknown")


def run_processes(run_id: str) -> list[int]:
    """Processes that carry the id of a run, this one aside."""
    return marked_processes(RUN_VARIABLE, run_id)


def marked_processes(variable: str, value: str) -> list[int]:
    """Processes that were started with this in their environment, this one aside."""
    mark = f"{variable}={value}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue  # it has ended, or is not ours to look at
    return found


def clear_run(path: Path) -> int:
    """End what a run has started and remove its folder; how many processes were ended."""
    ended = end_processes(path.name)
    shutil.rmtree(path, ignore_errors=True)
    return ended


def end_processes(run_id: str) -> int:
    """SIGTERM, then SIGKILL, to all processes of a run; how many there were.

    MininetWorldError when one survives.
    """
    first = run_processes(run_id)
    left = first
    for number, patience_s in ((signal.SIGTERM, _TERM_S), (signal.SIGKILL, _KILL_S)):
        deadline = time.monotonic() + patience_s
        for pid in left:
            _signal(pid, number)
        while left := run_processes(run_id):
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        if not left:
            return len(first)
    raise MininetWorldError(f"processes {left} of run {run_id} cannot be ended")


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _start_ticks(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])
