# SPDX-License-Identifier: Apache-2.0
"""A capture of one link as a process in the namespace of its lower end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from testbed.mininet.errors import MininetWorldError
from testbed.mininet.nodes import MarkedNode

_STOP_S = 5.0


class Capture:
    """Runs from its making until `close`. MininetWorldError when it cannot begin."""

    def __init__(self, node: MarkedNode, interface: str, path: Path) -> None:
        self.path = path
        module = "testbed.mininet.capture"
        self._process = node.spawn(
            [sys.executable, "-m", module, interface, str(path.resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"capturing\n":
            _, errors = self._process.communicate()
            raise MininetWorldError(errors.decode(errors="replace").strip())

    def close(self) -> None:
        """End it; what was captured is in the file."""
        try:
            self._process.communicate(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
