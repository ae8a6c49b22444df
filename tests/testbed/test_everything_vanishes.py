# SPDX-License-Identifier: Apache-2.0
"""All packets in flight vanish, twice in a row, and the transfer completes; long RTTs are true."""

from pathlib import Path
from typing import Any

import pytest

from testbed.run import run_scenario
from testbed.scenario import parse_scenario
from testbed.virtual.world import VirtualWorld

US = 1_000


def vanish(world: VirtualWorld) -> int:
    """Lose every frame on a link or in a queue, of switches and hosts; returns how many."""
    sinks = {d.deliver for wire in world.wires.values() for d in wire.directions}
    frames = [entry for entry in world.loop.heap if entry[2] in sinks]
    for entry in frames:
        world.loop.redirect(entry[2], lambda now, frame: None)
    gone = len(frames)
    for node in world.switches.values():
        for port in node.ports.values():
            gone += len(port.flush(world.loop.now))
    for host in world.hosts:
        for host_port in host.ports:
            gone += len(host_port.flush())
    return gone


class Vanishing:
    """Lets everything vanish at 20 µs, and again as soon as the repair of that is under way."""

    def __init__(self) -> None:
        self.gone: list[int] = []
        self.sent: list[int] = []
        self.world: VirtualWorld

    def prepare(self, world: VirtualWorld) -> None:
        self.world = world
        world.loop.at(20 * US, self.first, None)

    def repaired(self) -> int:
        return sum(flow.sender_qp.stats.retransmitted for flow in self.world.flows.flows)

    def first(self, now: int, _: Any) -> None:
        self.gone.append(vanish(self.world))
        self.world.loop.at(now + US, self.second, None)

    def second(self, now: int, _: Any) -> None:
        if self.repaired() < 3:
            self.world.loop.at(now + US // 2, self.second, None)
        else:
            self.gone.append(vanish(self.world))


@pytest.mark.fact("rel.vanish")
def test_all_in_flight_vanishes_twice_in_a_row_and_every_byte_arrives() -> None:
    scenario = parse_scenario(
        {
            "name": "vanish",
            "description": "d",
            "topology": "tiny",
            "duration": "50ms",
            "workload": {
                "kind": "permutation",
                "shift": 2,
                "message_bytes": "256KiB",
                "messages": 6,
            },
        },
        source="test",
    )
    vanishing = Vanishing()
    result = run_scenario(scenario, prepare=vanishing.prepare)
    assert len(vanishing.gone) == 2
    assert vanishing.gone[0] > 50
    assert vanishing.gone[1] > 0
    assert result.passed
    assert result.bytes_verified == 4 * 6 * (256 << 10)


FAR_APART = """
name: far-apart
planes: 2
t0s: 2
t1s: 2
nics_per_t0: 2
delay_ns: {nic_t0: 12500000, t0_t1: 12500000}
"""


def test_a_round_trip_of_100_ms_is_measured_as_100_ms(tmp_path: Path) -> None:
    fabric = tmp_path / "far-apart.yaml"
    fabric.write_text(FAR_APART)
    scenario = parse_scenario(
        {
            "name": "far-apart",
            "description": "d",
            "topology": str(fabric),
            "duration": "10s",
            "workload": {
                "kind": "one_write",
                "source": "h1",
                "destination": "h3",
                "message_bytes": "64KiB",
                "messages": 8,
            },
            "measure": {"bin": "10ms"},
        },
        source="test",
    )
    worlds: list[VirtualWorld] = []
    result = run_scenario(scenario, prepare=worlds.append)
    assert result.passed
    assert result.packets.data_retransmitted == 0
    rtt = worlds[0].flows.flows[0].sender_qp.rtt
    assert rtt.samples > 8
    assert rtt.min_ns == pytest.approx(100_000_000, rel=1e-4)
    assert rtt.smoothed_ns == pytest.approx(100_000_000, rel=1e-3)
