# SPDX-License-Identifier: Apache-2.0
"""A switch's table entries, told to the Linux kernel: routes with `seg6local` and NEXT-C-SID.

| entry | kernel |
|---|---|
| my_sid, un | route to the SID, `action End flavors next-csid` |
| my_sid, ua | route to the SID, `action End.X nh6 ADJACENCY flavors next-csid` |
| my_adjacency, ua | none: after an End the kernel looks the new address up in all of its routes |
| fib, forward | route to the neighbour's SID by the adjacency |
| classes, queue_profile | none: a kernel node neither trims nor marks |

An adjacency is a neighbour with a fixed MAC address, so that frames leave as the switch's do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from ipaddress import IPv6Address

from namespaces import CommandFailed, Namespace

from controller.tables import FIB, MY_SID, UN, switch_entries
from testbed.mininet.interfaces import interface_name
from topologies import Fabric, sids

FLAVOR = ("flavors", "next-csid", "lblen", "32", "nflen", "16")
Configure = Callable[[Namespace, Fabric, str], None]

_ADJACENCIES = int(IPv6Address("fd4d:ad5a::"))
_NEIGHBOURS = int(IPv6Address("fe80::"))
_COUNT = re.compile(r"packets (\d+)")


def prepare(namespace: Namespace) -> None:
    """Make a fresh namespace a router that never speaks of its own accord."""
    namespace.settings(forwarding=1, accept_ra=0, autoconf=0, accept_dad=0, addr_gen_mode=1)


def missing() -> str | None:
    """What this kernel or this iproute2 lacks, tried in a namespace of its own."""
    with Namespace("probe") as probe:
        prepare(probe)
        probe.run(["ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"])
        probe.run(["ip", "link", "set", "probe0", "up"])
        for action in (("End",), ("End.X", "nh6", "fd00::1")):
            try:
                probe.run(sid_route("5f00:0:1::/48", action, "probe0"))
            except CommandFailed as error:
                return f"needs seg6local {action[0]} with next-csid: {error}"
            probe.run(["ip", "-6", "route", "del", "5f00:0:1::/48"])
    return None


def adjacency(port: int) -> str:
    """The next hop of the adjacency at this port, as End.X names it."""
    return str(IPv6Address(_ADJACENCIES + port))


def configure(namespace: Namespace, fabric: Fabric, switch: str) -> None:
    """Give a prepared namespace with the switch's interfaces the switch's routes."""
    add_adjacencies(namespace, fabric, switch)
    for command in _routes(fabric, switch):
        namespace.run(command)


def configure_by_adjacency(namespace: Namespace, fabric: Fabric, switch: str) -> None:
    """The same forwarding of paths with End.X alone: a route to (own uN, neighbour's uSID), 64
    bits, for each neighbour, by its adjacency; nothing is looked up after the shift."""
    add_adjacencies(namespace, fabric, switch)
    for prefix, port in adjacency_sids(fabric, switch).items():
        action = ("End.X", "nh6", adjacency(port))
        namespace.run(sid_route(prefix, action, interface_name(switch, 1)))


def own_sid(fabric: Fabric, switch: str) -> str:
    """The prefix of a switch's uN."""
    address = sids.address_int(fabric.sid_block, fabric.switch(switch).usid)
    return f"{IPv6Address(address)}/{sids.SID_PREFIX_BITS}"


def adjacency_sids(fabric: Fabric, switch: str) -> dict[str, int]:
    """Prefixes of 64 bits that begin with a switch's uN, and the port that each leaves by."""
    own, prefixes = fabric.switch(switch).usid, {}
    for entry in switch_entries(fabric, switch):
        if entry.table == FIB:
            ((value, _),) = entry.match
            neighbour = value >> 128 - sids.SID_PREFIX_BITS & 0xFFFF
            address = IPv6Address(sids.address_int(fabric.sid_block, own, neighbour))
            prefixes[f"{address}/64"] = entry.params[0]
    return prefixes


def add_adjacencies(namespace: Namespace, fabric: Fabric, switch: str) -> None:
    """Every neighbour with its MAC address, as a next hop for routes and for End.X."""
    for port in fabric.switch_ports(fabric.switch(switch)):
        far = fabric.neighbour(switch, port)
        _add_adjacency(namespace, switch, port, fabric.mac(far.node, far.port))


def _add_adjacency(namespace: Namespace, switch: str, port: int, mac: bytes) -> None:
    interface, neighbour = interface_name(switch, port), str(IPv6Address(_NEIGHBOURS + port))
    namespace.run(
        ["ip", "-6", "neigh", "add", neighbour, "lladdr", mac.hex(":"), "dev", interface,
         "nud", "permanent"]
    )  # fmt: skip
    namespace.run(neighbour_route(f"{adjacency(port)}/128", switch, port))


def _routes(fabric: Fabric, switch: str) -> Iterable[list[str]]:
    device = interface_name(switch, 1)  # any: an action wants one, and does not use it
    for entry in switch_entries(fabric, switch):
        (match,) = entry.match
        if entry.table == MY_SID:
            assert isinstance(match, int)
            prefix = f"{IPv6Address(match << 128 - sids.SID_PREFIX_BITS)}/{sids.SID_PREFIX_BITS}"
            if entry.action == UN:
                yield sid_route(prefix, ("End",), device)
            else:
                yield sid_route(prefix, ("End.X", "nh6", adjacency(entry.params[0])), device)
        elif entry.table == FIB:
            assert isinstance(match, tuple)
            yield neighbour_route(f"{IPv6Address(match[0])}/{match[1]}", switch, entry.params[0])


def sid_route(prefix: str, action: Iterable[str], device: str) -> list[str]:
    """The command that routes a SID to an action of the kernel; `device` is any that is up."""
    encap = ["encap", "seg6local", "action", *action, *FLAVOR, "count"]
    return ["ip", "-6", "route", "add", prefix, *encap, "dev", device]


def neighbour_route(prefix: str, switch: str, port: int) -> list[str]:
    """The command that routes a prefix to the neighbour at a port."""
    via = ["via", str(IPv6Address(_NEIGHBOURS + port)), "dev", interface_name(switch, port)]
    return ["ip", "-6", "route", "add", prefix, *via]


def sid_packets(namespace: Namespace, prefix: str) -> int:
    """Packets that a SID's action took, by the kernel's own count."""
    shown = namespace.run(["ip", "-6", "-s", "route", "show", prefix])
    found = _COUNT.search(shown)
    assert found is not None, shown
    return int(found[1])


def truncated_packets(namespace: Namespace) -> int:
    """Packets that a kernel dropped since they were shorter than their header says."""
    counters = namespace.run(["cat", "/proc/net/snmp6"])
    return int(next(line.split()[1] for line in counters.splitlines() if "InTruncated" in line))
