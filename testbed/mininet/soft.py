# SPDX-License-Identifier: Apache-2.0
"""The embedded switch in a process of its own, as a switch of the fabric."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from testbed.mininet.switch_process import SwitchProcess
from topologies.timing import ETHERNET_OVERHEAD_BYTES


class SoftProcess(SwitchProcess):
    """`python -m softswitch`: one bit rate a port, shared by three strict queues."""

    kind = "soft"

    def command(self) -> list[str]:
        setup = self.setup
        interfaces = [part for n, name in setup.ports for part in ("--interface", f"{n}@{name}")]
        return [
            *(sys.executable, "-m", "softswitch"),
            *("--grpc", f"unix:{self.socket}"),
            *("--device-id", str(setup.device_id)),
            *("--name", self.name),
            *("--seed", str(setup.device_id)),
            *("--queues", str(self._queues_file)),
            *interfaces,
            "--end-with-stdin",
        ]

    @property
    def _queues_file(self) -> Path:
        return self.setup.folder / f"{self.name}.queues.json"

    def start(self) -> None:
        if not self.running:
            self._write_queues()
        super().start()

    def _write_queues(self) -> None:
        ports = {
            str(port): {
                "rate_bps": queues.rate_bps,
                "overhead_bytes": ETHERNET_OVERHEAD_BYTES,
                "capacities": list(queues.capacity),
            }
            for port, queues in self.setup.queues.items()
        }
        self._queues_file.write_text(json.dumps({"ports": ports}) + "\n", encoding="utf-8")

    def set_queues(self) -> None:
        """They were in the file that it started with."""
