# SPDX-License-Identifier: Apache-2.0
"""Mininet's node classes, for this project: every node a namespace, every process marked.

Switches have namespaces too, so that no interface of a fabric is ever in the machine's own, and
all of them vanish with their processes. They are reached over Unix sockets, which cross
namespaces.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from mininet.link import Link
from mininet.node import Host, Node, Switch

from testbed.mininet.errors import MininetWorldError
from testbed.mininet.switch_process import SwitchProcess

_COMMAND_S = 20.0


class MarkedNode(Node):  # type: ignore[misc]
    """A node whose processes have the environment `environment`."""

    def __init__(self, name: str, *, environment: Mapping[str, str], **params: Any) -> None:
        self._environment = dict(environment)
        super().__init__(name, **{**params, "inNamespace": True})

    def _popen(self, cmd: Sequence[str], **params: Any) -> subprocess.Popen[bytes]:
        params.setdefault("env", self._environment)
        popen: subprocess.Popen[bytes] = super()._popen(cmd, **params)
        return popen

    def enter(self) -> list[str]:
        """What to put before a command so that it runs in this node's namespace."""
        return ["mnexec", "-a", str(self.pid)]

    def spawn(self, command: Sequence[str], **params: Any) -> subprocess.Popen[bytes]:
        """Start a command in the namespace, in a session of its own."""
        return self._popen([*self.enter(), *command], start_new_session=True, **params)

    def call(self, command: Sequence[str]) -> int:
        """Run a command in the namespace with this process's own terminal; its exit status."""
        return subprocess.call([*self.enter(), *command], env=self._environment)

    def pipe(self, command: Sequence[str], stdin: str) -> subprocess.Popen[bytes]:
        """Start a command in the namespace and give it `stdin`; its output is collected."""
        process = self.spawn(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdin is not None
        process.stdin.write(stdin.encode())
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, command: Sequence[str], stdin: str = "") -> str:
        """Run a command in the namespace; its output. MininetWorldError when it fails."""
        try:
            done = subprocess.run(
                [*self.enter(), *command],
                input=stdin,
                capture_output=True,
                text=True,
                env=self._environment,
                timeout=_COMMAND_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise MininetWorldError(
                f"{self.name}: {' '.join(command)}: no end within {_COMMAND_S:g} s"
            ) from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            raise MininetWorldError(f"{self.name}: {' '.join(command)}: {said}")
        return done.stdout


class FabricHost(MarkedNode, Host):  # type: ignore[misc]
    """A host: a namespace with one interface a plane."""


class FabricSwitch(MarkedNode, Switch):  # type: ignore[misc]
    """A switch: a namespace, and the process that forwards in it.

    Mininet's `start` and `stop` start and end the process; the interfaces stay.
    """

    def __init__(self, name: str, *, process: SwitchProcess, **params: Any) -> None:
        self.controlIntf = None
        self.process = process
        super().__init__(name, **params)
        process.node = self

    def start(self, controllers: Sequence[Any] = ()) -> None:
        self.process.start()

    def stop(self, deleteIntfs: bool = True) -> None:
        self.process.stop()
        super().stop(deleteIntfs)


class FabricLink(Link):  # type: ignore[misc]
    """A veth pair between two namespaces, both ends made in their own.

    It goes when its namespaces go: nothing needs to be deleted one by one.
    """

    def stop(self) -> None:
        pass
