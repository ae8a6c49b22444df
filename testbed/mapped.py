# SPDX-License-Identifier: Apache-2.0
"""What the Clustermapper of a run found: part of the schema of ``result.json``."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from controller.clustermap import Finding
from testbed.faults import Occurrence, PathLossy


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MapFinding(_Record):
    """A link or switch that was found to lose probes."""

    element: str
    kind: str
    plane: int
    found_ns: int
    cleared_ns: int | None
    onset_ns: int
    """When the first probe was sent whose loss speaks against it."""
    share: float
    """Of the loops through it, lost since then (a loop crosses a link twice)."""
    sent: int
    lost: int
    certain: bool
    """False for one of two suspects that nothing tells apart."""


class MappedFault(_Record):
    """A fault of the scenario, as the map saw it."""

    label: str
    element: str
    begin_ns: int
    end_ns: int | None
    named_us: float | None
    """From its begin until it was named; None: it was not."""


class MapResult(_Record):
    """The map of a run."""

    interval_ns: int
    t1_share: float
    timeout_ns: int
    policy: str
    probes: int
    probes_lost: int
    findings: list[MapFinding]
    faults: list[MappedFault]
    wrong: list[str]
    """Elements that were named while nothing was wrong with them."""


def map_findings(findings: Sequence[Finding]) -> list[MapFinding]:
    """Records of what a map has found, in order of time."""
    return [
        MapFinding(
            element=found.element.name,
            kind=found.element.kind.value,
            plane=found.element.plane,
            found_ns=found.found_ns,
            cleared_ns=found.cleared_ns,
            onset_ns=found.evidence.onset_ns,
            share=round(found.share, 4),
            sent=found.evidence.sent,
            lost=found.evidence.lost,
            certain=found.certain,
        )
        for found in findings
    ]


def compare_with_truth(
    findings: Sequence[MapFinding], occurrences: Sequence[Occurrence], flight_ns: int
) -> tuple[list[MappedFault], list[str]]:
    """Faults with the time until each was named, and elements that were named wrongly.

    A finding is right when its first lost probe was on its way while a fault was at that element:
    sent at most ``flight_ns`` before it began, and before it ended. A fault of one path is on no
    link or switch, so the map has nothing to name.
    """
    faults = []
    right: set[int] = set()
    for occurrence in occurrences:
        if isinstance(occurrence.fault, PathLossy):
            continue
        named: list[int] = []
        for place, found in enumerate(findings):
            if found.element == occurrence.target and _during(found, occurrence, flight_ns):
                right.add(place)
                if found.certain:
                    named.append(found.found_ns)
        faults.append(
            MappedFault(
                label=occurrence.label,
                element=occurrence.target,
                begin_ns=occurrence.begin_ns,
                end_ns=occurrence.end_ns,
                named_us=(min(named) - occurrence.begin_ns) / 1000 if named else None,
            )
        )
    wrong = {found.element for place, found in enumerate(findings) if place not in right}
    return faults, sorted(wrong)


def _during(found: MapFinding, occurrence: Occurrence, flight_ns: int) -> bool:
    end_ns = occurrence.end_ns
    began = found.onset_ns >= occurrence.begin_ns - flight_ns
    return began and (end_ns is None or found.onset_ns <= end_ns)
