# SPDX-License-Identifier: Apache-2.0
"""Which paths of a pair of NICs lead over what the map has named."""

from __future__ import annotations

from collections.abc import Iterable

from controller.clustermap import Element, ElementKind
from topologies.fabric import Fabric

Path = tuple[int, int]
"""Plane and T1 (0-based; 0 for two NICs of one T0)."""


def paths_over(fabric: Fabric, source: int, destination: int, element: Element) -> set[Path]:
    """Paths from NIC to NIC (0-based host indexes), and back, that cross an element."""
    here, there = fabric.host_at(source), fabric.host_at(destination)
    if here.t0 == there.t0:
        uplinks = range(1)
    else:
        uplinks = range(fabric.spec.t1s)
    whole_plane = {(element.plane, uplink) for uplink in uplinks}
    t0s = {here.t0, there.t0}
    match element.kind:
        case ElementKind.NIC_T0:
            return whole_plane if element.host in (source, destination) else set()
        case ElementKind.T0:
            return whole_plane if element.t0 in t0s else set()
        case _ if len(t0s) == 1:
            return set()
    assert element.t1 is not None
    if element.kind is ElementKind.T1 or element.t0 in t0s:
        return {(element.plane, element.t1)}
    return set()


def denied_paths(
    fabric: Fabric, source: int, destination: int, elements: Iterable[Element]
) -> set[Path]:
    """Paths that the policy denies: those over any of the elements, in the order given, as long as
    one path is left. A map must not cut anyone off."""
    count = fabric.paths(source, destination)
    denied: set[Path] = set()
    for element in elements:
        more = denied | paths_over(fabric, source, destination, element)
        if len(more) < count:
            denied = more
    return denied
