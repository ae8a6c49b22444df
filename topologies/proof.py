# SPDX-License-Identifier: Apache-2.0
"""Proof that every uSID of a fabric is unique within its scope and none is zero.

Every uSID is computed and marked in a bitmap of its scope, 2**16 bits that are wiped and used
again: the 131,072-NIC fabric takes a million uSIDs and one bitmap, nothing else.

Scopes, in this order:
- the fabric: the uSIDs of all T0s and T1s;
- a T0 on a plane: the uSIDs of its NICs;
- a plane: whatever any switch there may look up, that is its own uSID, its adjacencies, and its
  neighbours. (Ports, and NICs of a T0, have the same uSIDs at every switch, so one scope a plane
  covers them all.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from topologies import names, sids
from topologies.fabric import Fabric

_BITMAP_BYTES = (1 << sids.USID_BITS) // 8

_Owned = Iterator[tuple[int, str]]


class SidCollisionError(ValueError):
    """A uSID is zero, too large, or has two owners in one scope; the text names them."""


@dataclass(frozen=True, slots=True)
class SidProof:
    """What was computed and found unique: uSIDs of each kind, and the number of scopes."""

    switch_usids: int
    nic_usids: int
    nic_scopes: int
    plane_usids: int
    plane_scopes: int


def prove_unique(fabric: Fabric) -> SidProof:
    """Compute every uSID of the fabric and check it within its scopes.

    SidCollisionError names uSID, scope and owners of the first that is not unique, or zero.
    """
    bitmap = bytearray(_BITMAP_BYTES)
    switches = _check("the fabric", partial(_switch_usids, fabric), bitmap)
    nics = plane_usids = 0
    planes, t0s = fabric.spec.planes, fabric.spec.t0s
    for plane in range(planes):
        for t0 in range(t0s):
            scope = f"T0 {names.switch_name(plane, 0, t0)}"
            nics += _check(scope, partial(_nic_usids, fabric, plane, t0), bitmap)
        plane_usids += _check(f"plane {plane}", partial(_lookup_usids, fabric, plane), bitmap)
    return SidProof(switches, nics, planes * t0s, plane_usids, planes)


def _check(scope: str, owned: Callable[[], _Owned], bitmap: bytearray) -> int:
    """Mark every uSID of a scope in the wiped bitmap; their number when all differ."""
    bitmap[:] = bytes(_BITMAP_BYTES)
    count = 0
    for usid, owner in owned():
        if not 0 < usid < 1 << sids.USID_BITS:
            raise SidCollisionError(f"{owner} in {scope} has {usid:#06x}, which is no uSID")
        byte, bit = usid >> 3, 1 << (usid & 7)
        if bitmap[byte] & bit:
            first = next(name for value, name in owned() if value == usid)
            raise SidCollisionError(f"{first} and {owner} in {scope} share uSID {usid:#06x}")
        bitmap[byte] |= bit
        count += 1
    return count


def _switch_usids(fabric: Fabric) -> _Owned:
    for switch in fabric.switches():
        yield switch.usid, switch.name


def _nic_usids(fabric: Fabric, plane: int, t0: int) -> _Owned:
    size = fabric.spec.nics_per_t0
    for nic in range(t0 * size, (t0 + 1) * size):
        yield fabric.nic_usid(plane, nic), names.host_name(nic)


def _lookup_usids(fabric: Fabric, plane: int) -> _Owned:
    ports = 0
    for tier, size in ((0, fabric.spec.t0s), (1, fabric.spec.t1s)):
        for index in range(size):
            switch = fabric.switch_at(plane, tier, index)
            ports = max(ports, fabric.switch_ports(switch)[-1])
            yield switch.usid, switch.name
    yield from _nic_usids(fabric, plane, 0)
    for port in range(1, ports + 1):
        yield fabric.adjacency_usid(plane, port), f"adjacency {port}"
