# SPDX-License-Identifier: Apache-2.0
"""Proves that the loop keeps writes posted and plays ping-pong by itself, records when, ends with
a result in every case, and refuses what it cannot do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import grpc
import pytest

from endpoint.agent.calls import Stream
from endpoint.agent.client import AgentClient, connect_pair
from endpoint.agent.errors import AgentRefused
from endpoint.agent.proto import agent_pb2
from endpoint.agent.values import (
    ExerciseKind,
    ExerciseLane,
    ExerciseRequest,
    ExerciseResult,
    QpInfo,
    QpOptions,
    Region,
)

Clients = tuple[AgentClient, AgentClient]
PATIENT = QpOptions(base_rtt_ns=8_000_000, timeout=17)
LENGTH = 5000
MOST_S = 30.0


class Ends:
    """Connected queue pairs of h1 and h3, a source and a target of `LENGTH` bytes at each."""

    def __init__(self, clients: Clients, qps: int = 1) -> None:
        self.clients = clients
        self.infos = [connect_pair(*clients, PATIENT) for _ in range(qps)]
        self.data = [bytes((i * step) % 251 for i in range(LENGTH)) for step in (3, 7)]
        self.sources = [client.register_memory(LENGTH) for client in clients]
        self.targets = [client.register_memory(LENGTH) for client in clients]
        for client, source, data in zip(clients, self.sources, self.data, strict=True):
            client.write_memory(source, 0, data)

    def lane(self, side: int, number: int = 0) -> ExerciseLane:
        """The one that writes from `side` to the other."""
        info: QpInfo = self.infos[number][side]
        target: Region = self.targets[1 - side]
        region_id = self.sources[side].region_id
        return ExerciseLane(info.qpn, region_id, 0, LENGTH, target.va, target.rkey)

    def arrived(self, side: int) -> bytes:
        return self.clients[side].read_memory(self.targets[side], 0, LENGTH)


def run(client: AgentClient, request: ExerciseRequest) -> ExerciseResult:
    with client.run_exercise(request) as results:
        return results.get(MOST_S)[0]


def test_a_stream_keeps_no_more_than_its_depth_posted_on_each_queue_pair(clients: Clients) -> None:
    ends = Ends(clients, qps=2)
    lanes = (ends.lane(0), ends.lane(0, 1))
    with clients[0].watch_completions() as completions:
        result = run(clients[0], ExerciseRequest(ExerciseKind.STREAM, lanes, 30, depth=4))
        assert completions.drain() == []  # the exercise took them
    assert result.error == ""
    assert len(result.posted_ns) == len(result.completed_ns) == result.counted == 60
    assert list(result.posted_ns) == sorted(result.posted_ns)
    assert list(result.completed_ns) == sorted(result.completed_ns)
    assert (result.begin_ns, result.end_ns) == (result.posted_ns[0], result.completed_ns[-1])
    assert len(set(result.posted_ns[:8])) == 1 < len(set(result.posted_ns))
    for number in range(8, 60):  # with 8 posted, one more only when one has completed
        assert result.posted_ns[number] >= result.completed_ns[number - 8]
    assert ends.arrived(1) == ends.data[0]
    assert ends.arrived(0) == bytes(LENGTH)


def test_ping_and_pong_answer_each_other(clients: Clients) -> None:
    ends = Ends(clients)
    pong = ExerciseRequest(ExerciseKind.PONG, (ends.lane(1),))
    with clients[1].run_exercise(pong) as answers:
        result = run(clients[0], ExerciseRequest(ExerciseKind.PING, (ends.lane(0),), 25))
        answered = answers.get(MOST_S)[0]
    assert result.error == answered.error == ""
    assert len(result.posted_ns) == len(result.completed_ns) == 25
    trips = zip(result.posted_ns, result.completed_ns, strict=True)
    assert all(posted < completed for posted, completed in trips)
    assert all(
        completed <= posted
        for completed, posted in zip(result.completed_ns, result.posted_ns[1:], strict=False)
    )
    assert (ends.arrived(0), ends.arrived(1)) == (ends.data[1], ends.data[0])
    sent = [client.statistics().qps[0].counters["data_bytes_sent"] for client in clients]
    assert sent == [25 * LENGTH, 25 * LENGTH]


def test_of_a_duration_only_what_is_between_its_margins_is_counted(clients: Clients) -> None:
    ends = Ends(clients)
    request = ExerciseRequest(
        ExerciseKind.STREAM, (ends.lane(0),), 0, 2, duration_ns=400_000_000, margin_ns=100_000_000
    )
    before = time.monotonic_ns()
    result = run(clients[0], request)
    assert result.end_ns - result.begin_ns == 200_000_000
    assert before + 100_000_000 <= result.begin_ns
    assert time.monotonic_ns() >= result.end_ns + 100_000_000
    assert result.posted_ns == result.completed_ns == ()
    writes = clients[0].statistics().qps[0].counters["data_bytes_sent"] // LENGTH
    assert 0 < result.counted < writes


def test_of_a_duration_round_trips_are_counted_and_the_answering_side_ends_too(
    clients: Clients,
) -> None:
    ends = Ends(clients)
    span = {"duration_ns": 200_000_000, "margin_ns": 50_000_000}
    for _ in range(2):
        with clients[1].run_exercise(ExerciseRequest(ExerciseKind.PONG, (ends.lane(1),))) as pong:
            result = run(clients[0], ExerciseRequest(ExerciseKind.PING, (ends.lane(0),), **span))
            assert pong.get(MOST_S)[0].error == result.error == ""
        assert result.counted > 0 and result.posted_ns == ()


def test_who_closes_the_stream_ends_the_exercise(clients: Clients) -> None:
    ends = Ends(clients)
    lane = (ends.lane(0),)
    endless = ExerciseRequest(ExerciseKind.STREAM, lane, 0, 4, duration_ns=10**15)
    clients[0].run_exercise(endless).close()
    with begin_when_free(clients[0], ExerciseRequest(ExerciseKind.STREAM, lane, 9)) as results:
        result = results.get(MOST_S)[0]
    # Completions of what the first had posted are not taken for the second's.
    assert (result.error, result.counted) == ("", 9)
    assert all(a < b for a, b in zip(result.posted_ns, result.completed_ns, strict=True))


def begin_when_free(client: AgentClient, request: ExerciseRequest) -> Stream[ExerciseResult]:
    deadline = time.monotonic() + MOST_S
    while True:
        try:
            return client.run_exercise(request)
        except AgentRefused as refused:
            assert "in another exercise" in str(refused) and time.monotonic() < deadline
            time.sleep(0.02)


def test_a_queue_pair_that_ends_ends_its_exercise(clients: Clients) -> None:
    ends = Ends(clients)
    info = ends.infos[0][0]
    with clients[0].run_exercise(ExerciseRequest(ExerciseKind.PING, (ends.lane(0),), 5)) as results:
        clients[0].destroy_qp(info.qpn)  # nobody had answered
        assert "flushed" in results.get(MOST_S)[0].error


@pytest.mark.parametrize(
    ("change", "code", "reason"),
    [
        (lambda r: replace(r, lanes=()), "INVALID_ARGUMENT", "needs queue pairs"),
        (lambda r: replace(r, lanes=r.lanes * 2), "INVALID_ARGUMENT", "each once"),
        (lambda r: replace(r, depth=0), "INVALID_ARGUMENT", "a depth of 0"),
        (lambda r: replace(r, depth=1 << 20), "INVALID_ARGUMENT", "a depth of 1048576"),
        (lambda r: replace(r, iterations=1 << 21), "INVALID_ARGUMENT", "more than 1048576"),
        (lambda r: replace(r, iterations=0), "INVALID_ARGUMENT", "nothing is left of 0 ns"),
        (lambda r: _with_lane(r, qpn=9), "NOT_FOUND", "no queue pair 9"),
        (lambda r: _with_lane(r, region_id=9), "NOT_FOUND", "no region 9"),
        (lambda r: _with_lane(r, offset=1), "INVALID_ARGUMENT", "leave its 5000 bytes"),
    ],
)
def test_what_cannot_be_done_is_refused(
    clients: Clients,
    change: Callable[[ExerciseRequest], ExerciseRequest],
    code: str,
    reason: str,
) -> None:
    ends = Ends(clients)
    good = ExerciseRequest(ExerciseKind.STREAM, (ends.lane(0),), 5)
    with pytest.raises(AgentRefused, match=reason) as caught:
        clients[0].run_exercise(change(good))
    assert caught.value.code == code
    assert run(clients[0], good).counted == 5


def _with_lane(request: ExerciseRequest, **changes: int) -> ExerciseRequest:
    return replace(request, lanes=(replace(request.lanes[0], **changes),))


def test_ping_is_for_one_queue_pair_that_can_send_and_is_in_no_other_exercise(
    clients: Clients,
) -> None:
    ends = Ends(clients, qps=2)
    both = ExerciseRequest(ExerciseKind.PING, (ends.lane(0), ends.lane(0, 1)), 5)
    with pytest.raises(AgentRefused, match="ping is for one queue pair, not 2"):
        clients[0].run_exercise(both)
    one = ExerciseRequest(ExerciseKind.PING, (ends.lane(0),), 5)
    with clients[0].run_exercise(one), pytest.raises(AgentRefused, match="in another exercise"):
        clients[0].run_exercise(one)
    lonely = clients[0].create_qp()
    unconnected = _with_lane(one, qpn=lonely.qpn)
    with pytest.raises(AgentRefused, match="cannot send in INIT"):
        clients[0].run_exercise(unconnected)


def test_a_kind_that_does_not_exist_is_refused_by_name(clients: Clients) -> None:
    call = clients[0]._stub.RunExercise(agent_pb2.ExerciseRequest(kind="dance"))
    with pytest.raises(grpc.RpcError, match="'dance' is not a valid ExerciseKind"):
        next(call)
