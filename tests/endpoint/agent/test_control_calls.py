# SPDX-License-Identifier: Apache-2.0
"""Proves that everything an application needs works over the control socket: memory, queue pairs,
work requests, completions, paths, statistics."""

import dataclasses
from pathlib import Path

import pytest
from control_lab import ControlLab

from endpoint.agent.client import AgentClient, connect_pair
from endpoint.agent.errors import AgentRefused
from endpoint.agent.values import QpOptions, WriteWork
from endpoint.events import EvChanged, QpChanged, WorkOpcode, WorkStatus

Clients = tuple[AgentClient, AgentClient]


def test_an_agent_says_who_it_is(clients: Clients) -> None:
    info = clients[1].info()
    assert (info.host, info.host_index, info.fabric, info.planes) == ("h3", 2, "tiny", 2)
    assert info.path_mtu == 4096 and info.base_rtt_ns > 0 and len(info.address) == 16


def test_a_write_into_a_file_is_there_for_others_to_read(clients: Clients, tmp_path: Path) -> None:
    one, other = clients
    data = bytes(range(256)) * 400
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(data)
    near, far = connect_pair(one, other)
    here = one.register_memory(file=str(source), remote_write=False)
    there = other.register_memory(len(data) + 10, file=str(target), create=True)
    assert (here.length, there.length) == (len(data), len(data) + 10)
    with one.watch_completions() as completions:
        posted = one.write(near.qpn, 7, here, there, target_offset=10)
        done = completions.wait(near.qpn, [7], 10)[7]
    assert (done.opcode, done.status) == (WorkOpcode.WRITE, WorkStatus.SUCCESS)
    assert done.byte_len == len(data) and done.imm is None and done.time_ns >= posted
    assert target.read_bytes() == bytes(10) + data
    counters = other.statistics().qp(far.qpn).counters
    assert counters["data_bytes_received"] == len(data)


def test_immediates_arrive_with_the_receives_posted_for_them(clients: Clients) -> None:
    one, other = clients
    near, far = connect_pair(one, other)
    here = one.register_memory(9000)
    there = other.register_memory(9000)
    one.write_memory(here, 100, b"over there")
    other.post_receives(far.qpn, [50, 51])
    with other.watch_completions(qpn=far.qpn) as completions:
        one.write(near.qpn, 1, here, there, imm=0)
        one.write(near.qpn, 2, here, there, length=0, imm=0xFFFFFFFF)
        done = completions.wait(far.qpn, [51, 50], 10)
    assert [done[50].imm, done[51].imm] == [0, 0xFFFFFFFF]
    assert [done[50].byte_len, done[51].byte_len] == [9000, 0]
    assert done[50].opcode is WorkOpcode.RECV_WRITE_IMM
    assert other.read_memory(there, 99, 12) == b"\0over there\0"


def test_many_writes_go_in_one_call(clients: Clients) -> None:
    one, other = clients
    near, _ = connect_pair(one, other)
    here, there = one.register_memory(64), other.register_memory(64)
    works = [WriteWork(n, here.region_id, 0, 64, there.va, there.rkey) for n in range(1000, 1200)]
    with one.watch_completions() as completions:
        one.post_writes(near.qpn, works)
        done = completions.wait(near.qpn, range(1000, 1200), 10)
    assert all(completion.status is WorkStatus.SUCCESS for completion in done.values())


def test_completions_can_be_read_again_from_any_number(clients: Clients) -> None:
    one, other = clients
    near, _ = connect_pair(one, other)
    here, there = one.register_memory(64), other.register_memory(64)
    with one.watch_completions() as first:
        for wr_id in (1, 2, 3):
            one.write(near.qpn, wr_id, here, there)
        first.wait(near.qpn, [1, 2, 3], 10)
        assert first.last == 3
    with one.watch_completions(after=1) as second:
        assert set(second.wait(near.qpn, [2, 3], 10)) == {2, 3}
        assert second.drain() == []
    with one.watch_completions() as third:
        one.write(near.qpn, 4, here, there)
        assert [completion.wr_id for completion in third.get(10)] == [4]


def test_paths_can_be_denied_and_allowed(clients: Clients) -> None:
    one, other = clients
    near, _ = connect_pair(one, other)
    evs = one.evs(near.qpn)
    assert {(ev.plane, ev.uplink) for ev in evs} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    denied = evs[1].ev
    with one.watch_events() as events:
        one.deny_ev(near.qpn, denied)
        here, there = one.register_memory(200_000), other.register_memory(200_000)
        with one.watch_completions() as completions:
            one.write(near.qpn, 1, here, there)
            completions.wait(near.qpn, [1], 10)
        used = {ev.ev: ev for ev in one.evs(near.qpn)}
        assert used[denied].state == "denied" and not used[denied].in_use
        assert used[denied].data_packets == used[denied].last_data_ns == 0
        assert all(ev.data_packets > 5 for ev in used.values() if ev.ev != denied)
        assert sum(ev.data_packets for ev in used.values()) >= 200_000 // 4096
        one.allow_ev(near.qpn, denied)
        changes = []
        while len(changes) < 2:
            changes += [
                (event.old, event.new)
                for event in events.get(10)
                if isinstance(event, EvChanged) and event.ev == denied
            ]
    assert changes == [("good", "denied"), ("denied", "good")]


def test_options_of_a_queue_pair_reach_the_engine(clients: Clients, lab: ControlLab) -> None:
    options = QpOptions(
        first_psn=0xFFFFF0, evs=2, timeout=17, linear_retries=2, exponential_retries=3,
        trimmable=False, base_rtt_ns=123_456, mpr_units=3, max_wimm=5, loss_free_ns=9,
    )  # fmt: skip
    near, far = connect_pair(*clients, options)
    assert (near.psn, near.mpr_units, near.capabilities.max_wimm) == (0xFFFFF0, 3, 5)
    assert not near.capabilities.trimming and near.capabilities.planes == 2
    qp = lab.hosts[0].nic.qp(near.qpn)
    assert qp is not None
    assert (qp.retry.exponent, qp.retry.linear, qp.retry.exponential) == (17, 2, 3)
    assert qp.rtt.base_ns == 123_456 and qp.config.readmit.loss_free_ns == 9
    assert sum(ev.in_use for ev in clients[0].evs(near.qpn)) == 2
    assert far.host_index == 2


def test_a_destroyed_queue_pair_flushes_and_is_forgotten(clients: Clients) -> None:
    one, other = clients
    _, far = connect_pair(one, other)
    with other.watch_completions() as completions, other.watch_events(after=0) as events:
        other.post_receives(far.qpn, [1, 2])
        other.destroy_qp(far.qpn)
        done = completions.wait(far.qpn, [1, 2], 10)
        assert {completion.status for completion in done.values()} == {WorkStatus.FLUSHED}
        states = [event.new for event in events.get(10) if isinstance(event, QpChanged)]
        while "reset" not in states:
            states += [event.new for event in events.get(10) if isinstance(event, QpChanged)]
    assert states == ["init", "rtr", "rts", "error", "reset"]
    with pytest.raises(AgentRefused, match=f"no queue pair {far.qpn}"):
        other.evs(far.qpn)
    assert other.statistics().qps == ()
    assert len(one.statistics().qps) == 1


def test_a_region_given_up_is_closed_to_peers(clients: Clients) -> None:
    one, other = clients
    near, far = connect_pair(one, other)
    here, there = one.register_memory(64), other.register_memory(64)
    other.deregister_memory(there)
    with one.watch_completions() as completions:
        one.write(near.qpn, 1, here, there)
        done = completions.wait(near.qpn, [1], 10)[1]
    assert done.status is WorkStatus.REMOTE_ACCESS_ERROR
    assert other.statistics().qp(far.qpn).state == "error"
    assert other.statistics().qp(far.qpn).error


def test_statistics_come_as_a_stream(clients: Clients) -> None:
    one, other = clients
    near, far = connect_pair(one, other)
    with other.watch_statistics(0.02) as stream:
        first = stream.get(5)[0]
        here, there = one.register_memory(50_000), other.register_memory(50_000)
        one.write(near.qpn, 1, here, there)
        placed = first.qp(far.qpn).placement
        while placed.bytes < 50_000:
            found = stream.get(5)[0]
            placed = found.qp(far.qpn).placement
    assert found.time_ns > first.time_ns
    assert first.time_ns < placed.first_ns <= placed.last_ns <= found.time_ns
    assert sum(gap.length_ns for gap in placed.longest) <= placed.last_ns - placed.first_ns
    as_dict = found.as_dict()
    assert as_dict["qps"][0]["counters"]["data_bytes_received"] == 50_000
    assert dataclasses.asdict(found) == as_dict
