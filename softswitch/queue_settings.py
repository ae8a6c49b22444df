# SPDX-License-Identifier: Apache-2.0
"""Queues of the ports of a switch process, from a JSON file: rates, capacities, mode.

{"default": {"rate_bps": 20000000, "capacities": [48, 64, 64]},
 "ports": {"3": {"rate_bps": 10000000}}}
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from softswitch.queues import BMV2_CAPACITY, CLASSES, PortScheduler

_Capacity = Annotated[int, Field(ge=1)]
_Rate = Annotated[int, Field(ge=0)]


class QueueSettingsError(ValueError):
    """A file of queue settings is wrong; the message names file and field."""


class QueueSettings(BaseModel):
    """Of one port, as `softswitch.queues.PortScheduler` takes them. Rate 0 is no limit.

    `rate_bps`: bits per second of the port, in mode `strict`; `overhead_bytes`: what a frame
    takes on the wire beside its own bytes. `rates_pps`: packets per second of each class, in mode
    `bmv2`. Classes are data, trimmed, control.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    mode: Literal["strict", "bmv2"] = "strict"
    rate_bps: _Rate = 0
    overhead_bytes: int = Field(default=24, ge=0)
    capacities: list[_Capacity] = Field(
        default=[BMV2_CAPACITY] * CLASSES, min_length=CLASSES, max_length=CLASSES
    )
    rates_pps: list[_Rate] = Field(default=[0] * CLASSES, min_length=CLASSES, max_length=CLASSES)

    def scheduler(self, *, stamp: bool) -> PortScheduler:
        """Empty queues with these settings; `stamp` as the program asks."""
        return PortScheduler(
            self.rate_bps,
            self.capacities,
            mode=self.mode,
            overhead_bytes=self.overhead_bytes,
            rates_pps=self.rates_pps,
            stamp=stamp,
        )


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    default: QueueSettings = QueueSettings()
    ports: dict[int, dict[str, object]] = Field(default_factory=dict)


def load_queue_settings(path: Path, ports: list[int]) -> dict[int, QueueSettings]:
    """Settings of each of `ports`: the default of the file, with what it says of the port.

    Raises QueueSettingsError; a port that the switch does not have is an error too.
    """
    try:
        document = _File.model_validate_json(path.read_bytes())
        unknown = sorted(set(document.ports) - set(ports))
        if unknown:
            raise QueueSettingsError(f"{path}: ports.{unknown[0]}: the switch has no such port")
        base = document.default.model_dump()
        return {
            port: QueueSettings.model_validate(base | document.ports.get(port, {}))
            for port in ports
        }
    except OSError as error:
        raise QueueSettingsError(f"{path}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise QueueSettingsError(f"{path}: {field}: {first['msg']}") from None
