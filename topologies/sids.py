# SPDX-License-Identifier: Apache-2.0
"""SRv6 uSIDs, path addresses and entropy values: the only place that knows their bits.

Format F3216 (RFC 9800): a 32-bit block, then up to six 16-bit uSIDs in one IPv6 address.
uSID 0x0000 ends the container, so no node owns it.

    uSID   plane (15:13) | tier (12:11) | index (10:0)
    EV     entropy (31:11, the two highest bits are ones) | plane (10:8) | uplink (7:0)

Tier codes: 0 an adjacency (its index is a port, from 1), 1 NIC (index: downlink of its T0),
2 T0, 3 T1. The plane is in every uSID (P1, section 2), and so a path costs an EV's 11 bits:
plane into all uSIDs, uplink into the T1 uSID (P1, figure 3). The upper half of an EV is the UDP
source port; its two leading ones keep it in the dynamic range (49152 to 65535, RFC 6335).
"""

from __future__ import annotations

from dataclasses import dataclass

TIER_ADJ = 0
TIER_NIC = 1
TIER_T0 = 2
TIER_T1 = 3

BLOCK_BITS = 32
USID_BITS = 16
USIDS_PER_ADDRESS = 6
SID_PREFIX_BITS = BLOCK_BITS + USID_BITS

INDEX_BITS = 11
TIER_SHIFT = 11
PLANE_SHIFT = 13
MAX_PLANES = 8
MAX_INDEX = (1 << INDEX_BITS) - 1

MAX_UPLINKS = 256
ENTROPY_BITS = 19
_EV_PLANE_SHIFT = 8
_EV_ENTROPY_SHIFT = 11
_EV_DYNAMIC_PORT = 0b11 << 30

# Plane bit 0 of each of the first n uSIDs of an address: times the plane sets it in all of them.
_PLANE_UNIT = 1 << PLANE_SHIFT


def usid(plane: int, tier_code: int, index: int) -> int:
    """The 16-bit uSID of a node or adjacency.

    plane 0..7, tier_code 0..3, index 0..2047 (1..2047 for an adjacency). ValueError names the
    value that does not fit, and refuses 0x0000, which ends a uSID container (RFC 9800).
    """
    if not 0 <= plane < MAX_PLANES:
        raise ValueError(f"plane {plane} does not fit a uSID (0..{MAX_PLANES - 1})")
    if not TIER_ADJ <= tier_code <= TIER_T1:
        raise ValueError(f"tier code {tier_code} does not fit a uSID (0..3)")
    if not 0 <= index <= MAX_INDEX:
        raise ValueError(f"index {index} does not fit a uSID (0..{MAX_INDEX})")
    if tier_code == TIER_ADJ and index == 0:
        raise ValueError("an adjacency's index is its port and starts at 1: 0 is no adjacency")
    return plane << PLANE_SHIFT | tier_code << TIER_SHIFT | index


def usid_parts(value: int) -> tuple[int, int, int]:
    """(plane, tier code, index) of a 16-bit uSID."""
    return value >> PLANE_SHIFT, value >> TIER_SHIFT & 3, value & MAX_INDEX


def address_int(block: int, *usids: int) -> int:
    """The IPv6 address (128-bit integer) that holds `usids`, at most six, behind a 32-bit block."""
    if len(usids) > USIDS_PER_ADDRESS:
        raise ValueError(f"{len(usids)} uSIDs do not fit one address (at most {USIDS_PER_ADDRESS})")
    value = block
    for item in usids:
        value = value << USID_BITS | item
    return value << USID_BITS * (USIDS_PER_ADDRESS - len(usids))


def sid_key(block: int, value: int) -> int:
    """DA[127:80], what a switch compares with its own SIDs: block and first uSID, 48 bits."""
    return block << USID_BITS | value


def sid_prefix(block: int, value: int) -> tuple[int, int]:
    """(128-bit prefix value, prefix length 48) of the static route to a uSID."""
    return address_int(block, value), SID_PREFIX_BITS


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """The outer destination addresses of one (source, destination) pair of NICs.

    Looked up once for a pair; an EV's plane and uplink then make the address (P1, figure 3).
    `base` is the address on plane 0 over uplink 0, `usids` the number of uSIDs in it: four
    (T0, T1, T0, NIC), or two (T0, NIC) when both NICs are on one T0.
    """

    base: int
    usids: int

    @classmethod
    def between(cls, block: int, src_t0: int, dst_t0: int, dst_downlink: int) -> PathTemplate:
        """The path from any NIC of T0 `src_t0` to NIC `dst_downlink` of T0 `dst_t0`."""
        last = usid(0, TIER_NIC, dst_downlink)
        if src_t0 == dst_t0:
            return cls(address_int(block, usid(0, TIER_T0, src_t0), last), 2)
        return cls.over_t1(block, src_t0, dst_t0, dst_downlink)

    @classmethod
    def over_t1(cls, block: int, src_t0: int, dst_t0: int, dst_downlink: int) -> PathTemplate:
        """The same by a T1 even within one T0: a probe's loop to a T1 and back (P1, section 5)."""
        hops = (
            usid(0, TIER_T0, src_t0),
            usid(0, TIER_T1, 0),
            usid(0, TIER_T0, dst_t0),
            usid(0, TIER_NIC, dst_downlink),
        )
        return cls(address_int(block, *hops), 4)

    @property
    def has_uplinks(self) -> bool:
        """Whether the uplink matters: False for two NICs of one T0."""
        return self.usids == 4

    def address(self, plane: int, uplink: int) -> bytes:
        """The 16-byte address on `plane` (0..7) by T1 `uplink` (ignored within one T0).

        ValueError when either does not fit its bits.
        """
        if not 0 <= plane < MAX_PLANES or not 0 <= uplink < MAX_UPLINKS:
            raise ValueError(f"no path on plane {plane} by uplink {uplink}")
        value = self.base | plane * _PLANE_UNITS[self.usids]
        if self.usids == 4:
            value |= uplink << _T1_SHIFT
        return value.to_bytes(16, "big")

    def address_of_ev(self, ev: int) -> bytes:
        """The 16-byte address that a 32-bit EV names."""
        return self.address(ev >> _EV_PLANE_SHIFT & 7, ev & 0xFF)


_PLANE_UNITS = {n: address_int(0, *[_PLANE_UNIT] * n) for n in range(1, USIDS_PER_ADDRESS + 1)}
_T1_SHIFT = USID_BITS * (USIDS_PER_ADDRESS - 2)


def ev_pack(plane: int, uplink: int, entropy: int = 0) -> int:
    """The 32-bit EV of a path: plane 0..7, uplink (T1 index) 0..255, entropy 0..2**19 - 1.

    Entropy changes nothing about the path; ValueError names a value out of range.
    """
    if not 0 <= plane < MAX_PLANES:
        raise ValueError(f"plane {plane} does not fit an EV (0..{MAX_PLANES - 1})")
    if not 0 <= uplink < MAX_UPLINKS:
        raise ValueError(f"uplink {uplink} does not fit an EV (0..{MAX_UPLINKS - 1})")
    if not 0 <= entropy < 1 << ENTROPY_BITS:
        raise ValueError(f"entropy {entropy} does not fit an EV ({ENTROPY_BITS} bits)")
    return _EV_DYNAMIC_PORT | entropy << _EV_ENTROPY_SHIFT | plane << _EV_PLANE_SHIFT | uplink


def ev_plane(ev: int) -> int:
    """The plane (0..7) that an EV names."""
    return ev >> _EV_PLANE_SHIFT & 7


def ev_uplink(ev: int) -> int:
    """The uplink, a T1 index (0..255), that an EV names."""
    return ev & 0xFF


def ev_entropy(ev: int) -> int:
    """The 19 free bits of an EV."""
    return ev >> _EV_ENTROPY_SHIFT & (1 << ENTROPY_BITS) - 1
