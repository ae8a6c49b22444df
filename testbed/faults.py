# SPDX-License-Identifier: Apache-2.0
"""Faults as a scenario names them, and as the timed actions that a world carries out.

A fault says *what* breaks, *when*, and optionally *for* how long. `plan` turns the list of a
scenario into `Occurrence`s: one broken thing, from one time to another. A world implements
`FaultTarget`, the few verbs that break and mend a fabric; it needs to know nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from testbed.quantities import TimeNs


class _Fault(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    at: TimeNs
    """When it begins, in the world's own time since the start of the run."""


class _Lasting(_Fault):
    lasts: TimeNs | None = None
    """How long until it is mended; to the end of the run when absent."""


class LinkDown(_Lasting):
    """Both directions are cut, and both ends lose carrier (a switch does not look at it)."""

    kind: Literal["link_down"]
    link: str


class LinkFlap(_Fault):
    """The link goes down and up ``count`` times."""

    kind: Literal["link_flap"]
    link: str
    down: TimeNs
    up: TimeNs
    count: int = Field(ge=1, le=1000)


class LinkSilent(_Lasting):
    """Nothing gets across in either direction, and carrier stays."""

    kind: Literal["link_silent"]
    link: str


class LinkLossy(_Lasting):
    """Each frame of both directions is lost with probability ``share``."""

    kind: Literal["link_lossy"]
    link: str
    share: float = Field(gt=0, le=1)


class PathLossy(_Lasting):
    """Frames of one path (one EV of one pair of hosts) are lost with probability ``share``.

    The path goes from ``source`` to ``destination`` in ``plane``, over the T1 that hangs on
    ``uplink`` (0-based; ignored when both hosts share a T0). Without ``uplink`` it is one that
    the workload's flow between the two has in use when the fault begins.
    """

    kind: Literal["path_lossy"]
    source: str
    destination: str
    plane: int = Field(ge=0)
    uplink: int | None = Field(default=None, ge=0)
    share: float = Field(gt=0, le=1)


class SwitchStop(_Lasting):
    """The switch stops, its links lose carrier; mended, it starts empty and is provisioned."""

    kind: Literal["switch_stop"]
    switch: str


class SwitchSilent(_Lasting):
    """The switch forwards nothing; carrier and control plane stay up."""

    kind: Literal["switch_silent"]
    switch: str


class NicPortDown(_Lasting):
    """One port of one host's NIC goes down: its host sees it, the switch does not look."""

    kind: Literal["nic_port_down"]
    host: str
    port: int = Field(ge=0)


Fault = Annotated[
    LinkDown
    | LinkFlap
    | LinkSilent
    | LinkLossy
    | PathLossy
    | SwitchStop
    | SwitchSilent
    | NicPortDown,
    Field(discriminator="kind"),
]


class FaultTarget(Protocol):
    """What a world can break. Every verb acts now; losses are charged to ``occurrence``."""

    def cut_link(self, link: str, occurrence: int) -> None:
        """Take both directions down, carrier included."""

    def silence_link(self, link: str, occurrence: int) -> None:
        """Lose every frame of both directions, carrier untouched."""

    def thin_link(self, link: str, share: float, occurrence: int) -> None:
        """Lose a share of the frames of both directions."""

    def thin_path(
        self,
        source: str,
        destination: str,
        plane: int,
        uplink: int | None,
        share: float,
        occurrence: int,
    ) -> None:
        """Lose a share of the frames that follow one path; None: one that is in use now."""

    def stop_switch(self, switch: str, occurrence: int) -> None:
        """Stop a switch: queues, tables and carrier of all its links are gone."""

    def silence_switch(self, switch: str, occurrence: int) -> None:
        """Let a switch swallow every frame, carrier and control plane untouched."""

    def mend(self, occurrence: int) -> None:
        """Undo what this occurrence broke."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One broken thing: ``index`` in order of time, ``begin_ns`` to ``end_ns`` (None: for good)."""

    index: int
    fault: Fault
    label: str
    target: str
    begin_ns: int
    end_ns: int | None

    def begin(self, world: FaultTarget) -> None:
        """Break it."""
        fault, index = self.fault, self.index
        match fault:
            case LinkDown() | LinkFlap() | NicPortDown():
                world.cut_link(self.target, index)
            case LinkSilent():
                world.silence_link(self.target, index)
            case LinkLossy():
                world.thin_link(self.target, fault.share, index)
            case PathLossy():
                world.thin_path(
                    fault.source, fault.destination, fault.plane, fault.uplink, fault.share, index
                )
            case SwitchStop():
                world.stop_switch(self.target, index)
            case SwitchSilent():
                world.silence_switch(self.target, index)

    def end(self, world: FaultTarget) -> None:
        """Mend it."""
        world.mend(self.index)


def _periods(fault: Fault) -> list[tuple[int, int | None]]:
    if isinstance(fault, LinkFlap):
        step = fault.down + fault.up
        return [(fault.at + i * step, fault.at + i * step + fault.down) for i in range(fault.count)]
    return [(fault.at, None if fault.lasts is None else fault.at + fault.lasts)]


def plan(faults: Sequence[Fault], nic_link: dict[tuple[str, int], str]) -> list[Occurrence]:
    """All occurrences in order of time.

    ``nic_link`` names the link of each (host, NIC port), for faults given by NIC port.
    """
    rows: list[tuple[int, int, int | None, Fault, str, str]] = []
    for order, fault in enumerate(faults):
        target = _target(fault, nic_link)
        periods = _periods(fault)
        for i, (begin, end) in enumerate(periods):
            label = f"{fault.kind} {_subject(fault)}"
            if len(periods) > 1:
                label += f" ({i + 1} of {len(periods)})"
            rows.append((begin, order, end, fault, label, target))
    rows.sort(key=lambda row: row[:2])
    return [
        Occurrence(index, fault, label, target, begin, end)
        for index, (begin, _, end, fault, label, target) in enumerate(rows)
    ]


def _target(fault: Fault, nic_link: dict[tuple[str, int], str]) -> str:
    match fault:
        case NicPortDown():
            return nic_link[fault.host, fault.port]
        case SwitchStop() | SwitchSilent():
            return fault.switch
        case PathLossy():
            return _subject(fault)
        case _:
            return fault.link


def _subject(fault: Fault) -> str:
    match fault:
        case NicPortDown():
            return f"{fault.host} port {fault.port}"
        case SwitchStop() | SwitchSilent():
            return fault.switch
        case PathLossy():
            path = "a path in use" if fault.uplink is None else f"uplink {fault.uplink}"
            return f"{fault.source}→{fault.destination} plane {fault.plane} {path}"
        case _:
            return fault.link


class FaultNames(BaseModel):
    """The names that faults may use in one fabric, for checking a scenario against it."""

    links: frozenset[str]
    switches: frozenset[str]
    hosts: frozenset[str]
    planes: int
    uplinks: int

    def problems(self, faults: Sequence[Fault]) -> list[tuple[str, str]]:
        """``(field, what is wrong)`` for each fault that names something the fabric lacks."""
        found: list[tuple[str, str]] = []
        for i, fault in enumerate(faults):
            for field, allowed in (
                ("link", self.links),
                ("switch", self.switches),
                ("host", self.hosts),
                ("source", self.hosts),
                ("destination", self.hosts),
            ):
                name = getattr(fault, field, None)
                if name is not None and name not in allowed:
                    found.append((f"faults[{i}].{field}", f"no {field} {name!r} in this fabric"))
            for field, limit in (
                ("port", self.planes),
                ("plane", self.planes),
                ("uplink", self.uplinks),
            ):
                number = getattr(fault, field, None)
                if number is not None and number >= limit:
                    found.append((f"faults[{i}].{field}", f"{number} is not below {limit}"))
        return found


__all__ = [
    "Fault",
    "FaultNames",
    "FaultTarget",
    "LinkDown",
    "LinkFlap",
    "LinkLossy",
    "LinkSilent",
    "NicPortDown",
    "Occurrence",
    "PathLossy",
    "SwitchSilent",
    "SwitchStop",
    "plan",
]
