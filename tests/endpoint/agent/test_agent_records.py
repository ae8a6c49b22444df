# SPDX-License-Identifier: Apache-2.0
"""Proves what the agent notes of a run: when payload was placed, and which paths data took."""

import random
from types import SimpleNamespace
from typing import Any

from endpoint.agent.path_use import PathUse
from endpoint.agent.placement import GAPS_KEPT, PlacementClock
from endpoint.agent.values import Gap, Placement
from endpoint.nic import Nic, NicConfig
from endpoint.wire.dscp import DscpMap
from endpoint.wire.frame import parse_frame
from topologies import load


class FakeNic:
    """Queue pairs that placed so many bytes."""

    def __init__(self) -> None:
        self.placed: dict[int, int] = {}

    def queue_pairs(self) -> list[Any]:
        return [
            SimpleNamespace(qpn=qpn, stats=SimpleNamespace(data_bytes_received=placed))
            for qpn, placed in self.placed.items()
        ]


def test_gaps_are_between_placements_and_the_longest_come_first() -> None:
    nic = FakeNic()
    clock = PlacementClock(nic)  # type: ignore[arg-type]
    clock.look(5)
    assert clock.of(16) == Placement()
    for time, placed in ((100, 10), (110, 20), (150, 20), (160, 30), (165, 40), (190, 40)):
        nic.placed[16] = placed
        clock.look(time)
    gaps = (Gap(110, 50), Gap(100, 10), Gap(160, 5))
    assert clock.of(16) == Placement(40, 100, 165, gaps)
    clock.forget(16)
    assert clock.of(16) == Placement()


def test_of_many_gaps_the_longest_are_kept() -> None:
    nic = FakeNic()
    clock = PlacementClock(nic)  # type: ignore[arg-type]
    rng = random.Random(1)
    now, lengths = 1000, []
    for step in range(1, 200):
        nic.placed[1] = step
        clock.look(now)
        lengths.append(rng.randrange(1, 10_000))
        now += lengths[-1]
    kept = [gap.length_ns for gap in clock.of(1).longest]
    assert kept == sorted(lengths[:-1], reverse=True)[:GAPS_KEPT]


def test_path_use_is_of_the_ev_that_the_frame_carries() -> None:
    fabric = load("tiny")
    nics = [Nic(NicConfig(fabric, index), random.Random(index)) for index in (0, 2)]
    qps = [nic.create_qp() for nic in nics]
    qps[0].connect(qps[1].info(), 0)
    qps[1].connect(qps[0].info(), 0)
    region = nics[1].register_memory(bytearray(40_000))
    qps[0].post_write(1, bytes(40_000), region.va, region.rkey, now_ns=0)
    use, expected = PathUse(), {}
    dscp = DscpMap(**dict(fabric.dscp))
    for time in range(1, 60):
        for _, frame, urgent in nics[0].frames_to_send(time, [1, 1]):
            assert not urgent
            use.sent(frame, time)
            ev = parse_frame(frame, dscp).ev
            packets, _ = expected.get(ev, (0, 0))
            expected[ev] = (packets + 1, time)
    evs = qps[0].evs.all_evs()
    assert len(expected) == len(evs) == 4
    assert {ev: use.of(ev) for ev in evs} == expected
    use.forget(evs[:1])
    assert use.of(evs[0]) == (0, 0) and use.of(evs[1]) == expected[evs[1]]
