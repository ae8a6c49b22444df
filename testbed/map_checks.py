# SPDX-License-Identifier: Apache-2.0
"""Judges the Clustermapper's map by what a scenario expects of it."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.mapped import MapResult
from testbed.quantities import format_time
from testbed.results import Check
from testbed.scenario import Expectations


def map_checks(found: MapResult | None, expect: Expectations) -> Iterator[Check]:
    """Faults named in time, and nothing else ever named."""
    if expect.map_names_faults is not None:
        yield _named(found, expect.map_names_faults)
    if expect.map_accuses_no_other:
        wrong = [] if found is None else found.wrong
        yield Check(
            name="map_accuses_no_other",
            ok=found is not None and found.probes > 0 and not wrong,
            wanted="nothing but what was broken",
            measured=", ".join(wrong) or "nothing else",
        )


def _named(found: MapResult | None, limit_ns: int) -> Check:
    faults = [] if found is None else found.faults
    missing = [fault.element for fault in faults if fault.named_us is None]
    slowest = max((fault.named_us for fault in faults if fault.named_us is not None), default=None)
    if missing:
        measured = f"{', '.join(missing)} not named"
    elif slowest is None:
        measured = "nothing was broken"
    else:
        measured = f"{len(faults)} named, the last after {format_time(round(slowest * 1000))}"
    return Check(
        name="map_names_faults",
        ok=slowest is not None and not missing and slowest * 1000 <= limit_ns,
        wanted=f"every fault within {format_time(limit_ns)}",
        measured=measured,
    )
