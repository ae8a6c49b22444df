# SPDX-License-Identifier: Apache-2.0
"""Proves that port masks filter paths whatever the floor says, and that ports return by probes."""

import pytest

from endpoint.ev_states import EvInput, EvState

RTT = 1000


def planes_of(evs):
    return sorted({ev >> 8 for ev in evs})


def states(evs, plane):
    return {evs.state(ev) for ev in evs.all_evs() if ev >> 8 == plane}


@pytest.mark.parametrize("side", ["local", "peer"])
def test_a_port_that_goes_down_takes_its_plane_out_at_once(make_set, side):
    evs = make_set(4, 4, backup=2)
    evs.skip(evs.active()[4], 1)
    set_ports = evs.set_local_ports if side == "local" else evs.set_peer_ports
    set_ports(0b1101, 5)
    assert states(evs, 1) == {EvState.ASSUMED_BAD}
    assert planes_of(evs.active()) == planes_of(evs.backup()) == [0, 2, 3]
    assert planes_of(evs.next(6) for _ in range(48)) == [0, 2, 3]
    causes = {event.cause for event in evs.drain_events() if event.time_ns == 5}
    assert causes == {f"{side}_port_down"}


@pytest.mark.fact("ev.floor-ports")
def test_the_floor_never_keeps_a_port_that_is_down(make_set):
    evs = make_set(4, 4, min_active=16)
    evs.set_local_ports(0b0001, 1)
    assert planes_of(evs.active()) == [0]
    evs.set_local_ports(0, 2)
    assert evs.active() == [] and evs.next(3) is None
    assert evs.next(3, avoid=0, ok_port=lambda plane: True) is None


def test_a_port_that_is_down_is_not_probed_until_it_is_up_at_both_ends(make_set):
    evs = make_set(2, 2)
    evs.retire(0x100, 0)
    assert evs.probes_due(4 * RTT, RTT) == [0x100]
    evs.set_local_ports(0b01, 4 * RTT)
    evs.set_peer_ports(0b01, 4 * RTT)
    assert evs.probes_due(100 * RTT, RTT) == [] and evs.next_timer_ns() is None
    evs.set_local_ports(0b11, 100 * RTT)
    assert evs.probes_due(200 * RTT, RTT) == []
    evs.set_peer_ports(0b11, 200 * RTT)
    assert sorted(evs.probes_due(204 * RTT, RTT)) == [0x100, 0x101]


def test_a_plane_returns_by_probes_and_joins_the_active_set(make_set):
    evs = make_set(2, 4, backup=2)
    evs.set_local_ports(0b01, 0)
    evs.set_local_ports(0b11, 10 * RTT)
    assert planes_of(evs.active()) == [0], "up is not yet good"
    now, answered = 10 * RTT, 0
    while len(evs.active()) < 8:
        now = evs.next_timer_ns() if answered else now + 1
        for ev in evs.probes_due(now, RTT):
            evs.probe_answered(ev, now)
            answered += 1
        assert now < 40 * RTT
    assert now <= 10 * RTT + 3 * 4 * RTT + 1
    assert answered >= 3 * 4
    for ev in evs.probes_due(now + 8 * RTT, RTT):
        evs.probe_answered(ev, now + 8 * RTT)
    assert sorted(ev >> 8 for ev in evs.backup()) == [0, 0, 1, 1]
    assert sorted(evs.next(now) for _ in range(16)) == sorted(2 * evs.active())


def test_the_probes_of_a_plane_that_comes_up_are_spread_over_the_interval(make_set):
    evs = make_set(2, 8)
    evs.probes_due(0, RTT)
    evs.set_local_ports(0b01, 0)
    evs.set_local_ports(0b11, 100 * RTT)
    bursts = []
    now = 100 * RTT
    while now <= 104 * RTT:
        bursts.append(len(evs.probes_due(now, RTT)))
        now += RTT // 2
    assert sum(bursts) == 8 and max(bursts) == 1


def test_probes_of_before_the_port_went_down_prove_nothing(make_set):
    evs = make_set(2, 4)
    evs.set_local_ports(0b01, 10)
    for _ in range(5):
        assert not evs.probe_answered(0x100, 20)
    evs.set_local_ports(0b11, 30)
    for _ in range(5):
        assert not evs.probe_answered(0x100, 40, sent_ns=9)
    assert [evs.probe_answered(0x100, 50, sent_ns=40) for _ in range(3)] == [False, False, True]


def test_a_flap_restarts_the_row_of_answers(make_set):
    evs = make_set(2, 4)
    evs.retire(0x100, 0)
    evs.probe_answered(0x100, 1)
    evs.probe_answered(0x100, 2)
    evs.set_local_ports(0b01, 3)
    evs.set_local_ports(0b11, 4)
    assert [evs.probe_answered(0x100, 5) for _ in range(3)] == [False, False, True]


def test_deny_and_allow_while_the_port_is_down(make_set):
    evs = make_set(2, 4)
    evs.deny(0x100, 0)
    evs.set_peer_ports(0b01, 1)
    assert evs.state(0x100) is EvState.DENIED
    evs.allow(0x100, 2)
    assert evs.state(0x100) is EvState.ASSUMED_BAD, "GOOD by the table, then its port is down"
    assert [e.cause for e in evs.drain_events() if e.ev == 0x100] == [
        "deny",
        "allow",
        "peer_port_down",
    ]
    evs.set_peer_ports(0b11, 3)
    assert 0x100 in evs.probes_due(3 + 8 * RTT, RTT)


def test_a_second_report_of_the_same_mask_changes_nothing(make_set):
    evs = make_set(2, 2)
    evs.set_local_ports(0b01, 1)
    evs.drain_events()
    evs.set_local_ports(0b01, 2)
    evs.set_peer_ports(0b01, 3)
    assert evs.drain_events() == []


def test_losses_on_a_plane_without_its_port_are_ignored(make_set):
    evs = make_set(2, 4)
    evs.set_local_ports(0b01, 1)
    evs.drain_events()
    assert evs.retire(0x101, 2, EvInput.TIMEOUT) is EvState.ASSUMED_BAD
    assert evs.drain_events() == []
    assert evs.usable_planes() == [0]
