# SPDX-License-Identifier: Apache-2.0
"""Switches installed over P4Runtime carry packets of every path to their NIC, and count them."""

import pytest
from install_support import TIMEOUTS

from controller.client import SwitchSession
from controller.counters import read_counters
from controller.tables import FIB

ETHERNET_BYTES = 14
DROP_NO_ROUTE = 4


def frame(source, destination):
    """An outer IPv6 packet without payload to the 16-byte address `destination`."""
    ipv6 = b"\x60\0\0\0" + bytes(2) + bytes([59, 64]) + source + destination
    return bytes(12) + b"\x86\xdd" + ipv6


def walk(installation, host, plane, packet):
    """Follow the packet by the switches' own pipelines; the place where it ends, and the hops."""
    fabric = installation.fabric
    place = fabric.neighbour(host.name, plane)
    passed = []
    while place.node in installation.devices:
        passed.append(place.node)
        switch = installation.devices[place.node].switch
        outcome = switch.ingress(place.port, packet, 0)
        if not outcome:
            return None, passed
        ((port, _, queued),) = outcome
        packet = switch.egress(queued, 0)
        place = fabric.neighbour(place.node, port)
        assert packet[:6] == fabric.mac(place.node, place.port)
    return place, passed


@pytest.fixture
def installed(installation):
    assert installation.install().errors == ()
    return installation


def test_every_path_of_every_pair_arrives(installed):
    fabric = installed.fabric
    for source in fabric.hosts:
        for target in fabric.hosts:
            if source.index == target.index:
                continue
            template = fabric.path_template(source.index, target.index)
            for plane in range(fabric.spec.planes):
                for uplink in range(fabric.spec.t1s if template.has_uplinks else 1):
                    packet = frame(source.address, template.address(plane, uplink))
                    place, passed = walk(installed, source, plane, packet)
                    assert (place.node, place.port) == (target.name, plane)
                    assert len(passed) == (3 if template.has_uplinks else 1)


def test_entry_deleted_behind_the_controller_shows_as_no_route_until_repaired(installed):
    fabric = installed.fabric
    source, target = fabric.hosts[0], fabric.hosts[-1]
    address = fabric.path_template(source.index, target.index).address(0, 0)
    packet = frame(source.address, address)
    _, passed = walk(installed, source, 0, packet)
    table = installed.table(passed[0], FIB)
    for entry in table.entries():
        table.delete(entry.key)
    place, stopped = walk(installed, source, 0, packet)
    assert (place, stopped) == (None, passed[:1])
    p4info = installed.pipeline.p4info
    with SwitchSession(installed.targets[passed[0]], timeouts=TIMEOUTS) as session:
        drops = read_counters(session, p4info, ["MrcIngress.drops"])["MrcIngress.drops"]
    assert {index: cell.packets for index, cell in drops.items() if cell.packets} == {
        DROP_NO_ROUTE: 1
    }
    assert drops[DROP_NO_ROUTE].bytes == ETHERNET_BYTES + 40
    assert installed.install().errors == ()
    place, again = walk(installed, source, 0, packet)
    assert (place.node, again) == (target.name, passed)
