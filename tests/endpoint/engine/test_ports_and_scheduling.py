# SPDX-License-Identifier: Apache-2.0
"""Proves fair turns between queue pairs, respect for room, and ports that go down and come up."""

import random

import pytest
from engine_lab import Lab, Sent

from endpoint.ev_states import EvState
from endpoint.events import PortChanged, WorkStatus
from endpoint.queue_pair import QpConfig
from endpoint.wire import opcodes
from topologies.sids import ev_plane


def test_queue_pairs_take_turns_a_packet_each() -> None:
    lab = Lab()
    region = lab.region(4, 1_000_000)
    pairs = [lab.pair() for _ in range(3)]
    for qa, _ in pairs:
        qa.post_write(1, bytes(1_000_000), region.va, region.rkey, now_ns=0)
    order = []
    for _ in range(10):
        frames = lab.nics[0].frames_to_send(0, [1, 1, 1, 1])
        assert len(frames) == 4
        for port, frame, urgent in frames:
            assert not urgent
            lab.send(0, port, frame, 0)
        order += [s.parsed.dest_qp for s in lab.sent[-4:]]
    qpns = [qb.qpn for _, qb in pairs]
    assert order == (qpns * 14)[:40]


def test_room_is_never_exceeded_and_one_full_port_does_not_stop_the_others() -> None:
    lab = Lab()
    region = lab.region(4, 1_000_000)
    qa, _ = lab.pair()
    qa.post_write(1, bytes(1_000_000), region.va, region.rkey, now_ns=0)
    nic = lab.nics[0]
    assert nic.frames_to_send(0, [0, 0, 0, 0]) == []
    ports = [port for port, _, _ in nic.frames_to_send(0, [0, 3, 1, 2])]
    assert sorted(ports) == [1, 1, 1, 2, 3, 3]
    with pytest.raises(ValueError, match="negative"):
        nic.frames_to_send(0, [-1, 0, 0, 0])


def test_control_frames_ignore_room() -> None:
    lab = Lab()
    qa, _ = lab.pair()
    region = lab.region(4, 10)
    qa.post_write(1, b"x", region.va, region.rkey, now_ns=0)
    [(port, frame, _)] = lab.nics[0].frames_to_send(0, [1] * 4)
    lab.nics[4].receive(port, frame, 10)
    [(_, _, urgent)] = lab.nics[4].frames_to_send(10, [0] * 4)
    assert urgent


def messages(lab: Lab, source: int, op: int) -> list[Sent]:
    """The endpoint requests that a NIC sent: op 0 tells ports, op 1 probes an EV."""
    return [
        s
        for s in lab.sent
        if s.source == source
        and s.parsed.opcode == opcodes.ENDPOINT_REQUEST
        and s.parsed.endpoint.op == op
    ]


def started(size: int = 4_000_000):
    lab = Lab(line=340)
    qa, qb = lab.pair()
    data = random.Random(1).randbytes(size)
    region = lab.region(4, size)
    qa.post_write(1, data, region.va, region.rkey, now_ns=0)
    lab.run(until=30_000)
    return lab, qa, qb, region, data


def test_a_local_port_down_is_left_at_once_and_the_peer_is_told() -> None:
    lab, qa, _, region, data = started()
    down_at = lab.now
    lab.nics[0].port_down(2, lab.now)
    lab.rule(lambda s: [] if s.port == 2 else None)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    late = [s for s in lab.sent if s.now > down_at and s.source == 0]
    assert late and all(s.port != 2 for s in late)
    updates = messages(lab, 0, 0)
    assert [s.parsed.endpoint.port_status_mask for s in updates] == [0b1011]
    told = [e for e in lab.nics[4].events() if isinstance(e, PortChanged)]
    assert [(e.port, e.usable, e.remote) for e in told] == [(2, False, True)]
    heard = told[0].time_ns
    assert all(s.port != 2 for s in lab.sent if s.source == 4 and s.now > heard)
    assert {ev_plane(ev) for ev in qa.evs.active()} == {0, 1, 3}


def test_the_update_is_repeated_on_other_planes_until_it_is_answered() -> None:
    lab, _, _, _, _ = started()
    lab.nics[0].port_down(2, lab.now)
    lab.rule(lambda s: [] if s.parsed.endpoint else None)
    lab.run(until=lab.now + 50_000)
    updates = messages(lab, 0, 0)
    assert len(updates) >= 4
    assert {s.port for s in updates} == {0, 1, 3}
    assert len({s.parsed.request_id for s in updates}) == 1
    lab.rules.clear()
    lab.run(until=lab.now + 50_000)
    answered = len(messages(lab, 0, 0))
    lab.run(until=lab.now + 50_000)
    assert len(messages(lab, 0, 0)) == answered


@pytest.mark.fact("port.return")
def test_a_port_that_comes_up_returns_through_probes() -> None:
    lab, qa, _, region, data = started(8_000_000)
    lab.nics[0].port_down(1, lab.now)
    lab.run(until=50_000)
    lab.nics[0].port_up(1, lab.now)
    up_at = lab.now
    on_it = lambda: [s for s in lab.data() if s.port == 1 and s.now > up_at]  # noqa: E731
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data
    probes = [s for s in lab.sent if s.parsed.probe and s.port == 1 and s.now > up_at]
    assert len(probes) >= 3 * 4
    assert on_it() and on_it()[0].now > probes[0].now
    assert len(qa.evs.active()) == 16


def test_with_every_port_down_work_requests_end_in_error() -> None:
    lab = Lab(line=340)
    config = QpConfig(linear_retries=2, exponential_retries=1)
    qa, _ = lab.pair(config=config)
    region = lab.region(4, 100)
    for port in range(4):
        lab.nics[0].port_down(port, 0)
    qa.post_write(1, b"x", region.va, region.rkey, now_ns=0)
    qa.post_write(2, b"x", region.va, region.rkey, now_ns=0)
    lab.run(until=3_000_000)
    assert [c.status for c in lab.completions[0]] == [
        WorkStatus.RETRY_EXCEEDED,
        WorkStatus.FLUSHED,
    ]
    assert not lab.data()


def test_with_every_port_down_for_a_while_it_still_completes() -> None:
    lab, _, _, region, data = started()
    for port in range(4):
        lab.nics[0].port_down(port, lab.now)
    lab.run(until=lab.now + 200_000)
    quiet = [s for s in lab.data() if s.now > 31_000]
    assert quiet == []
    for port in range(4):
        lab.nics[0].port_up(port, lab.now)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert bytes(region.buffer) == data


@pytest.mark.parametrize("down_ms", [1, 20, 500])
def test_ports_that_come_up_are_tried_at_once_however_long_all_of_them_were_down(
    down_ms: int,
) -> None:
    """The probes had slowed down with the timer, and went on as slowly with the ports up again."""
    lab = Lab(line=340)
    lab.rule(lambda sent: [] if sent.now < 30_000 else None)
    qa, _ = lab.pair()
    region = lab.region(4, 100_000)
    qa.post_write(1, bytes(100_000), region.va, region.rkey, now_ns=0)
    lab.run(until=20_000)
    for port in range(4):
        lab.nics[0].port_down(port, lab.now)
    lab.run(until=down_ms * 1_000_000)
    up_at = lab.now
    for port in range(4):
        lab.nics[0].port_up(port, lab.now)
    lab.run(done=lambda: bool(lab.completions[0]))
    assert lab.completions[0][0].status is WorkStatus.SUCCESS
    assert lab.now - up_at < 40 * lab.fabric.base_rtt_ns()


def test_frames_on_a_port_that_is_down_are_not_believed() -> None:
    lab, _, qb, _, _ = started()
    lab.nics[4].port_down(0, lab.now)
    before = qb.stats.data_received
    frame = next(s for s in lab.data() if s.port == 0)
    lab.nics[4].receive(0, frame.frame, lab.now)
    assert qb.stats.data_received == before
    assert lab.nics[4].stats.received_on_down_port == 1


def test_a_new_connection_learns_of_ports_that_were_down_before() -> None:
    lab = Lab(line=340)
    lab.nics[0].port_down(3, 0)
    qa, qb = lab.pair()
    lab.run(until=30_000)
    assert {ev_plane(ev) for ev in qa.evs.active()} == {0, 1, 2}
    assert {ev_plane(ev) for ev in qb.evs.active()} == {0, 1, 2}
    assert all(
        qb.evs.state(ev) is EvState.ASSUMED_BAD for ev in qb.evs.all_evs() if ev_plane(ev) == 3
    )


def test_a_receive_only_queue_pair_probes_its_reverse_paths() -> None:
    lab, qa, qb, _, _ = started()
    lab.run(done=lambda: bool(lab.completions[0]))
    probes = messages(lab, 4, 1)
    trips = lab.now // qa.rtt.smoothed_ns
    assert trips // 3 <= len(probes) <= trips + 2
    assert qb.rtt.samples > 0
