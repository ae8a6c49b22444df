# SPDX-License-Identifier: Apache-2.0
"""A client of one agent. Every call has a deadline; every failure is an `AgentError`."""

from collections.abc import Iterable, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
from google.protobuf import empty_pb2

from endpoint.agent.calls import Stream, translate
from endpoint.agent.convert import event_value, from_message, to_message
from endpoint.agent.errors import AgentTimeout
from endpoint.agent.proto import agent_pb2, agent_pb2_grpc
from endpoint.agent.values import (
    AgentEvent,
    AgentInfo,
    EvStatus,
    ExerciseRequest,
    ExerciseResult,
    PortStatus,
    QpInfo,
    QpOptions,
    Region,
    Statistics,
    WriteWork,
)
from endpoint.events import Completion

DEFAULT_TIMEOUT_S = 5.0

_AnyStream = TypeVar("_AnyStream", bound=Stream[Any])

_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.max_receive_message_length", 64 << 20),
)
_EMPTY = empty_pb2.Empty()


class CompletionStream(Stream[Completion]):
    """Completions as they come. Those that a `wait` passes over are kept for later waits."""

    def __init__(self, call: Any, what: str, timeout_s: float) -> None:
        super().__init__(call, _completions, what, timeout_s)
        self._passed: dict[tuple[int, int], list[Completion]] = {}

    def wait(self, qpn: int, wr_ids: Iterable[int], timeout_s: float) -> dict[int, Completion]:
        """The completions of these work requests of one queue pair, by wr_id, of whatever status.

        AgentTimeout names those that are missing; what has come stays to be waited for again.
        """
        wanted = list(wr_ids)
        deadline = monotonic() + timeout_s
        while True:
            missing = [wr_id for wr_id in wanted if not self._passed.get((qpn, wr_id))]
            if not missing:
                return {wr_id: self._take(qpn, wr_id) for wr_id in wanted}
            try:
                found = self.get(max(0.0, deadline - monotonic()))
            except AgentTimeout:
                raise AgentTimeout(
                    f"{self._what}: QP {qpn}: after {timeout_s:g} s {len(missing)} of "
                    f"{len(wanted)} work requests are not complete, the first is {missing[0]}"
                ) from None
            for completion in found:
                key = (completion.qpn, completion.wr_id)
                self._passed.setdefault(key, []).append(completion)

    def _take(self, qpn: int, wr_id: int) -> Completion:
        kept = self._passed[qpn, wr_id]
        first = kept.pop(0)
        if not kept:
            del self._passed[qpn, wr_id]
        return first


def _completions(batch: agent_pb2.CompletionBatch) -> list[Completion]:
    return [from_message(item, Completion) for item in batch.completions]


def _events(batch: agent_pb2.EventBatch) -> list[AgentEvent]:
    return [event_value(item) for item in batch.events]


def _result(update: agent_pb2.ExerciseUpdate) -> list[ExerciseResult]:
    return [from_message(update.result, ExerciseResult)] if update.HasField("result") else []


def _statistics(message: agent_pb2.Statistics) -> list[Statistics]:
    return [from_message(message, Statistics)]


class AgentClient:
    """Talks to the agent at a Unix socket, in whatever network namespace that is.

    A context manager. `timeout_s` is the deadline of each call. Methods raise AgentUnavailable
    when nobody answers there, AgentTimeout after the deadline, AgentRefused with the agent's
    reason otherwise.
    """

    def __init__(self, socket: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.socket = socket
        self.timeout_s = timeout_s
        self._channel = grpc.insecure_channel(f"unix:{socket}", options=_OPTIONS)
        self._stub: Any = agent_pb2_grpc.AgentStub(self._channel)  # type: ignore[no-untyped-call]
        self._streams: list[Stream[Any]] = []

    def close(self) -> None:
        """Ends all streams and the connection."""
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _call(self, name: str, request: Any = _EMPTY) -> Any:
        try:
            return getattr(self._stub, name)(request, timeout=self.timeout_s)
        except grpc.RpcError as error:
            raise translate(error, self._what(name)) from error

    def _what(self, name: str) -> str:
        return f"agent {self.socket}: {name}"

    # -- agent and memory -----------------------------------------------------------------------

    def info(self) -> AgentInfo:
        """Who answers."""
        return from_message(self._call("GetInfo"), AgentInfo)

    def register_memory(
        self,
        length: int = 0,
        *,
        file: str | None = None,
        create: bool = False,
        remote_write: bool = True,
    ) -> Region:
        """Registers anonymous memory, or a file by its absolute path (0: all of it).

        With `create` the file is made, or grows, to `length`. A file must not be cut while it is
        registered. A file to send from needs no `remote_write`.
        """
        request = agent_pb2.RegisterMemoryRequest(
            length=length, file=file, create=create, remote_write=remote_write
        )
        return from_message(self._call("RegisterMemory", request), Region)

    def deregister_memory(self, region: Region) -> None:
        """Forgets a region; peers may no longer write it."""
        request = agent_pb2.DeregisterMemoryRequest(region_id=region.region_id)
        self._call("DeregisterMemory", request)

    def read_memory(self, region: Region, offset: int, length: int) -> bytes:
        """A copy of up to 1 MiB of a region."""
        request = agent_pb2.ReadMemoryRequest(
            region_id=region.region_id, offset=offset, length=length
        )
        data: bytes = self._call("ReadMemory", request).data
        return data

    def write_memory(self, region: Region, offset: int, data: bytes) -> None:
        """Fills up to 1 MiB of a region of this agent's own."""
        request = agent_pb2.WriteMemoryRequest(region_id=region.region_id, offset=offset, data=data)
        self._call("WriteMemory", request)

    # -- queue pairs and work requests ----------------------------------------------------------

    def create_qp(self, options: QpOptions | None = None) -> QpInfo:
        """Makes a queue pair; the answer is what its peer's `connect_qp` takes."""
        request = to_message(options or QpOptions(), agent_pb2.QpOptions)
        return from_message(self._call("CreateQp", request), QpInfo)

    def connect_qp(self, qpn: int, peer: QpInfo) -> None:
        """Connects a queue pair to the one that `peer` describes."""
        request = agent_pb2.ConnectQpRequest(qpn=qpn, peer=to_message(peer, agent_pb2.QpInfo))
        self._call("ConnectQp", request)

    def destroy_qp(self, qpn: int) -> None:
        """Ends a queue pair; what was posted completes as flushed."""
        self._call("DestroyQp", agent_pb2.QpRequest(qpn=qpn))

    def write(
        self,
        qpn: int,
        wr_id: int,
        source: Region,
        target: Region,
        *,
        offset: int = 0,
        length: int | None = None,
        target_offset: int = 0,
        imm: int | None = None,
    ) -> int:
        """Posts one WRITE of a part of `source` (all of it by default) into a peer's region.

        With `imm` (32 bits) it is a WRITE with immediate. The time of posting in ns.
        """
        if length is None:
            length = source.length - offset
        work = WriteWork(
            wr_id, source.region_id, offset, length, target.va + target_offset, target.rkey, imm
        )
        return self.post_writes(qpn, [work])

    def post_writes(self, qpn: int, writes: Sequence[WriteWork]) -> int:
        """Posts several in one call; the time of posting in ns."""
        request = agent_pb2.PostWritesRequest(
            qpn=qpn, writes=[to_message(write, agent_pb2.WriteWork) for write in writes]
        )
        time_ns: int = self._call("PostWrites", request).time_ns
        return time_ns

    def post_receives(self, qpn: int, wr_ids: Sequence[int]) -> int:
        """Posts receives, each for one WRITE with immediate; the time of posting in ns."""
        request = agent_pb2.PostReceivesRequest(qpn=qpn, wr_ids=wr_ids)
        time_ns: int = self._call("PostReceives", request).time_ns
        return time_ns

    # -- streams --------------------------------------------------------------------------------

    def watch_completions(
        self, *, after: int | None = None, qpn: int | None = None
    ) -> CompletionStream:
        """Completions from now on, of one queue pair if given; to be called before posting.

        With `after`, those after that number: 0 for all that are kept, `last` of a stream that
        ended to go on. Numbers of queue pairs may come again in old completions.
        """
        call = self._stub.WatchCompletions(agent_pb2.WatchRequest(after=after, qpn=qpn))
        what = self._what("WatchCompletions")
        return self._keep(CompletionStream(call, what, self.timeout_s))

    def watch_events(self, *, after: int | None = None) -> Stream[AgentEvent]:
        """Events from now on, or after number `after`: of paths, ports and queue pairs, and of
        frames dropped by this machine."""
        call = self._stub.WatchEvents(agent_pb2.WatchRequest(after=after))
        return self._keep(Stream(call, _events, self._what("WatchEvents"), self.timeout_s))

    def watch_statistics(self, interval_s: float = 1.0) -> Stream[Statistics]:
        """Statistics at once, and then every `interval_s` seconds (0.01 at least)."""
        interval_ms = max(1, round(interval_s * 1000))
        request = agent_pb2.WatchStatisticsRequest(interval_ms=interval_ms)
        call = self._stub.WatchStatistics(request)
        what = self._what("WatchStatistics")
        return self._keep(Stream(call, _statistics, what, self.timeout_s))

    def run_exercise(self, request: ExerciseRequest) -> Stream[ExerciseResult]:
        """Begins an exercise. The stream has its result, when it has ended; to close the stream
        ends the exercise."""
        call = self._stub.RunExercise(to_message(request, agent_pb2.ExerciseRequest))
        return self._keep(Stream(call, _result, self._what("RunExercise"), self.timeout_s))

    def _keep(self, stream: _AnyStream) -> _AnyStream:
        self._streams.append(stream)
        return stream

    # -- what there is to know, paths, the end --------------------------------------------------

    def statistics(self) -> Statistics:
        """All counters now."""
        return from_message(self._call("GetStatistics"), Statistics)

    def ports(self) -> tuple[PortStatus, ...]:
        """All ports, by plane."""
        return tuple(from_message(port, PortStatus) for port in self._call("GetPorts").ports)

    def evs(self, qpn: int) -> tuple[EvStatus, ...]:
        """All paths of a queue pair, plane by plane."""
        answer = self._call("GetEvs", agent_pb2.QpRequest(qpn=qpn))
        return tuple(from_message(ev, EvStatus) for ev in answer.evs)

    def deny_ev(self, qpn: int, ev: int) -> None:
        """Takes a path out until `allow_ev`."""
        self._call("DenyEv", agent_pb2.EvRequest(qpn=qpn, ev=ev))

    def allow_ev(self, qpn: int, ev: int) -> None:
        """Gives a denied path back."""
        self._call("AllowEv", agent_pb2.EvRequest(qpn=qpn, ev=ev))

    def shutdown(self) -> None:
        """Asks the agent to end; it has not when this returns."""
        self._call("Shutdown")


def connect_pair(
    one: AgentClient, other: AgentClient, options: QpOptions | None = None
) -> tuple[QpInfo, QpInfo]:
    """A queue pair at each of two agents, connected; their descriptions in the same order."""
    near, far = one.create_qp(options), other.create_qp(options)
    one.connect_qp(near.qpn, far)
    other.connect_qp(far.qpn, near)
    return near, far
