# SPDX-License-Identifier: Apache-2.0
"""Packets to switch p0t0a of the tests' fabric, and what must become of each."""

from __future__ import annotations

from ipaddress import IPv6Address

from outer_frames import Left, Outer

from topologies import sids

# Switch p0t0a: ports 1 and 2 lead to NICs, 3 and 4 to T1s.
OWN, UA1, UA2, UA4 = 0x1000, 0x0001, 0x0002, 0x0004
NIC1, NIC2, T1A, T1B, T0B = 0x0800, 0x0801, 0x1800, 0x1801, 0x1001
UNKNOWN = 0x17FF
IN_PORT = 3


def address(*usids: int) -> int:
    return sids.address_int(0x5F000000, *usids)


SEGMENT = address(T1A, T0B, NIC1)
"""A segment that p0t0a has a route for: by port 3."""

# What both the program and the kernel define.
ALIKE: dict[str, tuple[Outer, Left | None]] = {
    "End": (Outer(address(OWN, NIC1)), Left(1, "5f00:0:800::")),
    "End, four uSIDs": (
        Outer(address(OWN, T1B, T0B, NIC1)),
        Left(4, "5f00:0:1801:1001:800::"),
    ),
    "End, six uSIDs": (
        Outer(address(OWN, T1A, OWN, T1B, T0B, NIC1)),
        Left(3, "5f00:0:1800:1000:1801:1001:800:0"),
    ),
    "End, back by the port it came from": (Outer(address(OWN, T1A)), Left(3, "5f00:0:1800::")),
    "End.X": (Outer(address(UA4, UNKNOWN)), Left(4, "5f00:0:17ff::")),
    "End.X, the rest is not looked at": (Outer(address(UA1, UA4, OWN)), Left(1, "5f00:0:4:1000::")),
    "End, then End.X": (Outer(address(OWN, UA4, NIC1)), Left(4, "5f00:0:800::")),
    "End, then End.X, then another's": (
        Outer(address(OWN, UA1, UA2, T1A)),
        Left(1, "5f00:0:2:1800::"),
    ),
    "End of an empty container": (Outer(address(OWN)), None),
    "End.X of an empty container": (Outer(address(UA2)), None),
    "End, then End.X of an empty one": (Outer(address(OWN, UA2)), None),
    "0x0000 within a container": (Outer(address(OWN, 0, NIC1)), None),
    "no route": (Outer(address(OWN, UNKNOWN)), None),
    "a SID that is nobody's": (Outer(address(UNKNOWN, NIC1)), None),
    "empty container, next segment": (
        Outer(address(OWN), (SEGMENT,), 1),
        Left(3, "5f00:0:1800:1001:800::", segments_left=0),
    ),
    "End.X, empty container, next segment": (
        Outer(address(UA2), (SEGMENT,), 1),
        Left(2, "5f00:0:1800:1001:800::", segments_left=0),
    ),
    "End, then End.X, empty container, next segment": (
        Outer(address(OWN, UA4), (SEGMENT,), 1),
        Left(4, "5f00:0:1800:1001:800::", segments_left=0),
    ),
    "empty container, next segment without a route": (
        Outer(address(OWN), (address(UNKNOWN, NIC1),), 1),
        None,
    ),
    "empty container, no segment left": (Outer(address(OWN), (SEGMENT,), 0), None),
    "a segment left, container not empty": (
        Outer(address(OWN, NIC2), (SEGMENT,), 1),
        Left(2, "5f00:0:801::", segments_left=1),
    ),
    "no segment left, container not empty": (
        Outer(address(OWN, NIC2), (SEGMENT,), 0),
        Left(2, "5f00:0:801::", segments_left=0),
    ),
    "no segment left of two, container not empty": (
        Outer(address(OWN, NIC2), (SEGMENT, SEGMENT), 0),
        Left(2, "5f00:0:801::", segments_left=0),
    ),
    "hop limit 2": (Outer(address(OWN, NIC1), hop_limit=2), Left(1, "5f00:0:800::", 1)),
    "hop limit 1": (Outer(address(OWN, NIC1), hop_limit=1), None),
    "hop limit 0": (Outer(address(OWN, NIC1), hop_limit=0), None),
    "hop limit 1, End.X": (Outer(address(UA1, NIC1), hop_limit=1), None),
    "hop limit 2, End and End.X are one hop": (
        Outer(address(OWN, UA1, NIC1), hop_limit=2),
        Left(1, "5f00:0:800::", 1),
    ),
    "version 4 in the header": (Outer(address(OWN, NIC1), version=4), None),
    "another Ethernet type": (Outer(address(OWN, NIC1), ether_type=0x0800), None),
    "nothing behind the header": (
        Outer(address(OWN, NIC1), payload=b""),
        Left(1, "5f00:0:800::"),
    ),
    "the longest frame": (
        Outer(address(OWN, T1B), payload=bytes(4242 - 40)),
        Left(4, "5f00:0:1801::"),
    ),
}

OTHER = address(T1B, NIC1)

# What becomes of a packet in the kernel, and what in the program.
DIFFERENT: dict[str, tuple[Outer, Left | None, Left | None]] = {
    "another node's SID in front": (
        Outer(address(T1A, NIC1)),
        Left(3, "5f00:0:1800:800::"),
        None,
    ),
    "the own SID twice": (Outer(address(OWN, OWN, NIC1)), Left(1, "5f00:0:800::"), None),
    "a segment that begins with the own SID": (
        Outer(address(OWN), (address(OWN, NIC1),), 1),
        Left(1, "5f00:0:800::", segments_left=0),
        None,
    ),
    "a segment that begins with an adjacency of this node": (
        Outer(address(OWN), (address(UA4, NIC1),), 1),
        Left(4, "5f00:0:800::", segments_left=0),
        None,
    ),
    "an empty container as segment, by an adjacency": (
        Outer(address(UA4), (address(),), 1),
        Left(4, "5f00::", segments_left=0),
        None,
    ),
    "two segments left": (
        Outer(address(OWN), (SEGMENT, OTHER), 2),
        Left(4, "5f00:0:1801:800::", segments_left=1),
        None,
    ),
    "one segment left of two": (
        Outer(address(OWN), (SEGMENT, OTHER), 1),
        Left(3, "5f00:0:1800:1001:800::", segments_left=0),
        None,
    ),
    "two segments left, container not empty": (
        Outer(address(OWN, NIC1), (SEGMENT, OTHER), 2),
        Left(1, "5f00:0:800::", segments_left=2),
        None,
    ),
    "one segment left of two, container not empty": (
        Outer(address(OWN, NIC1), (SEGMENT, OTHER), 1),
        Left(1, "5f00:0:800::", segments_left=1),
        None,
    ),
    "another routing type, container not empty": (
        Outer(address(OWN, NIC1), (SEGMENT,), 1, routing_type=3),
        Left(1, "5f00:0:800::", segments_left=1),
        None,
    ),
    "a last entry beyond the list": (
        Outer(address(OWN), (SEGMENT,), 1, last_entry=1),
        None,
        Left(3, "5f00:0:1800:1001:800::", segments_left=0),
    ),
    "cut short: less than the length in the header": (
        Outer(address(OWN, NIC1), ip_length=4202),
        None,
        Left(1, "5f00:0:800::"),
    ),
    "to another MAC address": (
        Outer(address(OWN, NIC1), to_mac=bytes.fromhex("020000000077")),
        None,
        Left(1, "5f00:0:800::"),
    ),
    "from a multicast address": (
        Outer(address(OWN, NIC1), source=int(IPv6Address("ff02::1"))),
        None,
        Left(1, "5f00:0:800::"),
    ),
    "from the loopback address": (
        Outer(address(OWN, NIC1), source=1),
        None,
        Left(1, "5f00:0:800::"),
    ),
}
