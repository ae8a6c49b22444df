# SPDX-License-Identifier: Apache-2.0
"""Starts an agent as a process, in another network namespace if asked, and ends it."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from endpoint.agent.client import DEFAULT_TIMEOUT_S, AgentClient
from endpoint.agent.errors import AgentStartError

LOG_TAIL_LINES = 20


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """How to start one agent. Paths must be absolute: a launcher may change the folder.

    `fabric`: preset or YAML file. `ports`: interfaces by plane. `launch`: what to put before the
    command, such as `("ip", "netns", "exec", "h1")` or `("mnexec", "-a", "1234")`. `options`:
    further options of `python -m endpoint.agent`.
    """

    fabric: str
    host: str
    ports: Sequence[str]
    socket: str
    launch: Sequence[str] = ()
    options: Sequence[str] = ()
    python: str = sys.executable

    def argv(self) -> list[str]:
        """The whole command. The agent ends when its standard input does."""
        return [
            *self.launch,
            *(self.python, "-m", "endpoint.agent"),
            *("--fabric", self.fabric),
            *("--host", self.host),
            *("--ports", ",".join(self.ports)),
            *("--socket", self.socket),
            "--end-with-stdin",
            *self.options,
        ]


class AgentProcess:
    """A running agent. Leaving it as a context manager stops it.

    It has a session of its own, so that Ctrl-C reaches its starter alone, and holds a pipe from
    its starter: should that be killed, the agent ends by itself.
    """

    def __init__(self, command: AgentCommand, log: str | os.PathLike[str]) -> None:
        """Starts it; `wait_ready` comes next. Its log is written to the file `log`."""
        self.command = command
        self.log = Path(log)
        with self.log.open("ab") as stderr:
            try:
                self._process = subprocess.Popen(
                    command.argv(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    start_new_session=True,
                )
            except OSError as error:
                raise AgentStartError(f"{' '.join(command.argv())}: {error}") from error

    @property
    def pid(self) -> int:
        """Process id, of the launcher where that stays (`ip netns exec` becomes the agent)."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def wait_ready(self, timeout_s: float = 20.0) -> Self:
        """Waits until it accepts calls. AgentStartError with command, exit status and the end of
        its log otherwise; it is not running then."""
        deadline = time.monotonic() + timeout_s
        output = self._process.stdout
        assert output is not None
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([output], (), (), max(0.0, deadline - time.monotonic()))
            if not ready:
                self.kill()
                raise self._failed(f"not ready within {timeout_s:g} s")
            part = os.read(output.fileno(), 4096)
            if not part:
                status = self._process.wait()
                raise self._failed(f"ended with exit status {status}")
            line += part
        try:
            named = json.loads(line)["ready"]
        except (ValueError, KeyError, TypeError):
            self.kill()
            raise self._failed(f"said {line!r} instead of being ready") from None
        if named != self.command.host:
            self.kill()
            raise self._failed(f"is {named}")
        return self

    def client(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> AgentClient:
        """A new client; the caller closes it."""
        return AgentClient(self.command.socket, timeout_s=timeout_s)

    def log_tail(self, lines: int = LOG_TAIL_LINES) -> str:
        """The end of its log."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return f"({self.log}: {error.strerror})"
        return "\n".join(text.splitlines()[-lines:])

    def send_signal(self, number: signal.Signals) -> None:
        """To the process, unless it has ended."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    def stop(self, timeout_s: float = 5.0) -> int:
        """SIGTERM, and SIGKILL when that does not end it in time. Its exit status."""
        self.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        return self._ended()

    def kill(self) -> int:
        """SIGKILL; its exit status."""
        self.send_signal(signal.SIGKILL)
        return self._ended()

    def _ended(self) -> int:
        status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return status

    def _failed(self, reason: str) -> AgentStartError:
        return AgentStartError(
            f"agent {self.command.host} {reason}\n"
            f"  command: {' '.join(self.command.argv())}\n"
            f"  end of {self.log}:\n{self.log_tail()}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start_agents(
    commands: Sequence[tuple[AgentCommand, str | os.PathLike[str]]], timeout_s: float = 30.0
) -> list[AgentProcess]:
    """Starts several side by side, and waits for all. When one fails, none is left."""
    started: list[AgentProcess] = []
    try:
        for command, log in commands:
            started.append(AgentProcess(command, log))
        deadline = time.monotonic() + timeout_s
        for process in started:
            process.wait_ready(max(0.1, deadline - time.monotonic()))
    except BaseException:
        for process in started:
            process.kill()
        raise
    return started
