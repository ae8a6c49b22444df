# SPDX-License-Identifier: Apache-2.0
"""Every EV of every pair leads through the computed tables to the right NIC, by the right T1."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller import tables
from topologies import Fabric, SwitchNode, load, sids
from topologies.clos import generate

USID_AREA = (1 << 96) - 1


@dataclass
class Arrival:
    """Where a walk ended: host, its port, the switches passed, address and MAC on arrival."""

    host: str
    port: int
    switches: list[str]
    address: int
    dmac: int


class NoWayError(Exception):
    """A switch had no entry for the address."""


class Walker:
    """NEXT-C-SID (RFC 9800) over the controller's entries, written from the RFC, not from P4."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.lookup = cache(self._load)

    def _load(self, name: str) -> dict[str, dict[tuple[tables.Match, ...], tables.TableEntry]]:
        found: dict[str, dict[tuple[tables.Match, ...], tables.TableEntry]] = {}
        for entry in tables.switch_entries(self.fabric, name):
            found.setdefault(entry.table, {})[entry.match] = entry
        return found

    def walk(self, src: str, plane: int, address: bytes) -> Arrival:
        value = int.from_bytes(address, "big")
        node, _ = self.fabric.neighbour(src, plane)
        passed: list[str] = []
        while True:
            passed.append(node)
            assert len(passed) < 8, f"loop: {passed}"
            value, (port, smac, dmac) = self._hop(node, value)
            assert smac == int.from_bytes(self.fabric.mac(node, port), "big")
            node_port = self.fabric.neighbour(node, port)
            node = node_port.node
            if node.startswith("h"):
                return Arrival(node, node_port.port, passed, value, dmac)

    def _hop(self, name: str, value: int) -> tuple[int, tuple[int, ...]]:
        known = self.lookup(name)
        own = known[tables.MY_SID].get((value >> 80,))
        if own is None:
            raise NoWayError(f"{name} does not own {value:032x}")
        value = (value & ~USID_AREA) | (value << 16 & USID_AREA)
        if own.action == tables.UA:
            return value, own.params
        adjacency = known[tables.MY_ADJACENCY].get((value >> 80,))
        if adjacency is not None:
            return (value & ~USID_AREA) | (value << 16 & USID_AREA), adjacency.params
        return value, self._longest_match(known[tables.FIB], name, value)

    @staticmethod
    def _longest_match(
        fib: dict[tuple[tables.Match, ...], tables.TableEntry], name: str, value: int
    ) -> tuple[int, ...]:
        for length in range(128, -1, -1):
            prefix = value >> 128 - length << 128 - length
            entry = fib.get(((prefix, length),))
            if entry is not None:
                return entry.params
        raise NoWayError(f"{name} has no route to {value:032x}")


def check_path(walker: Walker, src: int, dst: int, ev: int) -> None:
    fabric = walker.fabric
    plane, uplink = sids.ev_plane(ev), sids.ev_uplink(ev)
    here, there = fabric.hosts[src], fabric.hosts[dst]
    arrival = walker.walk(here.name, plane, fabric.path_template(src, dst).address_of_ev(ev))
    assert (arrival.host, arrival.port) == (there.name, plane)
    assert arrival.dmac == int.from_bytes(fabric.mac(there.name, plane), "big")
    # What is left is the block and the NIC's own uSID.
    assert arrival.address == sids.address_int(fabric.sid_block, fabric.nic_usid(plane, dst))
    wanted = [fabric.switch_at(plane, 0, here.t0)]
    if here.t0 != there.t0:
        wanted += [fabric.switch_at(plane, 1, uplink), fabric.switch_at(plane, 0, there.t0)]
    assert arrival.switches == [switch.name for switch in wanted]


@pytest.mark.fact("srv6.path")
@pytest.mark.parametrize("preset", ["tiny", "demo", "eight-plane", "rack16"])
def test_every_pair_and_ev_of_a_preset(preset: str) -> None:
    fabric = load(preset)
    walker = Walker(fabric)
    walks = 0
    for src in range(fabric.nic_count):
        for dst in range(fabric.nic_count):
            for evs in fabric.evs(src, dst).values():
                for ev in evs:
                    check_path(walker, src, dst, ev)
                    walks += 1
    assert walks == sum(
        fabric.paths(src, dst) for src in range(fabric.nic_count) for dst in range(fabric.nic_count)
    )


@pytest.mark.fact("srv6.ev")
@given(
    st.tuples(st.integers(1, 8), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9)),
    st.data(),
)
@settings(deadline=None, max_examples=60)
def test_any_pair_and_ev_of_any_fabric(
    dimensions: tuple[int, int, int, int], data: st.DataObject
) -> None:
    planes, t0s, t1s, nics = dimensions
    fabric = Fabric(generate("any", planes=planes, t0s=t0s, t1s=t1s, nics_per_t0=nics))
    index = st.integers(0, fabric.nic_count - 1)
    ev = sids.ev_pack(
        data.draw(st.integers(0, planes - 1)),
        data.draw(st.integers(0, t1s - 1)),
        data.draw(st.integers(0, 2**19 - 1)),
    )
    check_path(Walker(fabric), data.draw(index), data.draw(index), ev)


def test_far_ends_of_the_largest_fabric() -> None:
    fabric = load("mrc-131072")
    rng = random.Random(7)
    walker = Walker(fabric)
    last = fabric.nic_count - 1
    pairs = [(0, last), (last, 0), (255, 256), (0, 255)]
    pairs += [(rng.randrange(last), rng.randrange(last)) for _ in range(6)]
    for src, dst in pairs:
        check_path(walker, src, dst, sids.ev_pack(rng.randrange(8), rng.randrange(256)))


@pytest.mark.fact("map.loops")
@pytest.mark.parametrize("by_t1", [False, True])
def test_loops_return_to_the_nic_that_sent_them(by_t1: bool) -> None:
    fabric = load("demo")
    walker = Walker(fabric)
    for host in fabric.hosts:
        for plane in range(4):
            for uplink in range(4):
                path = fabric.loop_template(host.index, by_t1=by_t1)
                arrival = walker.walk(host.name, plane, path.address(plane, uplink))
                assert (arrival.host, arrival.port) == (host.name, plane)
                t0 = fabric.switch_at(plane, 0, host.t0).name
                t1 = fabric.switch_at(plane, 1, uplink).name
                assert arrival.switches == ([t0, t1, t0] if by_t1 else [t0])


def _switches(preset: str) -> list[SwitchNode]:
    return list(load(preset).switches())


@pytest.mark.fact("srv6.ua")
@pytest.mark.parametrize("switch", _switches("tiny"), ids=lambda switch: switch.name)
def test_adjacencies_leave_by_their_port_with_and_without_the_un_before(switch: SwitchNode) -> None:
    fabric = load("tiny")
    known = Walker(fabric)
    for port in fabric.switch_ports(switch):
        adjacency = fabric.adjacency_usid(switch.plane, port)
        rest = 0xABCD
        for head in ([switch.usid, adjacency], [adjacency]):
            address = sids.address_int(fabric.sid_block, *head, rest)
            left, params = known._hop(switch.name, address)
            assert params[0] == port
            assert left == sids.address_int(fabric.sid_block, rest)


def test_an_address_of_another_plane_or_t0_goes_nowhere() -> None:
    fabric = load("demo")
    walker = Walker(fabric)
    path = fabric.path_template(0, 7)
    with pytest.raises(NoWayError, match="p0t0a does not own"):
        walker.walk("h1", 0, path.address(1, 0))
    with pytest.raises(NoWayError, match="p0t0b does not own"):
        walker.walk("h8", 0, path.address(0, 0))
    with pytest.raises(NoWayError, match="p0t0a has no route"):
        walker.walk("h1", 0, path.address(0, 9))
