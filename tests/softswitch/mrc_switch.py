# SPDX-License-Identifier: Apache-2.0
"""A switch running the MRC program with one small set of tables, and packets for it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import p4src
from softswitch import Program, Switch, load_program

BLOCK = 0x5F000000
SID_UN, SID_UA, SID_NEXT, SID_ADJACENCY, SID_NIC = 0x1801, 0x0005, 0x1C02, 0x0006, 0x0803
PORT_FIB, PORT_UA, PORT_ADJACENCY, PORT_NIC = 5, 6, 7, 8
SMAC, DMAC = 0x020000000A01, 0x020000000B02
TRIM_AT, TRIM_LENGTH, ECN_MIN, ECN_MAX = 100, 142, 20, 80
NEVER = 0xFFFFFFFF
NO_TRIM, TRIMMABLE, TRIMMED, TRIMMED_LASTHOP, CONTROL = 0, 4, 12, 16, 46
DATA_QUEUE, TRIMMED_QUEUE, CONTROL_QUEUE = 0, 1, 2

DROP = {
    "parse": 1,
    "hop limit": 2,
    "no SID": 3,
    "no route": 4,
    "no profile": 5,
    "SRH": 6,
    "congestion": 7,
}
MY_SID = "MrcIngress.srv6.my_sid"
MY_ADJACENCY = "MrcIngress.srv6.my_adjacency"
FIB = "MrcIngress.srv6.fib"
CLASSES = "MrcIngress.queueing.classes"
PROFILE = "MrcIngress.queueing.queue_profile"
UN, UA, FORWARD = "MrcIngress.srv6.un", "MrcIngress.srv6.ua", "MrcIngress.srv6.forward"
SET_CLASS, SET_PROFILE = "MrcIngress.queueing.set_class", "MrcIngress.queueing.set_profile"


def mrc_program(change: Callable[[Any], None] | None = None) -> Program:
    """The compiled program, or a variant of it: ``change`` edits the JSON."""
    text = p4src.JSON.read_bytes()
    if change is not None:
        document = json.loads(text)
        change(document)
        text = json.dumps(document).encode()
    return load_program(text)


def sid_key(sid: int) -> int:
    return BLOCK << 16 | sid


def address(*sids: int) -> int:
    """Block and up to six uSIDs, filled with zeros."""
    value = BLOCK
    for sid in (*sids, 0, 0, 0, 0, 0, 0)[:6]:
        value = value << 16 | sid
    return value


def make_switch(program: Program | None = None, seed: int = 1) -> Switch:
    """A switch with entries for all SIDs, ports and classes above."""
    switch = Switch(program or mrc_program(), rng=random.Random(seed))
    tables = switch.tables
    tables[MY_SID].insert((sid_key(SID_UN),), UN, ())
    tables[MY_SID].insert((sid_key(SID_UA),), UA, (PORT_UA, SMAC, DMAC))
    tables[MY_ADJACENCY].insert((sid_key(SID_ADJACENCY),), UA, (PORT_ADJACENCY, SMAC, DMAC))
    for sid, port in ((SID_NEXT, PORT_FIB), (SID_NIC, PORT_NIC)):
        tables[FIB].insert(((sid_key(sid) << 80, 48),), FORWARD, (port, SMAC + port, DMAC + port))
    for dscp, queue, trimmable in (
        (NO_TRIM, DATA_QUEUE, 0),
        (TRIMMABLE, DATA_QUEUE, 1),
        (8, DATA_QUEUE, 1),
        (TRIMMED, TRIMMED_QUEUE, 0),
        (TRIMMED_LASTHOP, TRIMMED_QUEUE, 0),
        (CONTROL, CONTROL_QUEUE, 0),
    ):
        tables[CLASSES].insert((dscp,), SET_CLASS, (queue, trimmable))
    for port in (PORT_FIB, PORT_UA, PORT_ADJACENCY):
        profile = (TRIM_AT, TRIM_LENGTH, TRIMMED, ECN_MIN, ECN_MAX)
        tables[PROFILE].insert((port,), SET_PROFILE, profile)
    tables[PROFILE].insert(
        (PORT_NIC,), SET_PROFILE, (TRIM_AT * 3 // 2, TRIM_LENGTH, TRIMMED_LASTHOP, NEVER, NEVER)
    )
    return switch


def ipv6_text(value: int) -> str:
    return ":".join(f"{value >> shift & 0xFFFF:x}" for shift in range(112, -16, -16))


def packet(
    destination: int = address(SID_UN, SID_NEXT, 0x1803, SID_NIC),
    *,
    dscp: int = TRIMMABLE,
    ecn: int = 2,
    hop_limit: int = 64,
    payload: int = 300,
    segment: int | None = None,
    segments_left: int = 0,
) -> Ether:
    """Ethernet, outer IPv6, an SRH when ``segment`` is given, and bytes that count upwards."""
    layers = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IPv6(
        src="fd00::1", dst=ipv6_text(destination), hlim=hop_limit, tc=dscp << 2 | ecn, fl=0x12345
    )
    body = Raw(bytes(i & 0xFF for i in range(payload)))
    if segment is None:
        layers[IPv6].nh = 59
        return layers / body
    srh = IPv6ExtHdrSegmentRouting(
        addresses=[ipv6_text(segment)], segleft=segments_left, lastentry=0, nh=59
    )
    return layers / srh / body


def forward(switch: Switch, frame: bytes | Ether, port: int = 1) -> tuple[int, int, bytes] | None:
    """Through ingress and egress: (egress port, priority, frame), None when dropped."""
    sent = switch.ingress(port, bytes(frame), 0)
    if not sent:
        return None
    egress_port, priority, waiting = sent[0]
    data = switch.egress(waiting, 0)
    assert data is not None and len(waiting) == waiting.length == len(data)
    return egress_port, priority, data


def occupy(switch: Switch, port: int, packets: int) -> None:
    """Make the program see that many packets in a port's data queue."""
    switch.registers["enqueued"].write(port, packets)
    switch.registers["dequeued"].write(port, 0)


def drops(switch: Switch) -> dict[str, int]:
    """Packets dropped by reason, reasons without a drop left out."""
    counter = switch.counters["MrcIngress.drops"]
    return {reason: n for reason, i in DROP.items() if (n := counter.read(i)[0])}
