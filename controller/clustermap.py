# SPDX-License-Identifier: Apache-2.0
"""Clustermapper: which links and switches lose probes, told from the NICs' loops (P1).

Every NIC probes its T0s, and a share of its T1s, with packets that come back to it. A loop by T0
crosses the NIC–T0 link twice and the T0; a loop by a T1 also the T0–T1 link twice and the T1. So:

==================  ============================================================================
accused             when
==================  ============================================================================
NIC–T0 link         this NIC's loops by the T0 are lost, another NIC's by the same T0 are not
T0                  the loops by it of all NICs are lost
T0–T1 link          loops by the T1 are lost of NICs whose loops by the T0 are not, and loops by
                    the same T1 from another T0 are not
T1                  loops by it are lost from all T0s whose own loops are not
==================  ============================================================================

Lost means: with more than chance (`controller.loop_evidence`). Not lost means that the probes of
the same time contradict the loss, not that nothing is known. While neither can be said nothing is
accused; where the fabric has nothing to compare with (one NIC on a T0, one T0) both are suspects.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from controller.loop_evidence import Evidence, Outcome, contradicts, find_loss, mended_since
from topologies.fabric import Fabric

MOST_KEPT = 512
"""Outcomes of a loop that are kept: a share that they can accuse, they can also clear."""

_T0_TWICE = 2
# A loop by a T1 crosses the T0 twice, a loop by the T0 once: it loses twice a lossy T0's share.


class LoopId(NamedTuple):
    """The loop of a NIC (0-based host index) by its T0 of a plane, or with `t1` by that T1 too."""

    plane: int
    host: int
    t1: int | None


class ElementKind(Enum):
    """What can be accused."""

    NIC_T0 = "NIC–T0 link"
    T0 = "T0"
    T0_T1 = "T0–T1 link"
    T1 = "T1"


@dataclass(frozen=True, slots=True)
class Element:
    """A link or a switch, by the fabric's name; `plane` and its own coordinates, 0-based."""

    name: str
    kind: ElementKind
    plane: int
    host: int | None = None
    t0: int | None = None
    t1: int | None = None


@dataclass(slots=True)
class Finding:
    """An element that loses probes. `share` of the loops through it is lost; `certain` is False
    for one of two suspects that nothing tells apart."""

    element: Element
    found_ns: int
    evidence: Evidence
    certain: bool = True
    cleared_ns: int | None = None

    @property
    def share(self) -> float:
        return self.evidence.share


class ClusterMap:
    """The map of a fabric. `settle_ns`: a probe sent longer ago is known to be back or lost;
    `keep_ns`: one sent longer ago says nothing about now."""

    def __init__(self, fabric: Fabric, settle_ns: int, keep_ns: int) -> None:
        self.fabric = fabric
        self.findings: list[Finding] = []
        """All that were ever made, in order of time; open ones have no `cleared_ns`."""
        self.probes = 0
        self.lost = 0
        self._settle_ns = settle_ns
        self._keep_ns = keep_ns
        self._loops: dict[LoopId, list[Outcome]] = {}
        self._newest_loss_ns: dict[LoopId, int] = {}  # also of one that is no longer kept
        self._open: dict[str, Finding] = {}
        self._troubled: set[int] = set()  # planes with a loss that is kept
        self._until_ns = 0

    # -- what is known --------------------------------------------------------------------------

    def take(self, loop: LoopId, sent_ns: int, came_back: bool) -> None:
        """One probe's outcome, in any order."""
        kept = self._loops.setdefault(loop, [])
        insort(kept, (sent_ns, came_back))
        if len(kept) > MOST_KEPT:
            del kept[0]
        self.probes += 1
        if not came_back:
            self.lost += 1
            self._troubled.add(loop.plane)
            self._newest_loss_ns[loop] = max(sent_ns, self._newest_loss_ns.get(loop, sent_ns))

    @property
    def open_findings(self) -> list[Finding]:
        """What is wrong now, in order of time."""
        return list(self._open.values())

    def conclude(self, now_ns: int) -> list[Finding]:
        """What was found or cleared just now."""
        self._until_ns = now_ns - self._settle_ns
        changed = [finding for finding in self.open_findings if self._clear(finding, now_ns)]
        for plane in sorted(self._troubled):
            if not self._lossy_at_all(plane):
                self._troubled.discard(plane)
                continue
            for element, evidence, certain in self._accusations(plane):
                finding = self._accuse(element, evidence, certain, now_ns)
                if finding is not None:
                    changed.append(finding)
        return changed

    def _lossy_at_all(self, plane: int) -> bool:
        return any(loop.plane == plane and self._may_lose(loop) for loop in self._newest_loss_ns)

    def _accuse(
        self, element: Element, evidence: Evidence, certain: bool, now_ns: int
    ) -> Finding | None:
        known = self._open.get(element.name)
        if known is not None and known.certain >= certain:
            if evidence.strength > known.evidence.strength:  # what comes after a mend dilutes it
                known.evidence = evidence
            return None
        if known is not None:  # a suspect that is convicted now
            known.certain, known.evidence = True, evidence
            return known
        found = self._open[element.name] = Finding(element, now_ns, evidence, certain)
        self.findings.append(found)
        return found

    # -- loops ----------------------------------------------------------------------------------

    def _outcomes(self, plane: int, hosts: Iterable[int], t1: int | None) -> list[Outcome]:
        """Of these NICs' loops by their T0, or by a T1, as far as they are settled; by time."""
        oldest, newest = (self._until_ns - self._keep_ns, False), (self._until_ns, True)
        merged: list[Outcome] = []
        for host in hosts:
            kept = self._loops.get(LoopId(plane, host, t1), [])
            merged += kept[bisect_left(kept, oldest) : bisect_right(kept, newest)]
        merged.sort()
        return merged

    def _known(self, loop: LoopId) -> bool:
        """Whether a loop has outcomes that are settled."""
        kept = self._loops.get(loop, [])
        first = bisect_left(kept, (self._until_ns - self._keep_ns, False))
        return first < len(kept) and kept[first][0] <= self._until_ns

    def _may_lose(self, loop: LoopId) -> bool:
        """False when none of a loop's outcomes can be a loss: the usual case, told at once."""
        newest_ns = self._newest_loss_ns.get(loop)
        return newest_ns is not None and newest_ns >= self._until_ns - self._keep_ns

    def _hosts(self, t0: int) -> range:
        count = self.fabric.spec.nics_per_t0
        return range(t0 * count, (t0 + 1) * count)

    def _heard(self, plane: int, t0: int) -> list[int]:
        """NICs of a T0 whose loops by it are known."""
        return [host for host in self._hosts(t0) if self._known(LoopId(plane, host, None))]

    # -- accusing -------------------------------------------------------------------------------

    def _accusations(self, plane: int) -> Iterator[tuple[Element, Evidence, bool]]:
        spec = self.fabric.spec
        lossy: dict[int, Evidence] = {}
        for t0 in range(spec.t0s):
            for host in self._heard(plane, t0):
                if not self._may_lose(LoopId(plane, host, None)):
                    continue
                found = find_loss(self._outcomes(plane, [host], None))
                if found is not None:
                    lossy[host] = found
        for t0 in range(spec.t0s):
            yield from self._below(plane, t0, lossy)
        for t1 in range(spec.t1s):
            yield from self._above(plane, t1, lossy)

    def _below(
        self, plane: int, t0: int, lossy: dict[int, Evidence]
    ) -> Iterator[tuple[Element, Evidence, bool]]:
        """NIC–T0 links, and the T0."""
        heard = self._heard(plane, t0)
        bad = [host for host in heard if host in lossy]
        if not bad:
            return
        if len(bad) == len(heard):
            whole = find_loss(self._outcomes(plane, heard, None)) or lossy[bad[0]]
            certain = len(heard) > 1
            yield self._t0(plane, t0), whole, certain
            if not certain:
                yield self._nic_link(plane, bad[0]), whole, False
            return
        others = self._outcomes(plane, [host for host in heard if host not in lossy], None)
        for host in bad:
            if contradicts(others, lossy[host]):
                yield self._nic_link(plane, host), lossy[host], True

    def _above(
        self, plane: int, t1: int, lossy: dict[int, Evidence]
    ) -> Iterator[tuple[Element, Evidence, bool]]:
        """T0–T1 links, and the T1."""
        every = range(self.fabric.nic_count)
        if not any(self._may_lose(LoopId(plane, host, t1)) for host in every):
            return
        bad: dict[int, Evidence] = {}
        fine: list[int] = []
        undecided = False
        compared = 0
        for t0 in range(self.fabric.spec.t0s):
            sound = [host for host in self._heard(plane, t0) if host not in lossy]
            outcomes = self._outcomes(plane, sound, t1)
            if not outcomes:
                continue
            compared += 1
            found = find_loss(outcomes)
            if found is None:
                fine += sound
                continue
            proven = self._proven(plane, sound, found)
            found = find_loss(self._outcomes(plane, proven, t1))
            if found is None:
                undecided = True
            else:
                bad[t0] = found
        if not bad or undecided:
            return
        if len(bad) == compared:
            worst = max(bad.values(), key=lambda found: found.strength)
            yield self._t1(plane, t1), worst, compared > 1
            if compared == 1:
                yield self._uplink(plane, next(iter(bad)), t1), worst, False
            return
        others = self._outcomes(plane, fine, t1)
        for t0, found in bad.items():
            if contradicts(others, found):
                yield self._uplink(plane, t0, t1), found, True

    def _proven(self, plane: int, hosts: Sequence[int], suspected: Evidence) -> list[int]:
        """NICs whose loops by the T0 were sound while those by the T1 were lost: all together, or
        else those that prove it alone."""
        if contradicts(self._outcomes(plane, hosts, None), suspected, _T0_TWICE):
            return list(hosts)
        return [
            host
            for host in hosts
            if contradicts(self._outcomes(plane, [host], None), suspected, _T0_TWICE)
        ]

    # -- clearing -------------------------------------------------------------------------------

    def _clear(self, finding: Finding, now_ns: int) -> bool:
        """Clears what probes get through again; a switch as soon as one way through it is good."""
        element = finding.element
        for hosts in self._ways(element):
            outcomes = self._outcomes(element.plane, hosts, element.t1)
            since_ns = mended_since(outcomes, finding.evidence.share_while_lossy)
            if since_ns is not None and since_ns > finding.evidence.onset_ns:
                finding.cleared_ns = now_ns
                del self._open[element.name]
                self._explain(element, since_ns)
                return True
        return False

    def _ways(self, element: Element) -> list[list[int]]:
        """Groups of NICs that see the element without another one that is accused; of a switch
        each way through it, since one may be broken still, and all, since a small share takes many.
        """
        match element.kind:
            case ElementKind.NIC_T0:
                assert element.host is not None
                return [[element.host]]
            case ElementKind.T0:
                assert element.t0 is not None
                hosts = self._hosts(element.t0)
                return [*([host] for host in hosts), list(hosts)]
            case ElementKind.T0_T1:
                assert element.t0 is not None
                return [self._unaccused(element.plane, element.t0)]
            case ElementKind.T1:
                ways = [self._unaccused(element.plane, t0) for t0 in range(self.fabric.spec.t0s)]
                return [*ways, [host for way in ways for host in way]]

    def _unaccused(self, plane: int, t0: int) -> list[int]:
        if self._t0(plane, t0).name in self._open:
            return []
        hosts = self._hosts(t0)
        return [host for host in hosts if self._nic_link(plane, host).name not in self._open]

    def _explain(self, element: Element, since_ns: int) -> None:
        """What was lost over an element before it was mended must accuse nothing else."""
        for loop, kept in self._loops.items():
            if loop.plane == element.plane and self._crosses(loop, element):
                kept[:] = [outcome for outcome in kept if outcome[0] >= since_ns]

    def _crosses(self, loop: LoopId, element: Element) -> bool:
        below = loop.host // self.fabric.spec.nics_per_t0
        match element.kind:
            case ElementKind.NIC_T0:
                return loop.host == element.host
            case ElementKind.T0:
                return below == element.t0
            case ElementKind.T0_T1:
                return below == element.t0 and loop.t1 == element.t1
            case ElementKind.T1:
                return loop.t1 == element.t1

    # -- names ----------------------------------------------------------------------------------

    def _nic_link(self, plane: int, host: int) -> Element:
        name = self.fabric.link_at(self.fabric.host_at(host).name, plane).name
        return Element(name, ElementKind.NIC_T0, plane, host=host)

    def _t0(self, plane: int, t0: int) -> Element:
        return Element(self.fabric.switch_at(plane, 0, t0).name, ElementKind.T0, plane, t0=t0)

    def _t1(self, plane: int, t1: int) -> Element:
        return Element(self.fabric.switch_at(plane, 1, t1).name, ElementKind.T1, plane, t1=t1)

    def _uplink(self, plane: int, t0: int, t1: int) -> Element:
        below, above = self.fabric.switch_at(plane, 0, t0), self.fabric.switch_at(plane, 1, t1)
        return Element(f"{below.name}-{above.name}", ElementKind.T0_T1, plane, t0=t0, t1=t1)
