# SPDX-License-Identifier: Apache-2.0
"""Network namespaces that vanish with this process, joined by veth pairs.

A namespace is held by a process that waits for the end of its standard input, and has no name:
however the tests end, the kernel removes it and all of its interfaces.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, TypeVar

from testbed.mininet.interfaces import OFFLOADS

_CLONE_NEWNET = 0x40000000
_PROGRAMS = ("ip", "ethtool", "nsenter", "setpriv", "sysctl", "unshare")
_COMMAND_S = 20

_Made = TypeVar("_Made")


def missing() -> str | None:
    """Why namespaces cannot be made here, if they cannot."""
    if os.geteuid():
        return "needs root"
    for program in _PROGRAMS:
        if shutil.which(program) is None:
            return f"needs {program} on the PATH"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "needs network namespaces"


class CommandFailed(Exception):
    """A command in a namespace failed; the message has the command and what it said."""


class Namespace:
    """One namespace. A context manager; its processes must have ended before it is left."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._holder = subprocess.Popen(
            ["unshare", "--net", "cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._holder.stdin is not None and self._holder.stdout is not None
        self._holder.stdin.write(b"there\n")
        self._holder.stdin.flush()
        if self._holder.stdout.readline() != b"there\n":
            self.close()
            raise CommandFailed(f"{name}: no namespace")

    @property
    def pid(self) -> int:
        return self._holder.pid

    @property
    def enter(self) -> tuple[str, ...]:
        """What to put before a command so that it runs here, with its own process id."""
        return ("nsenter", f"--net=/proc/{self.pid}/ns/net")

    def run(self, command: Sequence[str], stdin: str = "") -> str:
        """Run a command here; its output."""
        done = subprocess.run(
            [*self.enter, *command],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_COMMAND_S,
            check=False,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            raise CommandFailed(f"{self.name}: {' '.join(command)}: {said}")
        return done.stdout

    def spawn(self, command: Sequence[str], **params: Any) -> subprocess.Popen[bytes]:
        """Start a command here, in a session of its own; it ends with this process."""
        bound = ("setpriv", "--pdeathsig", "KILL", *self.enter)
        return subprocess.Popen([*bound, *command], start_new_session=True, **params)

    def make(self, create: Callable[[], _Made]) -> _Made:
        """What `create` returns when called here: a socket stays in its namespace."""
        made: list[_Made] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                with open(f"/proc/{self.pid}/ns/net") as handle:
                    if libc.setns(handle.fileno(), _CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), f"{self.name}: setns")
                made.append(create())
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=work)  # namespaces belong to threads
        thread.start()
        thread.join()
        if failed:
            raise failed[0]
        return made[0]

    def settings(self, **values: int) -> None:
        """Set `net.ipv6.conf` settings for the interfaces that are made here from now on."""
        for scope in ("all", "default"):
            pairs = [f"net.ipv6.conf.{scope}.{key}={value}" for key, value in values.items()]
            self.run(["sysctl", "-qw", *pairs])

    def close(self) -> None:
        for pipe in (self._holder.stdin, self._holder.stdout):
            if pipe is not None:
                pipe.close()
        self._holder.wait(_COMMAND_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Namespaces(ExitStack):
    """Namespaces and what runs in them: leaving it ends everything, the last first."""

    def plain(self, name: str) -> Namespace:
        """A namespace with its loopback interface up."""
        made = self.enter_context(Namespace(name))
        made.run(["ip", "link", "set", "lo", "up"])
        return made

    def silent(self, name: str) -> Namespace:
        """A namespace without IPv6: only packet sockets see its interfaces."""
        made = self.plain(name)
        made.settings(disable_ipv6=1)
        return made


def plug(
    one: tuple[Namespace, str, bytes], other: tuple[Namespace, str, bytes], mtu_bytes: int
) -> None:
    """Join two namespaces by a veth pair; each end is (namespace, interface, MAC address)."""
    (here, name, mac), (there, far_name, far_mac) = one, other
    mtu = ("mtu", str(mtu_bytes))
    here.run(
        ["ip", "link", "add", name, "address", mac.hex(":"), *mtu, "type", "veth",
         "peer", "name", far_name, "address", far_mac.hex(":"), *mtu, "netns", str(there.pid)]
    )  # fmt: skip
    off = [word for feature in OFFLOADS for word in (feature, "off")]
    for namespace, interface in ((here, name), (there, far_name)):
        namespace.run(["ethtool", "-K", interface, *off])
    for namespace, interface in ((here, name), (there, far_name)):
        namespace.run(["ip", "link", "set", interface, "up"])
