# SPDX-License-Identifier: Apache-2.0
"""From expanded EVs to paths of a queue pair.

Decisions. An SRv6 EV is the outer destination address; what a profile cannot know of a peer, the
NIC fills in: the plane of the EV's port goes into every uSID whose plane bits are 0, and when the
EV gives fewer uSIDs than a path needs (its container ends early, there is no segment), the rest
are those of the queue pair's own template. So one profile serves all peers, and its EVs are the
plane and the T0 uplink, as in P1. In STEV and UDP packets have no outer header; as receivers echo
the value alone, a value may stand in a profile only once, whatever its port.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from endpoint.path_plan import PlannedPath
from endpoint.profiles.kinds import (
    MRC_CTL_EV_FMT_MODE_SRV6,
    MRC_CTL_EV_FMT_MODE_STEV,
    mrc_ctl_ev_fmt_mode,
)
from topologies import Fabric
from topologies.sids import (
    BLOCK_BITS,
    MAX_UPLINKS,
    PLANE_SHIFT,
    TIER_T1,
    USID_BITS,
    PathTemplate,
    address_int,
    usid_parts,
)

_USID_MASK = (1 << USID_BITS) - 1


@dataclass(frozen=True, slots=True)
class PlannedEv:
    """One entry of a profile: the engine's EV for it, its plane, its expanded value."""

    ev: int
    plane: int
    value: bytes


def wire_ev(mode: mrc_ctl_ev_fmt_mode, value: bytes, ev: int) -> int:
    """The 32 bits that UDP source port and flow label carry for an expanded EV.

    In SRv6 they are the engine's own, since switches do not read them.
    """
    if mode is MRC_CTL_EV_FMT_MODE_SRV6:
        return ev
    if mode is MRC_CTL_EV_FMT_MODE_STEV:
        return int.from_bytes(value[:4], "big")
    return int.from_bytes(value[:2], "big") << 16


def usids_of(address: bytes) -> list[int]:
    """The uSIDs of an address, up to the end of its container (0x0000)."""
    words = [int.from_bytes(address[at : at + 2], "big") for at in range(4, 16, 2)]
    return words[: words.index(0)] if 0 in words else words


def in_plane(address: bytes, plane: int) -> bytes:
    """An address with the plane filled into its uSIDs. ValueError when one is of another plane."""
    usids = []
    for item in usids_of(address):
        own = usid_parts(item)[0]
        if own not in (0, plane):
            raise ValueError(f"uSID {item:#06x} is of plane {own}, but its port is {plane + 1}")
        usids.append(item | plane << PLANE_SHIFT)
    block = int.from_bytes(address[: BLOCK_BITS // 8], "big")
    return address_int(block, *usids).to_bytes(16, "big")


def uplink_of(addresses: Iterable[bytes]) -> int:
    """The T1 that a path goes over, 0 where none is recognised."""
    for address in addresses:
        for item in usids_of(address):
            _, tier, index = usid_parts(item)
            if tier == TIER_T1 and index < MAX_UPLINKS:
                return index
    return 0


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """The plan of one EV profile, at one time."""

    mode: mrc_ctl_ev_fmt_mode
    has_segment: bool
    evs: Sequence[PlannedEv]

    def paths(self, fabric: Fabric, src: int, dst: int) -> Iterator[PlannedPath]:
        """The paths between two NICs (0-based)."""
        for entry in self.evs:
            yield self.path(entry, fabric, src, dst)

    def path(self, entry: PlannedEv, fabric: Fabric, src: int, dst: int) -> PlannedPath:
        """The path that one entry is between two NICs."""
        wire = wire_ev(self.mode, entry.value, entry.ev)
        if self.mode is not MRC_CTL_EV_FMT_MODE_SRV6:
            return PlannedPath(entry.ev, wire)
        route = in_plane(entry.value[:16], entry.plane)
        if self.has_segment:
            segment = in_plane(entry.value[16:], entry.plane)
            return PlannedPath(entry.ev, wire, route, segment)
        return PlannedPath(entry.ev, wire, _completed(route, fabric, src, dst, entry.plane))


def _completed(route: bytes, fabric: Fabric, src: int, dst: int, plane: int) -> bytes:
    """A route with the uSIDs that it lacks, from the pair's own template."""
    usids = usids_of(route)
    here, there = fabric.hosts[src], fabric.hosts[dst]
    template = fabric.path_template(src, dst)
    if any(usid_parts(item)[1] == TIER_T1 for item in usids):
        template = PathTemplate.over_t1(fabric.sid_block, here.t0, there.t0, there.downlink)
    own = usids_of(template.address(plane, uplink_of([route])))
    if len(usids) >= len(own):
        return route
    block = int.from_bytes(route[: BLOCK_BITS // 8], "big")
    return address_int(block, *usids, *own[len(usids) :]).to_bytes(16, "big")
