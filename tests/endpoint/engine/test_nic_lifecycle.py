# SPDX-License-Identifier: Apache-2.0
"""Proves that timers of many queue pairs, late connections, restarts and many pairs work out."""

import random

import pytest
from engine_lab import Lab
from hypothesis import given
from hypothesis import strategies as st

from endpoint.events import WorkStatus
from endpoint.qp_states import TRANSITIONS, QpInput, QpState, QpStateError, next_state
from endpoint.qp_timers import QpTimers
from endpoint.queue_pair import PeerInfo, QpConfig


class Owner:
    """Something with a timer."""

    def __init__(self) -> None:
        self.due: int | None = None

    def next_timer_ns(self) -> int | None:
        return self.due


moves = st.lists(
    st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 50)), st.booleans()),
    max_size=60,
)


@given(moves)
def test_the_earliest_timer_is_that_of_a_plain_search(steps: list) -> None:
    owners = {qpn: Owner() for qpn in range(5)}
    timers = QpTimers(owners)  # type: ignore[arg-type]
    for qpn, due, ask in steps:
        owners[qpn].due = due
        timers.changed(qpn)
        if ask:
            wanted = min((o.due for o in owners.values() if o.due is not None), default=None)
            assert timers.next_ns() == wanted
    now = 25
    called = timers.due(now)
    expected = [o for o in owners.values() if o.due is not None and o.due <= now]
    assert sorted(map(id, called)) == sorted(map(id, expected))


def test_timers_that_go_to_and_fro_and_owners_that_go_leave_nothing_behind() -> None:
    owners = {qpn: Owner() for qpn in range(3)}
    timers = QpTimers(owners)  # type: ignore[arg-type]
    for now in range(1_000):
        for owner in owners.values():  # far away, then near, then called
            owner.due = 10**10
        for qpn in owners:
            timers.changed(qpn)
        assert timers.next_ns() == 10**10
        owners[now % 3].due = now
        timers.changed(now % 3)
        assert timers.due(now) == [owners[now % 3]]
    assert len(timers._heap) < 50
    owners.clear()
    for qpn in range(3):
        timers.changed(qpn)
    assert timers.next_ns() is None
    assert not timers._due and not timers._entry and not timers._heap


@pytest.mark.fact("rel.states")
def test_states_follow_the_table_and_nothing_else() -> None:
    for state in QpState:
        for heard in QpInput:
            if (state, heard) in TRANSITIONS:
                assert next_state(state, heard) is TRANSITIONS[state, heard]
            else:
                with pytest.raises(QpStateError, match=state.name):
                    next_state(state, heard)


def test_packets_that_come_before_the_connection_are_sent_again() -> None:
    lab = Lab(line=340)
    qa, qb = lab.nics[0].create_qp(), lab.nics[4].create_qp()
    qa.connect(qb.info(), 0)
    data = random.Random(1).randbytes(50_000)
    region = lab.region(4, 50_000)
    qb.post_recv(5)
    qa.post_write(1, data, region.va, region.rkey, imm=3, now_ns=0)
    lab.run(until=50_000)
    missed = lab.nics[4].stats.wrong_peer + qb.stats.dropped_in_state
    assert qa.stats.data_sent == 13
    assert 13 <= missed <= 13 + qa.stats.probes_sent
    qb.connect(qa.info(), lab.now)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    assert [(c.wr_id, c.imm) for c in lab.completions[4]] == [(5, 3)]


def test_an_impossible_peer_is_refused_and_leaves_the_queue_pair_as_it_was() -> None:
    lab = Lab()
    qp = lab.nics[0].create_qp()
    with pytest.raises(ValueError, match="is not that of host 4"):
        qp.connect(PeerInfo(4, 16, 0, address=bytes(16)), 0)
    with pytest.raises(ValueError, match="not 24 bits"):
        qp.connect(PeerInfo(4, 1 << 24, 0), 0)
    with pytest.raises(ValueError, match="window of 0 units"):
        qp.connect(PeerInfo(4, 16, 0, mpr_units=0), 0)
    assert qp.state is QpState.INIT
    with pytest.raises(ValueError, match="unknown; known are"):
        lab.nics[0].create_qp(QpConfig(congestion="none")).connect(PeerInfo(4, 16, 0), 0)


def test_a_queue_pair_that_was_never_connected_may_fail_too() -> None:
    nic = Lab().nics[0]
    qp = nic.create_qp()
    qp.post_recv(5, 0)
    qp.fail(WorkStatus.FLUSHED, "operator", 7)
    assert [(e.new, e.reason) for e in nic.events()][-1] == ("error", "operator")
    assert [(c.wr_id, c.status) for c in nic.poll_completions()] == [(5, WorkStatus.FLUSHED)]
    nic.destroy_qp(qp.qpn, 8)
    assert nic.next_timer_ns() is None


def test_a_restarted_peer_is_believed_about_its_ports_again() -> None:
    lab = Lab(line=340)
    qa, _ = lab.pair()
    for _ in range(3):
        lab.nics[4].port_down(1, lab.now)
        lab.run(until=lab.now + 30_000)
        lab.nics[4].port_up(1, lab.now)
        lab.run(until=lab.now + 30_000)
    qa.fail(WorkStatus.FLUSHED, "peer restarted", lab.now)
    restarted = Lab(line=340, seed=99)
    lab.nics[4] = restarted.nics[4]
    lab.nics[4].port_down(2, lab.now)
    new_a, new_b = lab.pair()
    lab.run(until=lab.now + 30_000)
    assert new_a.evs.usable_planes() == [0, 1, 3]
    region = lab.region(4, 100)
    new_a.post_write(1, b"y" * 100, region.va, region.rkey, now_ns=lab.now)
    lab.run(done=lambda: any(c.qpn == new_a.qpn for c in lab.completions[0]))
    assert bytes(region.buffer) == b"y" * 100
    assert new_b.stats.data_received == 1


def test_all_to_all_between_four_nics() -> None:
    hosts = (0, 1, 4, 5)
    lab = Lab(hosts=hosts, line=340)
    lab.keep = False
    size = 60_000
    wanted = {}
    for a in hosts:
        for b in hosts:
            if a == b:
                continue
            qa, _ = lab.pair(a, b)
            data = random.Random(f"{a}{b}").randbytes(size)
            region = lab.region(b, size)
            qa.post_write(a * 10 + b, data, region.va, region.rkey, now_ns=0)
            wanted[a, b] = (region, data)
    lab.rule(lab.losing(0.01))
    lab.run(done=lambda: all(len(lab.completions[i]) == 3 for i in hosts))
    assert all(bytes(region.buffer) == data for region, data in wanted.values())
    assert all(c.status is WorkStatus.SUCCESS for i in hosts for c in lab.completions[i])


def test_a_finished_message_is_let_go_of() -> None:
    lab = Lab(line=340)
    lab.rule(lab.losing(0.05))
    qa, _ = lab.pair()
    region = lab.region(4, 200_000)
    qa.post_write(1, bytes(200_000), region.va, region.rkey, now_ns=0)
    lab.run(done=lambda: bool(lab.completions[0]))
    detector = qa.requester.loss
    assert not detector.current
    assert not detector._by_ev
    assert not detector._by_time
