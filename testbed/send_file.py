# SPDX-License-Identifier: Apache-2.0
"""Send a real file across a fabric, and compare what arrived with what was sent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.results import RunResult
from testbed.run import Progress, run_scenario
from testbed.scenario import parse_scenario
from testbed.virtual.world import VirtualWorld

_LONGEST = "10s"


@dataclass(frozen=True, slots=True)
class SentFile:
    """Digests (SHA-256, hexadecimal) of the file and of the destination host's memory."""

    result: RunResult
    length: int
    source_sha256: str
    destination_sha256: str

    @property
    def intact(self) -> bool:
        """Whether the run passed and both digests are equal."""
        return self.result.passed and self.source_sha256 == self.destination_sha256


def send_file(
    path: Path,
    source: str,
    destination: str,
    *,
    topology: str = "demo",
    faults: Sequence[dict[str, Any]] = (),
    seed: int = 1,
    message_bytes: int = 1 << 20,
    out: Path | None = None,
    progress: Progress | None = None,
    results_dir: Path | None = None,
    capture: Sequence[str] | None = None,
) -> SentFile:
    """Send ``path`` from host ``source`` to host ``destination`` in the virtual world.

    ``faults`` as in a scenario file. ``out`` receives the bytes that arrived. Raises
    `ScenarioError` for bad input, as `run_scenario` does.
    """
    scenario = parse_scenario(
        {
            "name": "send",
            "description": f"{path.name} from {source} to {destination}.",
            "topology": topology,
            "seed": seed,
            "duration": _LONGEST,
            "workload": {
                "kind": "one_write",
                "source": source,
                "destination": destination,
                "file": str(path.absolute()),
                "message_bytes": message_bytes,
                "in_flight": 8,
            },
            "faults": list(faults),
        },
        source="send",
    )
    worlds: list[VirtualWorld] = []
    keep: Callable[[VirtualWorld], None] = worlds.append
    result = run_scenario(
        scenario,
        progress=progress,
        results_dir=results_dir,
        capture=capture,
        prepare=keep,
    )
    flow = worlds[0].flows.flows[0]
    length = path.stat().st_size
    arrived = bytes(flow.region.buffer[:length])
    if out is not None:
        out.write_bytes(arrived)
    return SentFile(
        result,
        length,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        hashlib.sha256(arrived).hexdigest(),
    )
