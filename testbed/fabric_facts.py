# SPDX-License-Identifier: Apache-2.0
"""What people ask about a fabric, gathered from its description; nothing is built for it whole."""

from __future__ import annotations

from dataclasses import asdict
from ipaddress import IPv6Address

from pydantic import BaseModel

from controller.limits import not_installable
from topologies import Fabric
from topologies.names import host_name, switch_name
from topologies.sids import ev_pack


class SidRange(BaseModel):
    """First and last node of a tier on a plane, with their 16-bit uSIDs."""

    tier: str
    plane: int
    first: str
    first_usid: int
    last: str
    last_usid: int


class PathExample(BaseModel):
    """One path: its hops, the destination address that spells it, and its EV."""

    source: str
    destination: str
    hops: list[str]
    address: str
    ev: int


class FabricFacts(BaseModel):
    """Dimensions, times (ns), thresholds (packets), SIDs. ``paths_…``: paths of a pair of NICs."""

    name: str
    planes: int
    t0s_per_plane: int
    t1s_per_plane: int
    nics_per_t0: int
    nics: int
    switches: int
    links: int
    nic_t0_gbps: float
    t0_t1_gbps: float
    nic_t0_delay_ns: int
    t0_t1_delay_ns: int
    path_mtu: int
    trim_length: int
    base_rtt_ns: int
    bdp_bytes: int
    thresholds_packets: dict[str, int]
    paths_across_t0s: int
    paths_within_t0: int
    sid_block: str
    sids: list[SidRange]
    example: PathExample
    dscp: dict[str, int]
    not_installable: str | None
    """Why no v1model switch could hold it, if so."""


def facts(fabric: Fabric) -> FabricFacts:
    """The facts of one fabric."""
    spec = fabric.spec
    last = fabric.nic_count - 1
    return FabricFacts(
        name=spec.name,
        planes=spec.planes,
        t0s_per_plane=spec.t0s,
        t1s_per_plane=spec.t1s,
        nics_per_t0=spec.nics_per_t0,
        nics=fabric.nic_count,
        switches=fabric.switch_count,
        links=fabric.link_count,
        nic_t0_gbps=spec.rate_gbps.nic_t0,
        t0_t1_gbps=spec.rate_gbps.t0_t1,
        nic_t0_delay_ns=spec.delay_ns.nic_t0,
        t0_t1_delay_ns=spec.delay_ns.t0_t1,
        path_mtu=spec.path_mtu,
        trim_length=spec.trim_length,
        base_rtt_ns=fabric.base_rtt_ns(),
        bdp_bytes=fabric.bdp_bytes,
        thresholds_packets=asdict(fabric.thresholds_packets()),
        paths_across_t0s=spec.planes * spec.t1s if spec.t0s > 1 else 0,
        paths_within_t0=spec.planes,
        sid_block=str(spec.sid_block),
        sids=[row for plane in range(spec.planes) for row in _sids(fabric, plane)],
        example=_example(fabric, 0, last),
        dscp=spec.dscp.model_dump(),
        not_installable=not_installable(fabric),
    )


def _sids(fabric: Fabric, plane: int) -> list[SidRange]:
    spec = fabric.spec
    rows = []
    for tier, label, count in ((1, "T1", spec.t1s), (0, "T0", spec.t0s)):
        ends = [fabric.switch_at(plane, tier, index) for index in (0, count - 1)]
        rows.append(
            SidRange(
                tier=label,
                plane=plane,
                first=ends[0].name,
                first_usid=ends[0].usid,
                last=ends[1].name,
                last_usid=ends[1].usid,
            )
        )
    nics = (0, spec.nics_per_t0 - 1)
    rows.append(
        SidRange(
            tier="NIC of a T0",
            plane=plane,
            first=host_name(nics[0]),
            first_usid=fabric.nic_usid(plane, nics[0]),
            last=host_name(nics[1]),
            last_usid=fabric.nic_usid(plane, nics[1]),
        )
    )
    return rows


def _example(fabric: Fabric, source: int, destination: int) -> PathExample:
    plane, uplink = fabric.spec.planes - 1, fabric.spec.t1s - 1
    near, far = fabric.host_at(source), fabric.host_at(destination)
    hops = [switch_name(plane, 0, near.t0)]
    if near.t0 != far.t0:
        hops += [switch_name(plane, 1, uplink), switch_name(plane, 0, far.t0)]
    else:
        uplink = 0
    address = fabric.path_template(source, destination).address(plane, uplink)
    return PathExample(
        source=near.name,
        destination=far.name,
        hops=hops,
        address=str(IPv6Address(address)),
        ev=ev_pack(plane, uplink),
    )
