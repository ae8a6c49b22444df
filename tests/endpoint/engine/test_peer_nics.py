# SPDX-License-Identifier: Apache-2.0
"""Proves that two NICs agree on usable ports across new connections, restarts and silence."""

from __future__ import annotations

from itertools import pairwise

import pytest
from engine_lab import Lab

from endpoint.events import WorkStatus
from endpoint.queue_pair import QueuePair
from endpoint.wire.endpoint_message import OP_EV_PROBE, EndpointRequest
from topologies.sids import ev_plane, ev_uplink


def updates(lab: Lab, source: int = 0) -> list[int]:
    """Times of the Port Status Updates that a NIC sent."""
    return [
        s.now
        for s in lab.sent
        if s.source == source
        and isinstance(s.parsed.endpoint, EndpointRequest)
        and s.parsed.endpoint.op != OP_EV_PROBE
    ]


def planes_of(qp: QueuePair) -> list[int]:
    return qp.evs.usable_planes()


@pytest.mark.parametrize("seed", range(6))
def test_a_peer_without_a_restart_goes_on_believing_and_being_believed(seed: int) -> None:
    """One side's queue pair fails, the other side's does not: both know the ports as before."""
    lab = Lab(line=340, seed=seed)
    qa, _ = lab.pair()
    lab.nics[0].port_down(3, lab.now)
    lab.nics[4].port_down(2, lab.now)
    lab.run(until=lab.now + 50_000)
    qa.fail(WorkStatus.FLUSHED, "only here", lab.now)
    new_a, new_b = lab.pair()
    lab.run(until=lab.now + 50_000)
    assert planes_of(new_a) == planes_of(new_b) == [0, 1]
    lab.nics[0].port_down(1, lab.now)
    lab.run(until=lab.now + 50_000)
    assert planes_of(new_a) == planes_of(new_b) == [0]


@pytest.mark.parametrize("seed", range(6))
def test_a_restarted_peer_is_believed_while_its_old_queue_pairs_seem_alive(seed: int) -> None:
    lab = Lab(line=340, seed=seed)
    lab.pair()
    lab.nics[4].port_down(2, lab.now)
    lab.run(until=lab.now + 50_000)
    lab.nics[4] = Lab(line=340, seed=seed + 100).nics[4]  # nothing tells the other NIC
    lab.heap.clear()
    new_a, new_b = lab.pair()
    lab.run(until=lab.now + 300_000)
    assert planes_of(new_a) == planes_of(new_b) == [0, 1, 2, 3]
    lab.nics[4].port_down(1, lab.now)
    lab.run(until=lab.now + 50_000)
    assert planes_of(new_a) == [0, 2, 3]


@pytest.mark.parametrize("seed", range(6))
def test_an_update_that_comes_before_the_connection_is_not_taken_for_told(seed: int) -> None:
    """The restarted side connects first, and tells its ports to one that does not listen yet."""
    lab = Lab(line=340, seed=seed)
    lab.pair()
    lab.nics[4].port_down(2, lab.now)
    lab.run(until=lab.now + 50_000)
    lab.nics[4] = Lab(line=340, seed=seed + 100).nics[4]
    lab.heap.clear()
    lab.nics[4].port_down(0, lab.now)
    a, b = lab.nics[0].create_qp(), lab.nics[4].create_qp()
    b.connect(a.info(), lab.now)
    lab.run(until=lab.now + 100_000)
    a.connect(b.info(), lab.now)
    lab.run(until=lab.now + 300_000)
    assert planes_of(a) == planes_of(b) == [1, 2, 3]


def test_an_answered_update_is_not_sent_again_whatever_became_of_older_queue_pairs() -> None:
    lab = Lab(line=340)
    qa, _ = lab.pair()
    lab.run(until=50_000)
    lab.rule(lambda sent: [] if sent.now < 100_000 else None)
    lab.nics[0].port_down(3, lab.now)
    lab.run(until=90_000)
    qa.fail(WorkStatus.FLUSHED, "only here", lab.now)
    lab.run(until=100_000)
    lab.pair()
    lab.run(until=200_000)
    lab.sent.clear()
    lab.run(until=1_000_000)
    assert updates(lab) == []


def test_a_peer_that_is_gone_is_not_flooded() -> None:
    lab = Lab(line=340)
    lab.pair()
    lab.run(until=50_000)
    lab.rule(lambda sent: [])
    lab.nics[0].port_down(3, lab.now)
    start = lab.now
    lab.run(until=start + 20_000_000)
    times = updates(lab)
    gaps = [later - sooner for sooner, later in pairwise(times)]
    rtt = gaps[-16]
    assert 20 < len(times) < 40
    assert max(gaps[:10]) < 2 * rtt  # at first, once a round trip
    assert gaps == sorted(gaps) and gaps[-1] > 5_000_000


def test_answers_take_the_paths_of_a_queue_pair_that_has_proven_ones() -> None:
    """An idle queue pair's reverse paths die unnoticed: its neighbour's probes stay answered."""
    lab = Lab(line=340)
    _idle_a, idle_b = lab.pair()
    qa, qb = lab.pair()
    dead = {(ev_plane(ev), ev_uplink(ev)) for ev in map(idle_b.reverse.on_plane, range(4))}
    lab.rule(
        lambda sent: (
            []
            if sent.source == 4 and (ev_plane(sent.parsed.ev), ev_uplink(sent.parsed.ev)) in dead
            else None
        )
    )
    region = lab.region(0, 2_000_000)
    qb.post_write(1, bytes(2_000_000), region.va, region.rkey, now_ns=lab.now)
    answered = []
    probes = qa.ev_probe_answered
    qa.ev_probe_answered = lambda *args: (answered.append(args), probes(*args))  # type: ignore[method-assign]
    lab.run(done=lambda: bool(lab.completions[4]))
    asked = [
        s
        for s in lab.sent
        if s.source == 0
        and isinstance(s.parsed.endpoint, EndpointRequest)
        and s.parsed.endpoint.op == OP_EV_PROBE
    ]
    assert len(asked) > 8
    assert len(answered) > len(asked) - 6


def test_queue_pairs_that_come_and_go_leave_nothing_behind() -> None:
    lab = Lab(line=340)
    lab.keep = False
    lab.pair()
    sizes = []
    for _ in range(12):
        qa, qb = lab.pair()
        region = lab.region(0, 100_000)
        qb.post_write(1, bytes(100_000), region.va, region.rkey, now_ns=lab.now)
        lab.completions[4].clear()
        lab.run(done=lambda: bool(lab.completions[4]))
        lab.run(until=lab.now + 50_000)
        for nic, qp in ((lab.nics[0], qa), (lab.nics[4], qb)):
            nic.destroy_qp(qp.qpn, lab.now)
        peers = [peer for nic in lab.nics.values() for peer in nic._peers.values()]
        sizes.append(sum(len(p._answers) + len(p._probes) + len(p._asked) for p in peers))
        assert all(peer.heard in (None, *peer.queue_pairs) for peer in peers)
    assert max(sizes[6:]) <= max(sizes[:6])
