# SPDX-License-Identifier: Apache-2.0
"""Which stretch of a run shows the fabric before and after each fault, and what was alive in it.

Before a fault: at most ``window`` long, ending at the fault. After it: from ``settle`` after it
(``settle_mended`` after a mend, since paths return through probes) until the next thing that
breaks or mends, or the end of posting. Neither reaches across another fault: a stretch with two
states of the fabric has no one max-flow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from testbed.faults import (
    LinkDown,
    LinkFlap,
    LinkSilent,
    NicPortDown,
    Occurrence,
    SwitchSilent,
    SwitchStop,
)
from testbed.scenario import MeasureOptions


@dataclass(frozen=True, slots=True)
class Stretch:
    """Half-open stretch of time; empty when ``to_ns`` is not above ``from_ns``."""

    from_ns: int
    to_ns: int


class Timeline:
    """All changes of a run: begins and mends of faults, between start and end of posting."""

    def __init__(
        self,
        occurrences: Sequence[Occurrence],
        options: MeasureOptions,
        traffic_from_ns: int,
        traffic_to_ns: int,
        links_of_switch: Callable[[str], Collection[str]],
    ) -> None:
        self._occurrences = occurrences
        self._options = options
        self.from_ns = traffic_from_ns
        self.to_ns = traffic_to_ns
        self._links_of_switch = links_of_switch
        times = {o.begin_ns for o in occurrences}
        times |= {o.end_ns for o in occurrences if o.end_ns is not None}
        self.changes = sorted(time for time in times if time < traffic_to_ns)

    def before(self, time_ns: int) -> Stretch:
        """The stretch that ends with the change at ``time_ns``."""
        earlier = [c for c in self.changes if c < time_ns]
        settled = self._settled_ns(earlier[-1] if earlier else self.from_ns)
        end = min(time_ns, self.to_ns)
        return Stretch(max(settled, end - self._options.window), end)

    def after(self, time_ns: int) -> Stretch:
        """The stretch that follows the change at ``time_ns``."""
        later = [c for c in self.changes if c > time_ns]
        end = later[0] if later else self.to_ns
        return Stretch(self._settled_ns(time_ns), end)

    def _settled_ns(self, time_ns: int) -> int:
        mends = any(o.end_ns == time_ns for o in self._occurrences)
        return time_ns + (self._options.settle_mended if mends else self._options.settle)

    def stretches(self) -> list[Stretch]:
        """The settled stretch after the start and after each change."""
        return [self.after(time) for time in [self.from_ns, *self.changes]]

    def dead_links(self, time_ns: int) -> frozenset[str]:
        """Links over which nothing passes just after ``time_ns``."""
        dead: set[str] = set()
        for occurrence in self._occurrences:
            if occurrence.begin_ns <= time_ns and (
                occurrence.end_ns is None or time_ns < occurrence.end_ns
            ):
                match occurrence.fault:
                    case LinkDown() | LinkFlap() | LinkSilent() | NicPortDown():
                        dead.add(occurrence.target)
                    case SwitchStop() | SwitchSilent():
                        dead.update(self._links_of_switch(occurrence.target))
        return frozenset(dead)
