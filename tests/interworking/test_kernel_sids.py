# SPDX-License-Identifier: Apache-2.0
"""The P4 program's un and ua and the Linux kernel's End and End.X with NEXT-C-SID give the same
frames, in the embedded switch and in BMv2; where they do not, each does what is documented."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address

import pytest
from generated_packets import Generator
from kernel_node import neighbour_route
from one_node import KERNEL, OneNode, Result
from outer_frames import SOURCE, Left, Outer
from sid_cases import (
    ALIKE,
    DIFFERENT,
    IN_PORT,
    NIC1,
    NIC2,
    OWN,
    T0B,
    T1A,
    T1B,
    UA1,
    UA2,
    UA4,
    UNKNOWN,
    address,
)

from testbed.mininet.interfaces import interface_name
from topologies import Fabric

pytestmark = pytest.mark.root

PROGRAM_RUNS_ON = ["soft", pytest.param("bmv2", marks=pytest.mark.bmv2)]
EVERYWHERE = [KERNEL, *PROGRAM_RUNS_ON]


def test_the_sids_of_these_cases_are_those_of_the_fabric(fabric: Fabric) -> None:
    node = OneNode(KERNEL, fabric, "p0t0a", None)
    assert (node.own, *map(node.adjacency, (1, 2, 4))) == (OWN, UA1, UA2, UA4)
    assert tuple(map(node.neighbour, (1, 2, 3, 4))) == (NIC1, NIC2, T1A, T1B)
    assert fabric.switch("p0t0b").usid == T0B and fabric.sid_block == 0x5F000000


# -- what both define ----------------------------------------------------------------------------


def told(results: list[Result | None]) -> list[Left | None]:
    return [result and Left.read(*result) for result in results]


def unchanged_but(frame: bytes, result: Result, node: OneNode) -> bytes:
    """The frame with what a hop must change taken from `result`, the MACs from the fabric."""
    port, got = result
    far = node.fabric.neighbour(node.switch, port)
    macs = node.fabric.mac(far.node, far.port) + node.fabric.mac(node.switch, port)
    want = bytearray(macs + frame[12:])
    want[21] -= 1
    want[38:54] = got[38:54]
    if frame[20] == 43:
        want[57] = got[57]
    return bytes(want)


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_each_case_gives_what_the_rfcs_say(kind: str, node_of: Callable[[str], OneNode]) -> None:
    node = node_of(kind)
    frames = node.frames([packet for packet, _ in ALIKE.values()], IN_PORT)
    results = node.exchange(frames, IN_PORT)
    assert dict(zip(ALIKE, told(results), strict=True)) == {
        name: left for name, (_, left) in ALIKE.items()
    }
    for frame, result in zip(frames, results, strict=True):
        assert result is None or result[1] == unchanged_but(frame, result, node)


@pytest.mark.parametrize("kind", PROGRAM_RUNS_ON)
def test_generated_packets_leave_alike(kind: str, node_of: Callable[[str], OneNode]) -> None:
    kernel, program = node_of(KERNEL), node_of(kind)
    generator = Generator(9800)
    packets = [generator.packet() for _ in range(1500)]
    frames = [generator.cut(frame) for frame in kernel.frames(packets, IN_PORT)]
    theirs, ours = kernel.exchange(frames, IN_PORT), program.exchange(frames, IN_PORT)
    for packet, their, our in zip(packets, theirs, ours, strict=True):
        assert our == their, f"{IPv6Address(packet.destination)} {packet}"
    for port in program.ports:
        assert sum(result is not None and result[0] == port for result in ours) > 50
    assert ours.count(None) > 300
    taken = [p for p, o in zip(packets, ours, strict=True) if o and p.segments and o[1][57] == 0]
    assert sum(packet.segments_left for packet in taken) > 50


def test_every_traffic_class_and_hop_limit_alike(node_of: Callable[[str], OneNode]) -> None:
    kernel, program = node_of(KERNEL), node_of("soft")
    packets = [
        Outer(address(*usids), traffic_class=value, hop_limit=255 - value)
        for usids in ((OWN, NIC1), (UA4, NIC1))
        for value in range(256)
    ]
    frames = kernel.frames(packets, IN_PORT)
    theirs, ours = kernel.exchange(frames, IN_PORT), program.exchange(frames, IN_PORT)
    assert ours == theirs
    for packet, result in zip(packets, ours, strict=True):
        assert (result is None) == (packet.hop_limit < 2)


# -- where they differ ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_each_documented_difference(kind: str, node_of: Callable[[str], OneNode]) -> None:
    node = node_of(kind)
    frames = node.frames([packet for packet, _, _ in DIFFERENT.values()], IN_PORT)
    results = told(node.exchange(frames, IN_PORT))
    column = 1 if kind == KERNEL else 2
    assert dict(zip(DIFFERENT, results, strict=True)) == {
        name: case[column] for name, case in DIFFERENT.items()
    }


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_bytes_behind_the_packet(kind: str, node_of: Callable[[str], OneNode]) -> None:
    """The kernel leaves padding out, a switch knows nothing of it."""
    node = node_of(kind)
    frames = node.frames([Outer(address(OWN, NIC1), ip_length=10)], IN_PORT)
    (result,) = node.exchange(frames, IN_PORT)
    assert result is not None and frames[0].endswith(result[1][54:])
    assert len(result[1]) == (54 + 10 if kind == KERNEL else len(frames[0]))


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_who_answers_with_icmp(kind: str, node_of: Callable[[str], OneNode]) -> None:
    """A kernel that has an address and a route back tells the sender; a switch never does."""
    node = node_of(kind)
    source, own_address = f"{IPv6Address(SOURCE)}/128", "fd4d:5243::ffff/128"
    device = ["dev", interface_name(node.switch, IN_PORT)]
    if kind == KERNEL:
        node.namespace.run(neighbour_route(source, node.switch, IN_PORT))
        node.namespace.run(["ip", "-6", "addr", "add", own_address, *device, "nodad"])
    try:
        packets = [Outer(address(OWN, NIC1), hop_limit=1), Outer(address(OWN, UNKNOWN))]
        frames = node.frames(packets, IN_PORT)
        answers = [node.all_that_comes(frame, IN_PORT) for frame in frames]
    finally:
        if kind == KERNEL:
            node.namespace.run(["ip", "-6", "addr", "del", own_address, *device])
            node.namespace.run(["ip", "-6", "route", "del", source])
    if kind != KERNEL:
        assert answers == [[], []]
        return
    # Time exceeded, and destination unreachable: no route (RFC 4443).
    for answer, told_type in zip(answers, (b"\x03\x00", b"\x01\x00"), strict=True):
        ((port, frame),) = answer
        assert port == IN_PORT and frame[38:54] == SOURCE.to_bytes(16, "big")
        assert (frame[20], frame[54:56]) == (58, told_type)
