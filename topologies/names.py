# SPDX-License-Identifier: Apache-2.0
"""Names of hosts and switches, and their MAC addresses.

Hosts are `h1`, `h2`, …; switches `p{plane}t{tier}{letters}` with letters a … z, aa, ab, …
"""

from __future__ import annotations

import re

from topologies.errors import TopologyError

_HOST = re.compile(r"h([1-9][0-9]*)\Z")
_SWITCH = re.compile(r"p([0-7])t([01])([a-z]{1,3})\Z")


def letters(index: int) -> str:
    """0 → a, 25 → z, 26 → aa, 27 → ab, … (bijective base 26)."""
    text = ""
    number = index + 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


def letters_index(text: str) -> int:
    """The inverse of `letters`, for lower-case ASCII letters."""
    number = 0
    for letter in text:
        number = number * 26 + ord(letter) - ord("a") + 1
    return number - 1


def host_name(index: int) -> str:
    """The name of the NIC with this 0-based index."""
    return f"h{index + 1}"


def switch_name(plane: int, tier: int, index: int) -> str:
    """The name of a switch: plane 0..7, tier 0 or 1, 0-based index within plane and tier."""
    return f"p{plane}t{tier}{letters(index)}"


def parse_host(name: str) -> int | None:
    """The 0-based NIC index behind a host name, None when it is no host name."""
    match = _HOST.match(name)
    return int(match[1]) - 1 if match else None


def parse_switch(name: str) -> tuple[int, int, int] | None:
    """(plane, tier, index) behind a switch name, None when it is no switch name."""
    match = _SWITCH.match(name)
    return (int(match[1]), int(match[2]), letters_index(match[3])) if match else None


def split_link(name: str) -> tuple[str, str]:
    """The two node names of a link name such as `h1-p0t0a`; TopologyError when it is none."""
    parts = name.split("-")
    if len(parts) != 2 or not all(parts):
        raise TopologyError(f"{name!r} is no link name (like h1-p0t0a or p0t0a-p0t1b)")
    return parts[0], parts[1]


def host_mac(index: int, port: int) -> bytes:
    """Locally administered MAC of a NIC port: 02, 10 + port (= plane), NIC index in 4 bytes."""
    return bytes((0x02, 0x10 | port)) + index.to_bytes(4, "big")


def switch_mac(plane: int, tier: int, index: int, port: int) -> bytes:
    """Locally administered MAC of a switch port: 02, 20 (T0) or 30 (T1) + plane, index, port."""
    return (
        bytes((0x02, (tier + 2) << 4 | plane)) + index.to_bytes(2, "big") + port.to_bytes(2, "big")
    )
