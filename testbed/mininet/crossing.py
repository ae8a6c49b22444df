# SPDX-License-Identifier: Apache-2.0
"""Which paths lead through what a fault has broken."""

from __future__ import annotations

from testbed.faults import (
    LinkDown,
    LinkFlap,
    LinkLossy,
    LinkSilent,
    NicPortDown,
    Occurrence,
    PathLossy,
    SwitchSilent,
    SwitchStop,
)
from topologies.fabric import Fabric


def path_links(fabric: Fabric, source: int, target: int, plane: int, uplink: int) -> list[str]:
    """Names of the links from one NIC to another (0-based) on a path, in order."""
    near, far = fabric.host_at(source), fabric.host_at(target)
    first = fabric.link_at(near.name, plane).name
    last = fabric.link_at(far.name, plane).name
    if near.t0 == far.t0:
        return [first, last]
    port = fabric.uplink_port(uplink)
    ups = [fabric.link_at(fabric.switch_at(plane, 0, t0).name, port) for t0 in (near.t0, far.t0)]
    return [first, *(link.name for link in ups), last]


def crosses(
    fabric: Fabric,
    occurrence: Occurrence,
    source: int,
    target: int,
    plane: int,
    uplink: int,
    chosen_uplink: int | None,
) -> bool:
    """Whether a path leads through what an occurrence broke.

    `chosen_uplink`: that of the path that a `path_lossy` fault without an uplink came to mean.
    """
    match occurrence.fault:
        case LinkDown() | LinkFlap() | LinkSilent() | LinkLossy() | NicPortDown():
            return occurrence.target in path_links(fabric, source, target, plane, uplink)
        case SwitchStop() | SwitchSilent():
            links = path_links(fabric, source, target, plane, uplink)
            return any(occurrence.target in name.split("-") for name in links)
        case PathLossy() as fault:
            ends = (fabric.host(fault.source).index, fabric.host(fault.destination).index)
            same = fabric.host_at(source).t0 == fabric.host_at(target).t0
            wanted = fault.uplink if fault.uplink is not None else chosen_uplink
            return ends == (source, target) and plane == fault.plane and (same or uplink == wanted)
