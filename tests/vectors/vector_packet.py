# SPDX-License-Identifier: Apache-2.0
"""One golden packet: bytes packed by the codecs, and a description made from the same values.

A field's value in the description never comes from the bytes: it comes from what was to be sent,
and its place from vector_layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from vector_layout import SIGNED, fields_of

from endpoint.wire.aeth import Aeth
from endpoint.wire.bth import Bth
from endpoint.wire.dscp import DscpMap
from endpoint.wire.endpoint_message import EndpointRequest, EndpointResponse
from endpoint.wire.ethernet import Ethernet
from endpoint.wire.icrc import icrc, pack_icrc
from endpoint.wire.ipv6 import ECN_ECT0, NEXT_IPV6, NEXT_ROUTING, NEXT_UDP, Ipv6
from endpoint.wire.meth import Meth
from endpoint.wire.nack import Nack
from endpoint.wire.probe import Probe
from endpoint.wire.reth import ImmDt, Reth
from endpoint.wire.sack import Sack
from endpoint.wire.srh import Srh
from endpoint.wire.tseth import Tseth
from endpoint.wire.udp import PORT, Udp
from topologies.sids import PathTemplate

DSCP = DscpMap(no_trim=0, trimmable=4, trimmable_retx=8, trimmed=12, trimmed_lasthop=16, control=46)

QP = 0x000123
EV = 0xC0DE4A17
"""Plane 2, uplink 23."""
SOURCE = bytes.fromhex("fd000000000000000000000000000001")
DESTINATION = bytes.fromhex("fd000000000000000000000000000002")
MACS = Ethernet(bytes.fromhex("020000000101"), bytes.fromhex("020000000001"))
PATHS = PathTemplate.between(0x5F000000, src_t0=0, dst_t0=1, dst_downlink=1)

_LAYOUT_OF = {
    Ethernet: "ethernet", Srh: "srh", Udp: "udp", Bth: "bth", Meth: "meth", Tseth: "tseth",
    Reth: "reth", ImmDt: "immdt", Aeth: "aeth", Nack: "neth", Probe: "peth",
    EndpointRequest: "erth", EndpointResponse: "eeth",
}  # fmt: skip

# Fields that a codec writes without being told. Reserved bits are 0.
_CONSTANTS = {
    "outer_ipv6.version": 6, "ipv6.version": 6, "srh.header_length": 2, "srh.routing_type": 4,
    "srh.last_entry": 0, "bth.version": 0, "tseth.type": 1, "peth.type": 1, "erth.type": 1,
    "seth.type": 0, "neth.cc_type": 2,
}  # fmt: skip


class Field(NamedTuple):
    """A field as README.md describes it."""

    name: str
    offset: int
    bit: int
    width: int
    type: str
    value: int | str


@dataclass(frozen=True)
class Net:
    """How a packet is sent, and what the network did to it on its way.

    ``outer_*``, ``cut`` (bytes left of the frame) and ``corrupt`` (XOR to the ICRC) are the
    network's doing; None leaves the packet as it was sent.
    """

    dscp: int = DSCP.trimmable
    ecn: int = ECN_ECT0
    ev: int = EV
    route: bytes | None = None
    srh: Srh | None = None
    udp_port: int = PORT
    outer_dscp: int | None = None
    outer_ecn: int | None = None
    outer_hop_limit: int = 64
    cut: int | None = None
    corrupt: int = 0


DATA = Net()
CONTROL = Net(dscp=DSCP.control, ecn=0)


@dataclass(frozen=True)
class Golden:
    """One packet and everything that is to be said about it."""

    name: str
    about: str
    frame: bytes
    fields: list[Field]
    facts: dict[str, Any]


def packet(
    name: str, about: str, *headers: NamedTuple, payload: bytes = b"", net: Net = DATA
) -> Golden:
    """The packet with these headers from the BTH on; pad count and TS flag follow from them."""
    bth = headers[0]
    assert isinstance(bth, Bth)
    pad = bytes(-len(payload) & 3)
    has_tseth = any(isinstance(header, Tseth) for header in headers)
    bodies = [bth._replace(pad_count=len(pad), ts=has_tseth), *headers[1:]]
    body = b"".join(header.pack() for header in bodies) + payload + pad
    udp_length = 8 + len(body) + 4
    label = net.ev & 0xFFFF
    inner = Ipv6(SOURCE, DESTINATION, NEXT_UDP, udp_length, net.dscp, net.ecn, label)
    udp = Udp(net.ev >> 16, net.udp_port, udp_length)
    checked = inner.pack() + udp.pack() + body
    crc = pack_icrc(icrc(checked) ^ net.corrupt)
    outer = inner._replace(
        destination=PATHS.address_of_ev(net.ev) if net.route is None else net.route,
        next_header=NEXT_IPV6 if net.srh is None else NEXT_ROUTING,
        payload_length=(0 if net.srh is None else 24) + 40 + udp_length,
        dscp=net.dscp if net.outer_dscp is None else net.outer_dscp,
        ecn=net.ecn if net.outer_ecn is None else net.outer_ecn,
        hop_limit=net.outer_hop_limit,
    )
    routing = [] if net.srh is None else [net.srh]
    front = b"".join(header.pack() for header in (MACS, outer, *routing))
    whole = front + checked + crc
    named = [
        *_named(MACS), ("outer_ipv6", outer._asdict()), *[n for r in routing for n in _named(r)],
        ("ipv6", inner._asdict()), *_named(udp), *[n for b in bodies for n in _named(b)],
    ]  # fmt: skip
    tail = [("payload", payload), ("pad", pad), ("icrc", crc)]
    frame = whole[: net.cut]
    return Golden(name, about, frame, _fields(named, tail, frame), _facts(net, outer, whole))


def _named(header: NamedTuple) -> list[tuple[str, dict[str, Any]]]:
    """Layouts of a codec's value; a SACK is two headers."""
    values = header._asdict()
    if isinstance(header, Sack):
        pr = header.probe_id is not None
        return [("seth of a probe" if pr else "seth", values | {"pr": pr}), ("cc_state", values)]
    return [(_LAYOUT_OF[type(header)], values)]


def _facts(net: Net, outer: Ipv6, whole: bytes) -> dict[str, Any]:
    cut = net.cut is not None and net.cut < len(whole)
    return {
        "ev": net.ev,
        "trimmed": cut or outer.dscp in (DSCP.trimmed, DSCP.trimmed_lasthop),
        "last_hop": outer.dscp == DSCP.trimmed_lasthop,
        "cut": cut,
        "marked": outer.ecn == 3,
        "icrc": "absent" if cut else "invalid" if net.corrupt else "valid",
    }


def _fields(
    headers: list[tuple[str, dict[str, Any]]], tail: list[tuple[str, bytes]], frame: bytes
) -> list[Field]:
    """Every field that is there as a whole, and what a cut left of the next one."""
    found: list[Field] = []
    at = 0
    for name, width, value in _values(headers, tail):
        left = len(frame) * 8 - at
        if width <= left:
            found.append(_field(name, at, width, value))
        elif left:
            what = name if name == "payload" else "cut"
            found.append(_field(what, at, left, frame[at // 8 :]))
        if width >= left:
            break
        at += width
    return found


def _values(
    headers: list[tuple[str, dict[str, Any]]], tail: list[tuple[str, bytes]]
) -> Iterator[tuple[str, int, Any]]:
    """Name, width and value of every field of the packet before any cut."""
    for layout, values in headers:
        header = layout.split(" ")[0]
        for field_name, width in fields_of(layout):
            name = f"{header}.{field_name}"
            if field_name.startswith("reserved"):
                yield name, width, 0
            else:
                yield name, width, values.get(field_name, _CONSTANTS.get(name))
    for name, raw in tail:
        if raw:
            yield name, len(raw) * 8, raw


def _field(name: str, first: int, width: int, value: int | bytes) -> Field:
    """The field as JSON has it: numbers to 32 bits, anything wider as hexadecimal digits."""
    if isinstance(value, bytes):
        kind, shown = "hex", value.hex()
    elif width > 32:
        kind, shown = "hex", f"{value:0{width // 4}x}"
    else:
        kind, shown = "int" if name in SIGNED else "uint", int(value)
    return Field(name, first // 8, first % 8, width, kind, shown)
