# SPDX-License-Identifier: Apache-2.0
"""What this machine can carry: measured once, stored, and turned into rates of a fabric.

Every packet costs processor time at two agents and at each switch it passes (its SACK included).
With these costs known, a fabric's rates follow from how many ports send at once and how much of
the processors they may take. Software switches collapse when they are flooded, so that share is
well below all.
"""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from controller.queues import BMV2_SHARE_PERCENT
from controller.tables import QUEUE_DATA
from testbed.mininet import bmv2
from testbed.mininet.agents import PACE_PERCENT
from testbed.mininet.errors import NotReady
from topologies.fabric import Fabric
from topologies.timing import data_frame_bytes, link_bytes

PROCESSOR_SHARE = 0.5
"""Of all processors, what a fabric may take in a steady state."""
_AGENT_SHARE = 0.5
"""Of one processor, what one agent may take."""
_FILE = "calibration.json"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Machine(_Record):
    """What a calibration is good for."""

    processors: int
    model: str
    kernel: str
    python: str

    @classmethod
    def here(cls) -> Machine:
        return cls(
            processors=len(os.sched_getaffinity(0)),
            model=_processor_model(),
            kernel=platform.release(),
            python=platform.python_version(),
        )


class Costs(_Record):
    """Of one data packet, its SACK included, with one kind of switch."""

    agents_us: float = Field(gt=0)
    """Processor time of the two agents."""
    hop_us: float = Field(gt=0)
    """Processor time of one switch."""
    path_rtt_us: float = Field(gt=0)
    """Round trip over three switches when nothing else is on its way."""
    measured_at: str
    """When, as an ISO date and time."""
    packets: int
    """That were sent to measure it."""
    program: str = ""
    """Which build of BMv2 it was measured with."""


class Calibration(_Record):
    machine: Machine
    switches: dict[str, Costs] = Field(default_factory=dict)


def calibration_file() -> Path:
    """Where it is stored: $XDG_CACHE_HOME/mrc, ~/.cache/mrc by default."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "mrc" / _FILE


def load_costs(switch_kind: str) -> Costs | None:
    """What was measured on this machine with this kind of switch, None when nothing was."""
    try:
        stored = Calibration.model_validate_json(calibration_file().read_bytes())
    except (OSError, ValidationError):
        return None
    costs = stored.switches.get(switch_kind)
    same = stored.machine == Machine.here()
    return costs if costs is not None and same and costs.program == program(switch_kind) else None


def program(switch_kind: str) -> str:
    """The build of a switch that is installed here; the embedded one is part of this project."""
    return bmv2.version() if switch_kind == "bmv2" else ""


def store_costs(switch_kind: str, costs: Costs) -> Path:
    """Keep it beside what was measured with other switches on this machine; the file."""
    path = calibration_file()
    switches = {kind: known for kind in ("bmv2", "soft") if (known := load_costs(kind))}
    stored = Calibration(machine=Machine.here(), switches={**switches, switch_kind: costs})
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(stored.model_dump(mode="json"), indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def data_share(switch_kind: str) -> float:
    """What of a NIC port's link data may take with this kind of switch."""
    of_link = BMV2_SHARE_PERCENT[QUEUE_DATA] if switch_kind == "bmv2" else 100
    return of_link * PACE_PERCENT / 10_000


def packet_cost_us(fabric: Fabric, costs: Costs) -> float:
    """Processor time of one data packet over the longest path of a fabric."""
    hops = 1 if fabric.spec.t0s == 1 else 3
    return costs.agents_us + hops * costs.hop_us


def most_nic_rate_bps(fabric: Fabric, senders: int, switch_kind: str, costs: Costs) -> float:
    """The rate of a NIC port that this machine carries while `senders` hosts send on all planes."""
    processors = len(os.sched_getaffinity(0))
    ports = max(1, senders) * fabric.spec.planes
    together = processors * PROCESSOR_SHARE * 1e6 / packet_cost_us(fabric, costs) / ports
    # A host may receive as fast as it sends: an agent then has both halves of the work.
    alone = _AGENT_SHARE * 1e6 / costs.agents_us / fabric.spec.planes
    frame_bits = 8 * link_bytes(data_frame_bytes(fabric.spec.path_mtu))
    return min(together, alone) * frame_bits / data_share(switch_kind)


def check_rates(fabric: Fabric, senders: int, switch_kind: str, costs: Costs) -> None:
    """NotReady, in one line, when a fabric's rates exceed what was measured for this machine."""
    most = most_nic_rate_bps(fabric, senders, switch_kind, costs)
    if fabric.nic_rate_bps > most:
        raise NotReady(
            f"{fabric.name}: NIC ports of {_rate(fabric.nic_rate_bps)} are more than this machine "
            f"carries with {switch_kind} switches and {senders} senders: {_rate(most)} "
            f"(measured {costs.measured_at}); without --as-described it is run in slow motion"
        )


def _rate(bps: float) -> str:
    for unit, size in (("Gb/s", 1e9), ("Mb/s", 1e6)):
        if bps >= size:
            return f"{bps / size:.3g} {unit}"
    return f"{bps / 1e3:.3g} kb/s"


def _processor_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()
