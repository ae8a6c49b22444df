# SPDX-License-Identifier: Apache-2.0
"""Names of interfaces, and how they are prepared before anything listens on them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from testbed.mininet.errors import MininetWorldError
from topologies.fabric import Fabric
from topologies.names import parse_host
from topologies.timing import data_frame_bytes

OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro")
"""With any of these on, libpcap's receive ring has slots of 64 KiB and so few of them that a
burst of 33 frames loses some before a switch sees them; and frames would not be what a wire
carries."""


def interface_name(node: str, port: int) -> str:
    """`h1-eth0` (ports of hosts are planes), `p0t0a-eth1`: Mininet's own scheme."""
    return f"{node}-eth{port}"


def interfaces_of(fabric: Fabric, node: str) -> list[tuple[int, str]]:
    """Ports of a node with their interfaces' names."""
    if parse_host(node) is not None:
        numbers = fabric.ports(node)
    else:
        numbers = fabric.switch_ports(fabric.switch(node))
    return [(number, interface_name(node, number)) for number in numbers]


def mtu(fabric: Fabric) -> int:
    """MTU of every interface: the longest data frame fits, whatever headers it has."""
    return data_frame_bytes(fabric.spec.path_mtu)


def quiet_namespace_script() -> str:
    """Shell commands that keep IPv6 autoconfiguration out of a fresh namespace's links.

    Else router solicitations, MLD reports and duplicate address detection end up in captures and
    counters.
    """
    settings = " ".join(f"net.ipv6.conf.{scope}.disable_ipv6=1" for scope in ("all", "default"))
    return f"sysctl -qw {settings} && ip link set lo up"


def prepare_script(names: Sequence[str], mtu_bytes: int) -> str:
    """Shell commands that prepare interfaces and bring them up, then list all links as JSON."""
    off = " ".join(f"{feature} off" for feature in OFFLOADS)
    lines = []
    for name in map(shlex.quote, names):
        # ethtool complains of features that a veth does not have, and still sets the others.
        lines.append(f"ethtool -K {name} {off} >/dev/null 2>&1")
        lines.append(f"ip link set dev {name} mtu {mtu_bytes} up")
    return "; ".join([*lines, "ip -j link"])


def check_prepared(node: str, names: Sequence[str], mtu_bytes: int, links_json: str) -> None:
    """MininetWorldError unless every interface is there with its MTU."""
    try:
        links = {link["ifname"]: link for link in json.loads(links_json)}
    except (ValueError, KeyError, TypeError):
        raise MininetWorldError(
            f"{node}: interfaces could not be prepared: {links_json.strip()[-300:]}"
        ) from None
    for name in names:
        link = links.get(name)
        if link is None:
            raise MininetWorldError(f"{node}: interface {name} is missing")
        if link["mtu"] != mtu_bytes:
            raise MininetWorldError(
                f"{node}: interface {name} has MTU {link['mtu']}, not {mtu_bytes}"
            )
