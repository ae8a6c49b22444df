# SPDX-License-Identifier: Apache-2.0
"""Serial numbers that wrap: 24-bit PSNs and byte counters, 16-bit request ids and MSNs.

Inside the engine a PSN is an unbounded integer, so that comparing and subtracting are plain
arithmetic. The two functions at the edge are `wrap_psn` (towards the wire) and `expand`
(from the wire, to the unbounded number nearest to one already known).
"""

PSN_BITS = 24
PSN_MASK = (1 << PSN_BITS) - 1
ID_BITS = 16
ID_MASK = (1 << ID_BITS) - 1


def wrap_psn(number: int) -> int:
    """The 24 bits of an unbounded PSN that travel."""
    return number & PSN_MASK


def expand(wire: int, near: int, bits: int = PSN_BITS) -> int:
    """The integer congruent to `wire` modulo 2**bits that is nearest to `near`.

    A distance of exactly half the circle is taken as behind `near`.
    """
    half = 1 << (bits - 1)
    return near + ((wire - near + half) & ((1 << bits) - 1)) - half


def distance(a: int, b: int, bits: int) -> int:
    """How far `a` is after `b` on a circle of 2**bits, in [-2**(bits-1), 2**(bits-1))."""
    half = 1 << (bits - 1)
    return ((a - b + half) & ((1 << bits) - 1)) - half


def is_newer(a: int, b: int, bits: int = ID_BITS) -> bool:
    """Whether serial number `a` comes after `b` (equal numbers do not)."""
    return distance(a, b, bits) > 0
