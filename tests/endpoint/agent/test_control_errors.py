# SPDX-License-Identifier: Apache-2.0
"""Proves that a bad request is refused with its reason, that no call waits for ever, and that
sockets of other or dead agents are told apart."""

import socket
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from control_lab import ControlLab

from endpoint.agent.client import AgentClient, connect_pair
from endpoint.agent.control_socket import clear_path
from endpoint.agent.errors import AgentRefused, AgentTimeout, AgentUnavailable, SetupError
from endpoint.agent.values import QpOptions, Region, WriteWork

Clients = tuple[AgentClient, AgentClient]
NOWHERE = Region(99, 0, 0, 64, True)


@pytest.mark.parametrize(
    ("act", "code", "reason"),
    [
        (lambda c: c.register_memory(0), "INVALID_ARGUMENT", "needs a length"),
        (lambda c: c.register_memory(1 << 40), "INVALID_ARGUMENT", "length 1099511627776"),
        (lambda c: c.register_memory(file="x"), "INVALID_ARGUMENT", "'x' is not an absolute path"),
        (lambda c: c.register_memory(file="/no/such"), "INVALID_ARGUMENT", "/no/such: No such"),
        (lambda c: c.register_memory(file="/dev/null"), "INVALID_ARGUMENT", "not a regular file"),
        (lambda c: c.deregister_memory(NOWHERE), "NOT_FOUND", "no region 99"),
        (lambda c: c.read_memory(NOWHERE, 0, 1), "NOT_FOUND", "no region 99"),
        (lambda c: c.read_memory(NOWHERE, 0, 1 << 21), "INVALID_ARGUMENT", "the most is 1048576"),
        (lambda c: c.connect_qp(5, c.create_qp()), "NOT_FOUND", "no queue pair 5"),
        (lambda c: c.post_receives(5, [1]), "NOT_FOUND", "no queue pair 5"),
        (lambda c: c.destroy_qp(5), "NOT_FOUND", "no queue pair 5"),
        (lambda c: c.evs(c.create_qp().qpn), "FAILED_PRECONDITION", "never connected"),
        (lambda c: c.create_qp(QpOptions(evs=0)), "INVALID_ARGUMENT", "at least one path"),
        (lambda c: c.create_qp(QpOptions(first_psn=1 << 24)), "INVALID_ARGUMENT", "first_psn"),
        (lambda c: c.create_qp(QpOptions(mpr_units=0)), "INVALID_ARGUMENT", "mpr_units"),
        (lambda c: c.create_qp(QpOptions(congestion="bbr")), "INVALID_ARGUMENT", "'bbr'"),
        (lambda c: c.create_qp(QpOptions(path_mtu=300)), "INVALID_ARGUMENT", "path_mtu 300"),
        (lambda c: c.create_qp(QpOptions(path_mtu=8192)), "INVALID_ARGUMENT", "path_mtu 8192"),
    ],
)
def test_a_bad_request_is_refused_with_its_reason(
    clients: Clients, act: Callable[[AgentClient], object], code: str, reason: str
) -> None:
    with pytest.raises(AgentRefused, match=reason) as caught:
        act(clients[0])
    assert caught.value.code == code
    assert clients[0].socket in str(caught.value)
    assert clients[0].info().host == "h1"


def test_both_ends_must_mean_the_same_path_mtu(clients: Clients) -> None:
    near = clients[0].create_qp(QpOptions(path_mtu=1024))
    far = clients[1].create_qp()
    assert (near.path_mtu, far.path_mtu) == (1024, 4096)
    with pytest.raises(AgentRefused, match="path_mtu 4096, here 1024"):
        clients[0].connect_qp(near.qpn, far)


def test_a_timer_out_of_range_is_refused_before_the_queue_pair_is_made(clients: Clients) -> None:
    with pytest.raises(AgentRefused, match="exponent 25"):
        clients[0].create_qp(QpOptions(timeout=25))
    assert clients[0].statistics().qps == ()


def test_a_peer_of_another_fabric_is_refused(clients: Clients) -> None:
    one, other = clients
    near, far = one.create_qp(), other.create_qp()
    bad_mtu = type(far)(far.qpn, far.psn, 2, far.address, 1024, 8, far.capabilities)
    with pytest.raises(AgentRefused, match="path_mtu 1024, here 4096"):
        one.connect_qp(near.qpn, bad_mtu)
    bad_host = type(far)(far.qpn, far.psn, 9, far.address, 4096, 8, far.capabilities)
    with pytest.raises(AgentRefused, match="host_index 9 of 4"):
        one.connect_qp(near.qpn, bad_host)
    bad_address = type(far)(far.qpn, far.psn, 2, bytes(16), 4096, 8, far.capabilities)
    with pytest.raises(AgentRefused, match="peer address"):
        one.connect_qp(near.qpn, bad_address)
    one.connect_qp(near.qpn, far)
    with pytest.raises(AgentRefused, match="RTS") as caught:
        one.connect_qp(near.qpn, far)
    assert caught.value.code == "FAILED_PRECONDITION"


def test_a_refused_write_is_named_and_those_before_it_stand(clients: Clients) -> None:
    one, other = clients
    near, _ = connect_pair(one, other)
    here, there = one.register_memory(64), other.register_memory(64)
    good = WriteWork(1, here.region_id, 0, 64, there.va, there.rkey)
    bad = WriteWork(2, here.region_id, 1, 64, there.va, there.rkey)
    with one.watch_completions() as completions:
        with pytest.raises(AgentRefused, match=r"write 2 of 2: region .*64 bytes at 1 leave"):
            one.post_writes(near.qpn, [good, bad])
        completions.wait(near.qpn, [1], 10)
        with pytest.raises(AgentTimeout, match=r"1 of 1 work requests are not complete.* 2$"):
            completions.wait(near.qpn, [2], 0.05)
    unconnected = one.create_qp()
    with pytest.raises(AgentRefused, match="INIT"):
        one.post_writes(unconnected.qpn, [good])


def test_a_read_only_file_is_not_written(clients: Clients, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"keep")
    region = clients[0].register_memory(file=str(path), remote_write=False)
    with pytest.raises(AgentRefused, match="for reading only"):
        clients[0].write_memory(region, 0, b"lost")
    assert path.read_bytes() == b"keep"


def test_a_file_is_never_cut(clients: Clients, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"0123456789")
    assert clients[0].register_memory(4, file=str(path), create=True).length == 4
    assert path.read_bytes() == b"0123456789"
    with pytest.raises(AgentRefused, match="10 bytes, 11 wanted"):
        clients[0].register_memory(11, file=str(path))


def test_a_hanging_agent_costs_no_more_than_the_deadline(lab: ControlLab) -> None:
    lab.pause()
    with AgentClient(lab.sockets[0], timeout_s=0.3) as client:
        begun = time.monotonic()
        with pytest.raises(AgentTimeout, match="GetInfo"):
            client.info()
        assert time.monotonic() - begun < 3


def test_an_absent_agent_is_named_at_once(tmp_path: Path) -> None:
    begun = time.monotonic()
    with AgentClient(str(tmp_path / "none.sock")) as client:
        with pytest.raises(AgentUnavailable, match=r"none\.sock: GetInfo: no agent answers"):
            client.info()
        with pytest.raises(AgentUnavailable, match="WatchEvents: no agent answers"):
            client.watch_events()
    assert time.monotonic() - begun < 5


def test_streams_end_with_the_agent_after_all_was_delivered(lab: ControlLab) -> None:
    with AgentClient(lab.sockets[0]) as one, AgentClient(lab.sockets[1]) as other:
        near, _ = connect_pair(one, other)
        one.post_receives(near.qpn, [1])
        with one.watch_completions() as completions:
            assert completions.drain() == []
            closing = threading.Thread(target=lab.close)
            closing.start()
            assert completions.wait(near.qpn, [1], 10)[1].status.value == "flushed"
            with pytest.raises(AgentUnavailable, match="has ended"):
                completions.get(10)
            closing.join()
        assert not Path(lab.sockets[0]).exists()


def test_streams_are_limited_so_that_calls_always_find_a_worker(tmp_path: Path) -> None:
    lab = ControlLab(tmp_path, streams=2)
    try:
        with AgentClient(lab.sockets[0]) as client:
            client.watch_events()
            client.watch_completions()
            with pytest.raises(AgentRefused, match="too many streams"):
                client.watch_statistics()
            assert client.info().host == "h1"
    finally:
        lab.close()


def test_shutdown_is_answered_and_then_done(lab: ControlLab, clients: Clients) -> None:
    clients[0].shutdown()
    assert lab.shut_down.wait(5)


def test_a_socket_left_behind_is_replaced_and_one_in_use_is_not(
    lab: ControlLab, tmp_path: Path
) -> None:
    stale = tmp_path / "stale"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(stale))
    clear_path(str(stale))
    assert not stale.exists()
    with pytest.raises(SetupError, match="another process listens"):
        clear_path(lab.sockets[0])
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SetupError, match="something else"):
        clear_path(str(tmp_path / "file"))
    with pytest.raises(SetupError, match="107 bytes"):
        clear_path("/" + "x" * 107)


def test_only_the_owner_may_control(lab: ControlLab) -> None:
    assert stat.S_IMODE(Path(lab.sockets[0]).stat().st_mode) == 0o600
