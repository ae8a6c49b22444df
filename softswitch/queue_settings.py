# SPDX-License-Identifier: Apache-2.0
"""Queues of the ports of a switch process, from a JSON file: rates, capacities, mode.

{"default": {"rate_bps": 20000000, "capacities": [48, 64, 64]},
 "ports": {"3": {"rate_bps": 10000000}}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from softswitch.queues import BMV2_CAPACITY, CLASSES, MODES, PortScheduler


class QueueSettingsError(ValueError):
    """Queue settings are wrong; the message names the field, and the file if there is one."""


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Of one port, as `softswitch.queues.PortScheduler` takes them. Rate 0 is no limit.

    `rate_bps`: bits per second of the port, in mode `strict`; `overhead_bytes`: what a frame
    takes on the wire beside its own bytes. `rates_pps`: packets per second of each class, in mode
    `bmv2`. Classes are data, trimmed, control. Raises QueueSettingsError.
    """

    mode: str = "strict"
    rate_bps: int = 0
    overhead_bytes: int = 24
    capacities: Sequence[int] = (BMV2_CAPACITY,) * CLASSES
    rates_pps: Sequence[int] = (0,) * CLASSES

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise QueueSettingsError(f"mode: {self.mode!r} is none of {', '.join(MODES)}")
        for name, least in (("rate_bps", 0), ("overhead_bytes", 0)):
            if not _is_int(getattr(self, name), least):
                raise QueueSettingsError(
                    f"{name}: {getattr(self, name)!r} is no integer >= {least}"
                )
        for name, least in (("capacities", 1), ("rates_pps", 0)):
            value = getattr(self, name)
            three = isinstance(value, list | tuple) and len(value) == CLASSES
            if not three or not all(_is_int(item, least) for item in value):
                raise QueueSettingsError(f"{name}: is not {CLASSES} integers of at least {least}")

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


def _is_int(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


_FIELDS = frozenset(item.name for item in fields(QueueSettings))


def load_queue_settings(path: Path, ports: Sequence[int]) -> dict[int, QueueSettings]:
    """Settings of each of `ports`: the default of the file, with what it says of the port.

    Raises QueueSettingsError; a port that the switch does not have is an error too.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise QueueSettingsError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise QueueSettingsError(f"{path}: not JSON: {error}") from None
    document = _mapping(document, f"{path}: the file", {"default", "ports"})
    base = _mapping(document.get("default", {}), f"{path}: default", _FIELDS)
    known = {str(port) for port in ports}
    by_port = _mapping(document.get("ports", {}), f"{path}: ports", known)
    settings = {}
    for port in ports:
        place = f"{path}: ports.{port}"
        own = _mapping(by_port.get(str(port), {}), place, _FIELDS)
        try:
            settings[port] = QueueSettings(**{**base, **own})
        except QueueSettingsError as error:
            raise QueueSettingsError(f"{place}: {error}") from None
    return settings


def _mapping(value: Any, place: str, allowed: set[str] | frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise QueueSettingsError(f"{place}: is no JSON object")
    unknown = sorted(set(value) - allowed)
    if unknown:
        known = ", ".join(sorted(allowed))
        raise QueueSettingsError(f"{place}: has {unknown[0]!r}, which is none of {known}")
    return value
