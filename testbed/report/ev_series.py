# SPDX-License-Identifier: Apache-2.0
"""How many EVs are in which state, over time, from the changes that the endpoints reported.

Only the sender's EVs of a flow count: its receiver sends no data over its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from testbed.results import EvChange, RunResult

SKIP, ASSUMED_BAD, DENIED = "skip", "assumed_bad", "denied"
STATES = (SKIP, ASSUMED_BAD, DENIED)
"""The states that take an EV out of use, mildest first."""


@dataclass(slots=True)
class Steps:
    """A count that holds from each time to the next; 0 before the first."""

    times_ns: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def add(self, time_ns: int, change: int) -> None:
        """Raise (or lower) the count from ``time_ns`` on; times never go back."""
        count = (self.counts[-1] if self.counts else 0) + change
        if self.times_ns and self.times_ns[-1] == time_ns:
            self.counts[-1] = count
        else:
            self.times_ns.append(time_ns)
            self.counts.append(count)

    def means(self, width_ns: int, end_ns: int) -> list[float]:
        """Mean count over each bin of ``width_ns`` up to ``end_ns`` (the last may be short)."""
        totals = [0] * -(-end_ns // width_ns)
        for begin, end, count in self.periods(end_ns):
            for place in range(begin // width_ns, -(-end // width_ns)):
                inside = min(end, (place + 1) * width_ns) - max(begin, place * width_ns)
                totals[place] += count * inside
        widths = [min(width_ns, end_ns - place * width_ns) for place in range(len(totals))]
        return [total / width for total, width in zip(totals, widths, strict=True)]

    def periods(self, end_ns: int) -> Iterator[tuple[int, int, int]]:
        """``(from, to, count)`` of each stretch in which the count is not 0."""
        for begin, end, count in zip(
            self.times_ns, [*self.times_ns[1:], end_ns], self.counts, strict=False
        ):
            if count and begin < end_ns:
                yield begin, min(end, end_ns), count


def senders_changes(result: RunResult) -> list[EvChange]:
    """The changes of the EVs that carry data, in order of time."""
    source = {flow.name: flow.source for flow in result.flows}
    return [change for change in result.ev_changes if source.get(change.flow) == change.host]


def by_plane(result: RunResult) -> dict[tuple[int, str], Steps]:
    """EVs of all flows in each of `STATES`, by (plane, state)."""
    return _count(
        ((change, (change.plane,)) for change in senders_changes(result)),
    )


def by_path(result: RunResult) -> dict[tuple[int, int, str], Steps]:
    """EVs of all flows that cross a T1, by (plane, T1, state)."""
    crossing = crossing_flows(result)
    return _count(
        (change, (change.plane, change.uplink))
        for change in senders_changes(result)
        if change.flow in crossing
    )


def crossing_flows(result: RunResult) -> frozenset[str]:
    """Names of the flows whose hosts are under different T0s: their EVs each stand for a T1."""
    nics_per_t0 = result.topology.hosts // result.topology.t0s_per_plane

    def t0(host: str) -> int:
        return (int(host.removeprefix("h")) - 1) // nics_per_t0

    return frozenset(f.name for f in result.flows if t0(f.source) != t0(f.destination))


def _count(changes: Iterable[tuple[EvChange, tuple[int, ...]]]) -> dict:
    found: dict[tuple[int | str, ...], Steps] = defaultdict(Steps)
    for change, place in changes:
        old, new = change.old.lower(), change.new.lower()
        if old in STATES:
            found[*place, old].add(change.time_ns, -1)
        if new in STATES:
            found[*place, new].add(change.time_ns, +1)
    return dict(found)
