# SPDX-License-Identifier: Apache-2.0
"""The most that a workload could move over the links that are alive, as a max-flow.

Per plane, each NIC port is a node, and each T0 and T1 a few, so that nothing turns back on its
way; each direction of a live link is an edge, with its capacity in *goodput*: what is left of the
link's rate for payload, at full path MTU,

    goodput = rate × payload / (frame + overhead + k × (SACK frame + overhead))

with frame and SACK frame in bytes from the Ethernet header, overhead 24 bytes (preamble, FCS,
gap), and k the SACKs that data of the *reverse* direction puts on this one for each of its data
packets: the receiver owes one SACK for every 4,096 counted bytes and a packet counts for at least
1,024 (protocol, section 4), so k = min(1, max(payload, 1024) / 4096); k = 0 where no flow's
reverse direction can use the link.

A flow enters a plane only if its NIC ports on both ends are alive in that plane, or a flow could
be credited with a plane that its peer cannot use. Beyond that all flows are one commodity from a
super source to a super sink. This is exact for a permutation over two T0s, and can otherwise only
overestimate: measured goodput is judged against an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import networkx as nx

from topologies.fabric import Fabric, Link
from topologies.timing import ETHERNET_OVERHEAD_BYTES, SACK_FRAME_BYTES

_Graph: TypeAlias = "nx.DiGraph[Any]"

_SACK_EVERY_BYTES = 4096
_COUNTED_AT_LEAST = 1024


@dataclass(frozen=True, slots=True)
class Overheads:
    """Bytes on a link that a full data packet costs, for a payload and a frame length."""

    payload: int
    frame: int

    @property
    def sacks_per_packet(self) -> float:
        """SACKs owed for one full packet."""
        return min(1.0, max(self.payload, _COUNTED_AT_LEAST) / _SACK_EVERY_BYTES)

    def share(self, *, with_sacks: bool) -> float:
        """Payload's share of a link's rate."""
        on_link = float(self.frame + ETHERNET_OVERHEAD_BYTES)
        if with_sacks:
            on_link += self.sacks_per_packet * (SACK_FRAME_BYTES + ETHERNET_OVERHEAD_BYTES)
        return self.payload / on_link

    def formula(self) -> str:
        """The capacity formula with this run's numbers."""
        return (
            f"goodput = rate × {self.payload} / ({self.frame} + {ETHERNET_OVERHEAD_BYTES}"
            f" + k × ({SACK_FRAME_BYTES} + {ETHERNET_OVERHEAD_BYTES})),"
            f" k = {self.sacks_per_packet:g} on links that also carry SACKs"
            f" of the reverse direction, else 0"
        )


class MaxFlow:
    """Max-flows of one set of (source, destination) pairs over one fabric.

    ``sending_bps``: payload that a NIC port sends at most, where it keeps below its link's rate.
    """

    def __init__(
        self,
        fabric: Fabric,
        flows: Iterable[tuple[int, int]],
        overheads: Overheads,
        sending_bps: float = math.inf,
    ) -> None:
        self._fabric = fabric
        self._flows = sorted(set(flows))
        self._senders = {a for a, _ in self._flows}
        self._receivers = {b for _, b in self._flows}
        self._overheads = overheads
        self._sending_bps = sending_bps
        self._links = list(fabric.links())
        self._known: dict[frozenset[str], float] = {}

    def gbps(self, dead_links: Collection[str]) -> float:
        """Payload in Gb/s over all links but ``dead_links`` (names)."""
        key = frozenset(dead_links)
        if key not in self._known:
            graph = self._graph(key)
            value = nx.maximum_flow_value(graph, "source", "sink") if graph else 0.0
            self._known[key] = round(value / 1e9, 6)
        return self._known[key]

    def _graph(self, dead: frozenset[str]) -> _Graph | None:
        graph: _Graph = nx.DiGraph()
        live = [link for link in self._links if link.name not in dead]
        ports = {(link.a, link.a_port) for link in live if link.tier == "nic_t0"}
        usable = [
            (source, target, plane)
            for source, target in self._flows
            for plane in range(self._fabric.spec.planes)
            if (self._name(source), plane) in ports and (self._name(target), plane) in ports
        ]
        for source, target, plane in usable:
            self._flow_edges(graph, source, target, plane)
        for link in live:
            if link.tier == "t0_t1":
                self._uplink_edges(graph, link)
        return graph if usable else None

    def _flow_edges(self, graph: _Graph, source: int, target: int, plane: int) -> None:
        """Through the sender's port into its T0 or, within one T0, to the receiver's port."""
        rate, share = self._fabric.nic_rate_bps, self._overheads.share
        sends, enters = ("send", source, plane), ("up", self._t0(source), plane)
        leaves, arrives = ("down", self._t0(target), plane), ("receive", target, plane)
        sending = min(rate * share(with_sacks=source in self._receivers), self._sending_bps)
        graph.add_edge("source", sends, capacity=sending)
        graph.add_edge(arrives, "sink", capacity=rate * share(with_sacks=target in self._senders))
        if self._t0(source) == self._t0(target):
            graph.add_edge(sends, arrives)
        else:
            graph.add_edge(sends, enters)
            graph.add_edge(leaves, arrives)

    def _uplink_edges(self, graph: _Graph, link: Link) -> None:
        """Both directions of a T0–T1 link; a T1 sends nothing back to the T0 it came from."""
        t0, t1 = self._fabric.switch(link.a), self._fabric.switch(link.b)
        outward = any(self._t0(a) == t0.index != self._t0(b) for a, b in self._flows)
        inward = any(self._t0(b) == t0.index != self._t0(a) for a, b in self._flows)
        capacity = link.rate_bps * self._overheads.share(with_sacks=outward and inward)
        inside = ("t1", t1.index, t1.plane)
        graph.add_edge(("up", t0.index, t0.plane), (*inside, "from", t0.index), capacity=capacity)
        graph.add_edge((*inside, "to", t0.index), ("down", t0.index, t0.plane), capacity=capacity)
        for other in range(self._fabric.spec.t0s):
            if other != t0.index:
                graph.add_edge((*inside, "from", t0.index), (*inside, "to", other))

    def _name(self, host: int) -> str:
        return self._fabric.host_at(host).name

    def _t0(self, host: int) -> int:
        return self._fabric.host_at(host).t0
