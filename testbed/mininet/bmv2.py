# SPDX-License-Identifier: Apache-2.0
"""BMv2 (`simple_switch_grpc`) as a switch of the fabric.

Rates and depths of its queues are on the Thrift port only, in packets per second and packets, for
each priority of each port. Its queues have no rate of the port together, so they get shares of it
that add up (`controller.queues`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from controller.queues import QUEUE_COUNT
from testbed.mininet.errors import SwitchProcessError
from testbed.mininet.switch_process import SwitchProcess

PROGRAM = "simple_switch_grpc"
CLI = "simple_switch_CLI"
THRIFT_PORT = 9090
"""Each switch has a namespace of its own, so all may use the same."""

_COMPLAINT = re.compile(r"error|invalid|unknown|could not|usage", re.IGNORECASE)


def version() -> str:
    """What simple_switch_grpc says of itself, and how large it is: builds of one version differ."""
    path = shutil.which(PROGRAM)
    if path is None:
        return "not there"
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    lines = said.stdout.split()
    return f"{lines[-1] if lines else 'unknown'} ({os.stat(path).st_size} B)"


class Bmv2Process(SwitchProcess):
    """A `simple_switch_grpc` that starts empty, with three priority queues a port."""

    kind = "bmv2"

    def command(self) -> list[str]:
        setup = self.setup
        interfaces = [part for n, name in setup.ports for part in ("-i", f"{n}@{name}")]
        return [
            PROGRAM,
            "--no-p4",
            *("--device-id", str(setup.device_id)),
            *("--thrift-port", str(THRIFT_PORT)),
            *("--notifications-addr", f"ipc://{setup.folder / self.name}.ipc"),
            *("--log-console", "--log-level", "error"),
            *interfaces,
            "--",
            *("--grpc-server-addr", f"unix:{self.socket}"),
            *("--priority-queues", str(QUEUE_COUNT)),
        ]

    def set_queues(self) -> None:
        lines = []
        for port, queues in self.setup.queues.items():
            for priority in range(QUEUE_COUNT):
                lines.append(f"set_queue_depth {queues.capacity[priority]} {port} {priority}")
                rate = queues.bmv2_packet_rates[priority]
                lines.append(f"set_queue_rate {rate} {port} {priority}")
        said = self.thrift("\n".join(lines) + "\n")
        # Its first lines tell of the connection; a complaint is a line of its own.
        complaints = [line for line in said.splitlines() if _COMPLAINT.search(line)]
        if complaints:
            raise SwitchProcessError(f"switch {self.name}: {CLI}: {complaints[0]}")

    def thrift(self, commands: str) -> str:
        """Give commands to simple_switch_CLI; what it says."""
        return self.node.run([CLI, "--thrift-port", str(THRIFT_PORT)], stdin=commands)
