# SPDX-License-Identifier: Apache-2.0
"""The table entries of one switch, computed from the fabric alone: no I/O, nothing per flow.

Table, action and parameter names are those of `p4src/mrc.p4`. Entries come lazily, a switch at a
time, and their number is known without computing them, so a fabric of 6,144 switches costs what
the switches that are asked for cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address

from topologies import Fabric, SwitchNode, sids

MY_SID = "MrcIngress.srv6.my_sid"
MY_ADJACENCY = "MrcIngress.srv6.my_adjacency"
FIB = "MrcIngress.srv6.fib"
QUEUE_PROFILE = "MrcIngress.queueing.queue_profile"
CLASSES = "MrcIngress.queueing.classes"
TABLES = (MY_SID, MY_ADJACENCY, FIB, QUEUE_PROFILE, CLASSES)

UN = "MrcIngress.srv6.un"
UA = "MrcIngress.srv6.ua"
FORWARD = "MrcIngress.srv6.forward"
SET_PROFILE = "MrcIngress.queueing.set_profile"
SET_CLASS = "MrcIngress.queueing.set_class"

# Priority queues of a port (`p4src/constants.p4`): the highest number is served first.
QUEUE_DATA = 0
QUEUE_TRIMMED = 1
QUEUE_CONTROL = 2

# Both ECN bounds of a queue profile that never marks (`p4src/queueing.p4`).
ECN_OFF = 0xFFFFFFFF

Match = int | tuple[int, int]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """One entry: keys in the table's order (exact: int; LPM: value and prefix length).

    `params` in the action's order. MACs and addresses are integers, ports v1model port numbers.
    """

    table: str
    match: tuple[Match, ...]
    action: str
    params: tuple[int, ...]

    def __str__(self) -> str:
        keys = ", ".join(_key_text(self.table, key) for key in self.match)
        values = ", ".join(_param_text(self.action, i, p) for i, p in enumerate(self.params))
        return f"{_short(self.table)}[{keys}] → {_short(self.action)}({values})"


@dataclass(frozen=True, slots=True)
class _Adjacency:
    """A port of a switch, and `forward`'s parameters for it."""

    port: int
    params: tuple[int, int, int]


def switch_entries(fabric: Fabric, name: str) -> Iterator[TableEntry]:
    """Every entry of the switch `name`, table by table in the order of `TABLES`.

    TopologyError when the fabric has no such switch.
    """
    switch = fabric.switch(name)
    adjacencies = {port: _adjacency(fabric, name, port) for port in fabric.switch_ports(switch)}
    block = fabric.sid_block
    yield TableEntry(MY_SID, (sids.sid_key(block, switch.usid),), UN, ())
    for table in (MY_SID, MY_ADJACENCY):
        for port, adjacency in adjacencies.items():
            key = sids.sid_key(block, fabric.adjacency_usid(switch.plane, port))
            yield TableEntry(table, (key,), UA, adjacency.params)
    for usid, port in _routes(fabric, switch):
        prefix = sids.sid_prefix(block, usid)
        yield TableEntry(FIB, (prefix,), FORWARD, adjacencies[port].params)
    for port in adjacencies:
        yield _queue_profile(fabric, switch, port)
    yield from _classes(fabric)


def entry_counts(fabric: Fabric, name: str) -> dict[str, int]:
    """How many entries each table of the switch `name` has, without computing them."""
    switch = fabric.switch(name)
    ports = len(fabric.switch_ports(switch))
    # Every port leads to one neighbour and every neighbour has one route.
    return {
        MY_SID: 1 + ports,
        MY_ADJACENCY: ports,
        FIB: ports,
        QUEUE_PROFILE: ports,
        CLASSES: len(type(fabric.dscp).model_fields),
    }


def fabric_entry_count(fabric: Fabric) -> int:
    """How many entries all switches have together, without computing them."""
    total = 0
    for tier, switches in ((0, fabric.spec.t0s), (1, fabric.spec.t1s)):
        first = fabric.switch_at(0, tier, 0).name
        total += fabric.spec.planes * switches * sum(entry_counts(fabric, first).values())
    return total


def _adjacency(fabric: Fabric, name: str, port: int) -> _Adjacency:
    far = fabric.neighbour(name, port)
    smac = int.from_bytes(fabric.mac(name, port), "big")
    dmac = int.from_bytes(fabric.mac(far.node, far.port), "big")
    return _Adjacency(port, (port, smac, dmac))


def _routes(fabric: Fabric, switch: SwitchNode) -> Iterator[tuple[int, int]]:
    """(uSID, port) of every neighbour: a T0 knows its NICs and its plane's T1s, a T1 the T0s."""
    plane = switch.plane
    if switch.tier == 1:
        for t0 in range(fabric.spec.t0s):
            yield sids.usid(plane, sids.TIER_T0, t0), fabric.t1_port(t0)
        return
    for downlink in range(fabric.spec.nics_per_t0):
        yield sids.usid(plane, sids.TIER_NIC, downlink), fabric.downlink_port(downlink)
    for t1 in range(fabric.spec.t1s):
        yield sids.usid(plane, sids.TIER_T1, t1), fabric.uplink_port(t1)


def _queue_profile(fabric: Fabric, switch: SwitchNode, port: int) -> TableEntry:
    """Trimming and marking of a port; the last hop trims later, says so, and never marks."""
    limits = fabric.thresholds_packets()
    dscp, cut = fabric.dscp, fabric.spec.trim_length
    if fabric.faces_nic(switch, port):
        params = (limits.trim_last_hop, cut, dscp.trimmed_lasthop, ECN_OFF, ECN_OFF)
    else:
        params = (limits.trim, cut, dscp.trimmed, limits.ecn_min, limits.ecn_max)
    return TableEntry(QUEUE_PROFILE, (port,), SET_PROFILE, params)


def _classes(fabric: Fabric) -> Iterator[TableEntry]:
    dscp = fabric.dscp
    for value, queue, trimmable in (
        (dscp.no_trim, QUEUE_DATA, 0),
        (dscp.trimmable, QUEUE_DATA, 1),
        (dscp.trimmable_retx, QUEUE_DATA, 1),
        (dscp.trimmed, QUEUE_TRIMMED, 0),
        (dscp.trimmed_lasthop, QUEUE_TRIMMED, 0),
        (dscp.control, QUEUE_CONTROL, 0),
    ):
        yield TableEntry(CLASSES, (value,), SET_CLASS, (queue, trimmable))


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _key_text(table: str, key: Match) -> str:
    if isinstance(key, tuple):
        return f"{IPv6Address(key[0])}/{key[1]}"
    if table in (MY_SID, MY_ADJACENCY):
        return str(IPv6Address(key << 128 - sids.SID_PREFIX_BITS))
    return str(key)


def _param_text(action: str, position: int, value: int) -> str:
    if action in (UA, FORWARD) and position > 0:
        return value.to_bytes(6, "big").hex(":")
    if action == SET_PROFILE and value == ECN_OFF:
        return "off"
    return str(value)
