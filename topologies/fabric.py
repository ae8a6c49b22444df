# SPDX-License-Identifier: Apache-2.0
"""`Fabric`: every fact that follows from a fabric description, computed when asked.

Nothing is built for the whole fabric: names, ports, links, SIDs and MACs are formulas over
indexes, so a fabric of 131,072 NICs costs what one question costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, overload

from topologies import names, sids, timing
from topologies.errors import TopologyError
from topologies.model import DscpMap, FabricSpec

LinkTier = Literal["nic_t0", "t0_t1"]


class PortRef(NamedTuple):
    """One end of a link."""

    node: str
    port: int


@dataclass(frozen=True, slots=True)
class Host:
    """A host with its one NIC: `index` 0-based, `t0` and `downlink` the same on every plane."""

    name: str
    index: int
    t0: int
    downlink: int
    address: bytes


@dataclass(frozen=True, slots=True)
class SwitchNode:
    """A switch: tier 0 or 1, `index` 0-based within plane and tier, `usid` its 16-bit uSID."""

    name: str
    plane: int
    tier: int
    index: int
    usid: int


@dataclass(frozen=True, slots=True)
class Link:
    """A full-duplex link; `a` is the lower tier. Rate in bit/s and delay in ns, one way."""

    a: str
    a_port: int
    b: str
    b_port: int
    rate_bps: int
    delay_ns: int
    tier: LinkTier

    @property
    def name(self) -> str:
        """`h1-p0t0a` or `p0t0a-p0t1b`."""
        return f"{self.a}-{self.b}"


class Hosts(Sequence[Host]):
    """All hosts in order of their index, made on access."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric

    def __len__(self) -> int:
        return self._fabric.nic_count

    @overload
    def __getitem__(self, item: int) -> Host: ...
    @overload
    def __getitem__(self, item: slice) -> list[Host]: ...
    def __getitem__(self, item: int | slice) -> Host | list[Host]:
        if isinstance(item, slice):
            return [self[i] for i in range(*item.indices(len(self)))]
        index = item + len(self) if item < 0 else item
        if not 0 <= index < len(self):
            raise IndexError(f"host index {item} of {len(self)} hosts")
        return self._fabric.host_at(index)


@dataclass(frozen=True)
class Fabric:
    """A fabric as a frozen value. Names that the fabric does not have raise TopologyError."""

    spec: FabricSpec

    # -- dimensions ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def dscp(self) -> DscpMap:
        return self.spec.dscp

    @property
    def nic_count(self) -> int:
        return self.spec.t0s * self.spec.nics_per_t0

    @property
    def switch_count(self) -> int:
        return self.spec.planes * (self.spec.t0s + self.spec.t1s)

    @property
    def link_count(self) -> int:
        return self.spec.planes * self.spec.t0s * (self.spec.nics_per_t0 + self.spec.t1s)

    @property
    def nic_rate_bps(self) -> int:
        """Rate of one NIC port, that is of a NIC on one plane, in bit/s."""
        return _bps(self.spec.rate_gbps.nic_t0)

    @property
    def uplink_rate_bps(self) -> int:
        """Rate of one T0–T1 link in bit/s."""
        return _bps(self.spec.rate_gbps.t0_t1)

    # -- hosts --------------------------------------------------------------------------------

    @property
    def hosts(self) -> Hosts:
        return Hosts(self)

    def host_at(self, index: int) -> Host:
        """The host with a 0-based index; its address is nic_prefix and the number of its name."""
        t0, downlink = divmod(index, self.spec.nics_per_t0)
        address = int(self.spec.nic_prefix.network_address) + index + 1
        return Host(names.host_name(index), index, t0, downlink, address.to_bytes(16, "big"))

    def index_of(self, address: bytes) -> int | None:
        """The index of the host with a 16-byte address; None when no host has it."""
        first = int.from_bytes(self.host_at(0).address, "big")
        index = int.from_bytes(address, "big") - first
        return index if len(address) == 16 and 0 <= index < self.nic_count else None

    def host(self, name: str) -> Host:
        """The host called `name`."""
        index = names.parse_host(name)
        if index is None or index >= self.nic_count:
            raise TopologyError(f"{self.name} has no host {name!r} (h1..h{self.nic_count})")
        return self.host_at(index)

    # -- switches -----------------------------------------------------------------------------

    def switch_at(self, plane: int, tier: int, index: int) -> SwitchNode:
        """The switch with these coordinates (0-based; not checked against the dimensions)."""
        code = sids.TIER_T1 if tier else sids.TIER_T0
        name = names.switch_name(plane, tier, index)
        return SwitchNode(name, plane, tier, index, sids.usid(plane, code, index))

    def switch(self, name: str) -> SwitchNode:
        """The switch called `name`."""
        place = names.parse_switch(name)
        if place is not None:
            plane, tier, index = place
            size = self.spec.t1s if tier else self.spec.t0s
            if plane < self.spec.planes and index < size:
                return self.switch_at(plane, tier, index)
        t0, t1 = names.letters(self.spec.t0s - 1), names.letters(self.spec.t1s - 1)
        raise TopologyError(
            f"{self.name} has no switch {name!r}: names are p{{plane}}t0{{a..{t0}}} and "
            f"p{{plane}}t1{{a..{t1}}} on planes 0..{self.spec.planes - 1}"
        )

    def switches(self) -> Iterator[SwitchNode]:
        """All switches: by plane, T0s before T1s, by index."""
        for plane in range(self.spec.planes):
            for tier, size in ((0, self.spec.t0s), (1, self.spec.t1s)):
                for index in range(size):
                    yield self.switch_at(plane, tier, index)

    # -- ports and links ----------------------------------------------------------------------

    def ports(self, node: str) -> range:
        """Port numbers of a node: a NIC's are its planes (from 0), a switch's start at 1."""
        if names.parse_host(node) is not None:
            self.host(node)
            return range(self.spec.planes)
        return self.switch_ports(self.switch(node))

    def switch_ports(self, switch: SwitchNode) -> range:
        """Ports of a switch. T0: downlinks 1..nics_per_t0, then uplinks; T1: one per T0."""
        spec = self.spec
        return range(1, 1 + (spec.t0s if switch.tier else spec.nics_per_t0 + spec.t1s))

    def faces_nic(self, switch: SwitchNode, port: int) -> bool:
        """Whether a switch's port is the last hop to a NIC."""
        return switch.tier == 0 and port <= self.spec.nics_per_t0

    def downlink_port(self, downlink: int) -> int:
        """The T0 port to its NIC `downlink` (0-based)."""
        return 1 + downlink

    def uplink_port(self, t1: int) -> int:
        """The T0 port to the T1 with index `t1`."""
        return 1 + self.spec.nics_per_t0 + t1

    def t1_port(self, t0: int) -> int:
        """The T1 port to the T0 with index `t0`."""
        return 1 + t0

    def link_at(self, node: str, port: int) -> Link:
        """The link on a port of a node."""
        host = names.parse_host(node)
        if port not in self.ports(node):
            raise TopologyError(f"{node} has no port {port} ({_span(self.ports(node))})")
        if host is not None:
            return self._nic_link(host, port)
        switch = self.switch(node)
        if switch.tier:
            return self._uplink(switch.plane, port - 1, switch.index)
        if port <= self.spec.nics_per_t0:
            nic = switch.index * self.spec.nics_per_t0 + port - 1
            return self._nic_link(nic, switch.plane)
        return self._uplink(switch.plane, switch.index, port - 1 - self.spec.nics_per_t0)

    def link(self, name: str) -> Link:
        """The link called `name`, lower tier first."""
        a, b = names.split_link(name)
        for port in self.ports(a):
            found = self.link_at(a, port)
            if found.b == b and found.a == a:
                return found
        raise TopologyError(f"{self.name} has no link {name!r} (lower tier first, like h1-p0t0a)")

    def links(self) -> Iterator[Link]:
        """All links: by plane, NIC links by NIC, then T0–T1 links by T0 and T1."""
        for plane in range(self.spec.planes):
            for nic in range(self.nic_count):
                yield self._nic_link(nic, plane)
            for t0 in range(self.spec.t0s):
                for t1 in range(self.spec.t1s):
                    yield self._uplink(plane, t0, t1)

    def neighbour(self, node: str, port: int) -> PortRef:
        """The node and port at the far end of a port's link."""
        link = self.link_at(node, port)
        return PortRef(link.b, link.b_port) if link.a == node else PortRef(link.a, link.a_port)

    def mac(self, node: str, port: int) -> bytes:
        """The 6-byte MAC address of a port."""
        if port not in self.ports(node):
            raise TopologyError(f"{node} has no port {port} ({_span(self.ports(node))})")
        host = names.parse_host(node)
        if host is not None:
            return names.host_mac(host, port)
        switch = self.switch(node)
        return names.switch_mac(switch.plane, switch.tier, switch.index, port)

    def _nic_link(self, nic: int, plane: int) -> Link:
        t0, downlink = divmod(nic, self.spec.nics_per_t0)
        return Link(
            a=names.host_name(nic),
            a_port=plane,
            b=names.switch_name(plane, 0, t0),
            b_port=self.downlink_port(downlink),
            rate_bps=self.nic_rate_bps,
            delay_ns=self.spec.delay_ns.nic_t0,
            tier="nic_t0",
        )

    def _uplink(self, plane: int, t0: int, t1: int) -> Link:
        return Link(
            a=names.switch_name(plane, 0, t0),
            a_port=self.uplink_port(t1),
            b=names.switch_name(plane, 1, t1),
            b_port=self.t1_port(t0),
            rate_bps=self.uplink_rate_bps,
            delay_ns=self.spec.delay_ns.t0_t1,
            tier="t0_t1",
        )

    # -- SIDs and paths -----------------------------------------------------------------------

    @cached_property
    def sid_block(self) -> int:
        """The 32-bit SID block."""
        return int(self.spec.sid_block.network_address) >> 96

    def nic_usid(self, plane: int, nic: int) -> int:
        """The uSID of a NIC on a plane, unique within its T0 there."""
        return sids.usid(plane, sids.TIER_NIC, nic % self.spec.nics_per_t0)

    def adjacency_usid(self, plane: int, port: int) -> int:
        """The uSID of a switch's adjacency (uA) by `port`, unique within the switch."""
        return sids.usid(plane, sids.TIER_ADJ, port)

    def paths(self, src: int, dst: int) -> int:
        """How many paths lead from NIC `src` to NIC `dst` (0-based): planes × T1s, or planes."""
        same_t0 = src // self.spec.nics_per_t0 == dst // self.spec.nics_per_t0
        return self.spec.planes * (1 if same_t0 else self.spec.t1s)

    def path_template(self, src: int, dst: int) -> sids.PathTemplate:
        """Addresses from NIC `src` to NIC `dst` (0-based), src = dst being the loop by its T0."""
        there = self.host_at(dst)
        src_t0 = src // self.spec.nics_per_t0
        return sids.PathTemplate.between(self.sid_block, src_t0, there.t0, there.downlink)

    def loop_template(self, nic: int, *, by_t1: bool) -> sids.PathTemplate:
        """Addresses from a NIC to its T0, or by a T1, and back to itself (link probes, P1 5)."""
        host = self.host_at(nic)
        make = sids.PathTemplate.over_t1 if by_t1 else sids.PathTemplate.between
        return make(self.sid_block, host.t0, host.t0, host.downlink)

    def evs(self, src: int, dst: int) -> dict[int, tuple[int, ...]]:
        """One EV (entropy 0) for each path from NIC `src` to NIC `dst`, by plane."""
        uplinks = self.paths(src, dst) // self.spec.planes
        return {
            plane: tuple(sids.ev_pack(plane, uplink) for uplink in range(uplinks))
            for plane in range(self.spec.planes)
        }

    # -- time and queues ----------------------------------------------------------------------

    def base_rtt_ns(self, path_mtu: int | None = None, *, same_t0: bool = False) -> int:
        """Unloaded round trip in ns of a full data frame and its SACK on the longest path.

        `path_mtu` in payload bytes, the fabric's own by default. The longest path is NIC–T0–T1–
        T0–NIC; with `same_t0`, or when there is one T0 only, NIC–T0–NIC.
        """
        nic = (self.nic_rate_bps, self.spec.delay_ns.nic_t0)
        uplink = (self.uplink_rate_bps, self.spec.delay_ns.t0_t1)
        hops = [nic, nic] if same_t0 or self.spec.t0s == 1 else [nic, uplink, uplink, nic]
        frame = timing.data_frame_bytes(path_mtu or self.spec.path_mtu)
        return timing.round_trip_ns(hops, frame, timing.SACK_FRAME_BYTES)

    @cached_property
    def bdp_bytes(self) -> int:
        """A plane's bandwidth-delay product: NIC port rate × base RTT, in bytes on the link."""
        return timing.bdp_bytes(self.nic_rate_bps, self.base_rtt_ns())

    def thresholds_packets(self) -> timing.Thresholds:
        """Queue thresholds and capacities in packets; `docs/fabric.md` has the formulas."""
        return timing.thresholds_packets(self.spec, self.bdp_bytes)


def _bps(gbps: float) -> int:
    return round(gbps * 1e9)


def _span(ports: range) -> str:
    return f"{ports.start}..{ports.stop - 1}"
