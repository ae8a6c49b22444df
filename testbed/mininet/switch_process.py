# SPDX-License-Identifier: Apache-2.0
"""The process of one switch: started, waited for, stopped, and its log told when it fails."""

from __future__ import annotations

import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import grpc

from controller.client import SwitchTarget
from controller.queues import PortQueues
from testbed.mininet.errors import SwitchProcessError
from testbed.mininet.run_folder import PROMPTLY

START_S = 40.0
_POLL_S = 0.1
_STOP_S = 5.0
_LOG_LINES = 15


class Namespace(Protocol):
    """What a process needs of the node it runs in."""

    def spawn(self, command: Sequence[str], **params: object) -> subprocess.Popen[bytes]: ...

    def run(self, command: Sequence[str], stdin: str = "") -> str: ...


@dataclass(frozen=True, slots=True)
class SwitchSetup:
    """What one switch is: `ports` with their interfaces, `queues` by port number.

    `folder` takes its sockets, `log` what it says.
    """

    name: str
    device_id: int
    ports: Sequence[tuple[int, str]]
    queues: Mapping[int, PortQueues]
    folder: Path
    log: Path


class SwitchProcess(ABC):
    """One switch, over all of its starts. `node` is set by the node that holds it."""

    kind: str
    """`bmv2` or `soft`."""

    node: Namespace

    def __init__(self, setup: SwitchSetup) -> None:
        self.setup = setup
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return self.setup.name

    @property
    def socket(self) -> Path:
        """Where its P4Runtime service listens."""
        return self.setup.folder / f"{self.name}.sock"

    @property
    def target(self) -> SwitchTarget:
        """How a controller reaches it."""
        return SwitchTarget(self.name, f"unix:{self.socket}", self.setup.device_id)

    @property
    def pid(self) -> int | None:
        """Its process id, None while it does not run."""
        return self._process.pid if self.running and self._process is not None else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @abstractmethod
    def command(self) -> list[str]:
        """The whole command."""

    @abstractmethod
    def set_queues(self) -> None:
        """Give the running process its queues' rates and capacities, if it has not got them."""

    def start(self) -> None:
        """Start it; `wait_ready` comes next."""
        if self.running:
            return
        self.socket.unlink(missing_ok=True)
        with self.setup.log.open("ab") as log:
            self._process = self.node.spawn(
                [*PROMPTLY, *self.command()],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait_ready(self, timeout_s: float = START_S) -> None:
        """Wait until it answers over gRPC, and set its queues.

        SwitchProcessError with command, exit status and the end of the log otherwise.
        """
        deadline = time.monotonic() + timeout_s
        with grpc.insecure_channel(f"unix:{self.socket}", options=_CHANNEL) as channel:
            ready = grpc.channel_ready_future(channel)
            while True:
                try:
                    ready.result(timeout=_POLL_S)
                    break
                except grpc.FutureTimeoutError:
                    if not self.running:
                        raise self._failed("ended") from None
                    if time.monotonic() > deadline:
                        raise self._failed(f"did not answer within {timeout_s:g} s") from None
            ready.cancel()
        self.set_queues()

    def begin_stop(self) -> None:
        """Ask it to end (SIGTERM), so that several may end side by side; `stop` comes next."""
        if self.running and self._process is not None:
            self._process.terminate()

    def stop(self) -> None:
        """End it (SIGTERM, then SIGKILL) and wait until it is gone."""
        self.begin_stop()
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def check(self) -> None:
        """SwitchProcessError when it has ended of its own accord."""
        if self._process is not None and not self.running:
            raise self._failed("ended")

    def log_tail(self, lines: int = _LOG_LINES) -> str:
        """The end of its log."""
        try:
            text = self.setup.log.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return f"({self.setup.log}: {error.strerror})"
        return "\n".join(text.splitlines()[-lines:]) or "(empty)"

    def _failed(self, what: str) -> SwitchProcessError:
        status = None if self._process is None else self._process.poll()
        told = "" if status is None else f" (exit status {status})"
        return SwitchProcessError(
            f"switch {self.name} {what}{told}\n"
            f"  command: {' '.join(self.command())}\n"
            f"  end of {self.setup.log}:\n{self.log_tail()}"
        )


_CHANNEL = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)
