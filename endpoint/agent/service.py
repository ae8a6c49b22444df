# SPDX-License-Identifier: Apache-2.0
"""The gRPC service: translates requests into commands for the loop, and answers into messages.

Each call runs in a thread of the server; none of them touches the engine itself.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import TypeVar

import grpc
from google.protobuf import empty_pb2

from endpoint.agent import errors
from endpoint.agent.buffers import map_buffer
from endpoint.agent.commands import CommandQueue, LoopStopped
from endpoint.agent.convert import event_message, from_message, to_message
from endpoint.agent.host import AgentHost
from endpoint.agent.proto import agent_pb2, agent_pb2_grpc
from endpoint.agent.values import ExerciseRequest, QpInfo, QpOptions, WriteWork

Result = TypeVar("Result")

COMMAND_TIMEOUT_S = 10.0
"""For calls without a deadline of their own."""
LEAST_INTERVAL_S = 0.01
_POLL_S = 0.5

_CODES = {
    errors.BadRequest: grpc.StatusCode.INVALID_ARGUMENT,
    errors.UnknownObject: grpc.StatusCode.NOT_FOUND,
    errors.WrongState: grpc.StatusCode.FAILED_PRECONDITION,
    errors.LimitReached: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
_log = logging.getLogger("agent")


class AgentService(agent_pb2_grpc.AgentServicer):
    """`stop` ends the agent. At most `streams` streams are open at a time."""

    def __init__(
        self, host: AgentHost, commands: CommandQueue, stop: Callable[[], None], streams: int
    ) -> None:
        self._host = host
        self._commands = commands
        self._stop = stop
        self._streams = threading.Semaphore(streams)

    def _do(self, context: grpc.ServicerContext, command: Callable[[int], Result]) -> Result:
        """Runs a command in the loop; ends the call with a status where that fails."""
        remaining = context.time_remaining()
        timeout_s = COMMAND_TIMEOUT_S if remaining is None else min(remaining, COMMAND_TIMEOUT_S)
        try:
            return self._commands.call(command, timeout_s)
        except errors.RequestError as error:
            context.abort(_CODES[type(error)], str(error))
        except TimeoutError:
            context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "the agent's loop is too busy")
        except LoopStopped:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the agent is shutting down")
        except Exception as error:
            _log.exception("a command failed")
            context.abort(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")
        raise AssertionError("abort returned")

    # -- agent and memory -----------------------------------------------------------------------

    def GetInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> agent_pb2.AgentInfo:
        return to_message(self._do(context, self._host.info), agent_pb2.AgentInfo)

    def RegisterMemory(
        self, request: agent_pb2.RegisterMemoryRequest, context: grpc.ServicerContext
    ) -> agent_pb2.Region:
        file = request.file if request.HasField("file") else None
        try:
            buffer = map_buffer(request.length, file, request.create, request.remote_write)
        except errors.RequestError as error:
            context.abort(_CODES[type(error)], str(error))
        memory = self._host.memory
        region = self._do(context, lambda _: memory.register(buffer, request.remote_write))
        return to_message(region, agent_pb2.Region)

    def DeregisterMemory(
        self, request: agent_pb2.DeregisterMemoryRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        self._do(context, lambda _: self._host.memory.deregister(request.region_id))
        return empty_pb2.Empty()

    def ReadMemory(
        self, request: agent_pb2.ReadMemoryRequest, context: grpc.ServicerContext
    ) -> agent_pb2.Bytes:
        memory = self._host.memory
        data = self._do(
            context, lambda _: memory.read(request.region_id, request.offset, request.length)
        )
        return agent_pb2.Bytes(data=data)

    def WriteMemory(
        self, request: agent_pb2.WriteMemoryRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        memory = self._host.memory
        self._do(context, lambda _: memory.write(request.region_id, request.offset, request.data))
        return empty_pb2.Empty()

    # -- queue pairs and work requests ----------------------------------------------------------

    def CreateQp(
        self, request: agent_pb2.QpOptions, context: grpc.ServicerContext
    ) -> agent_pb2.QpInfo:
        options = from_message(request, QpOptions)
        info = self._do(context, lambda _: self._host.create_qp(options))
        return to_message(info, agent_pb2.QpInfo)

    def ConnectQp(
        self, request: agent_pb2.ConnectQpRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        peer = from_message(request.peer, QpInfo)
        self._do(context, lambda now_ns: self._host.connect_qp(request.qpn, peer, now_ns))
        return empty_pb2.Empty()

    def DestroyQp(
        self, request: agent_pb2.QpRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        self._do(context, lambda now_ns: self._host.destroy_qp(request.qpn, now_ns))
        return empty_pb2.Empty()

    def PostWrites(
        self, request: agent_pb2.PostWritesRequest, context: grpc.ServicerContext
    ) -> agent_pb2.Posted:
        writes = [from_message(write, WriteWork) for write in request.writes]
        time_ns = self._do(
            context, lambda now_ns: self._host.post_writes(request.qpn, writes, now_ns)
        )
        return agent_pb2.Posted(time_ns=time_ns)

    def PostReceives(
        self, request: agent_pb2.PostReceivesRequest, context: grpc.ServicerContext
    ) -> agent_pb2.Posted:
        wr_ids = list(request.wr_ids)
        time_ns = self._do(
            context, lambda now_ns: self._host.post_receives(request.qpn, wr_ids, now_ns)
        )
        return agent_pb2.Posted(time_ns=time_ns)

    # -- streams --------------------------------------------------------------------------------

    @contextmanager
    def _stream(self, context: grpc.ServicerContext) -> Iterator[None]:
        if not self._streams.acquire(blocking=False):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many streams are open")
        try:
            yield
        finally:
            self._streams.release()

    def WatchCompletions(
        self, request: agent_pb2.WatchRequest, context: grpc.ServicerContext
    ) -> Iterator[agent_pb2.CompletionBatch]:
        journal = self._host.completions
        after = request.after if request.HasField("after") else journal.last
        wanted = request.qpn if request.HasField("qpn") else None
        with self._stream(context):
            yield agent_pb2.CompletionBatch(last=after)
            while context.is_active():
                items, after, missed = journal.read(after, _POLL_S)
                if missed:
                    context.abort(
                        grpc.StatusCode.DATA_LOSS, f"{missed} completions were dropped unread"
                    )
                chosen = [item for item in items if wanted is None or item.qpn == wanted]
                if chosen:
                    messages = [to_message(item, agent_pb2.Completion) for item in chosen]
                    yield agent_pb2.CompletionBatch(completions=messages, last=after)
                if not items and journal.closed:
                    return

    def WatchEvents(
        self, request: agent_pb2.WatchRequest, context: grpc.ServicerContext
    ) -> Iterator[agent_pb2.EventBatch]:
        journal = self._host.events
        after = request.after if request.HasField("after") else journal.last
        with self._stream(context):
            yield agent_pb2.EventBatch(last=after)
            while context.is_active():
                items, after, missed = journal.read(after, _POLL_S)
                if items:
                    messages = [event_message(item) for item in items]
                    yield agent_pb2.EventBatch(events=messages, last=after, missed=missed)
                elif journal.closed:
                    return

    def GetStatistics(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> agent_pb2.Statistics:
        return to_message(self._do(context, self._host.statistics), agent_pb2.Statistics)

    def WatchStatistics(
        self, request: agent_pb2.WatchStatisticsRequest, context: grpc.ServicerContext
    ) -> Iterator[agent_pb2.Statistics]:
        interval_s = max(LEAST_INTERVAL_S, request.interval_ms / 1000)
        journal = self._host.events  # its end is the agent's
        due = monotonic()
        with self._stream(context):
            while context.is_active() and not journal.closed:
                yield self.GetStatistics(empty_pb2.Empty(), context)
                due = max(due + interval_s, monotonic())
                while context.is_active() and not journal.closed and monotonic() < due:
                    sleep(min(_POLL_S, max(0.0, due - monotonic())))

    def RunExercise(
        self, request: agent_pb2.ExerciseRequest, context: grpc.ServicerContext
    ) -> Iterator[agent_pb2.ExerciseUpdate]:
        exercises = self._host.exercises
        try:
            wanted = from_message(request, ExerciseRequest)
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"exercise: {error}")
        with self._stream(context):
            running = self._do(context, lambda now_ns: exercises.start(wanted, now_ns))
            try:
                yield agent_pb2.ExerciseUpdate()
                while context.is_active():
                    with suppress(FutureTimeout):
                        result = running.result.result(_POLL_S)
                        message = to_message(result, agent_pb2.ExerciseResult)
                        yield agent_pb2.ExerciseUpdate(result=message)
                        return
            finally:
                if not running.result.done():
                    with suppress(LoopStopped, TimeoutError):
                        self._commands.call(
                            lambda _: exercises.end(running, "cancelled"), COMMAND_TIMEOUT_S
                        )

    # -- paths, ports, end ----------------------------------------------------------------------

    def GetEvs(
        self, request: agent_pb2.QpRequest, context: grpc.ServicerContext
    ) -> agent_pb2.EvList:
        evs = self._do(context, lambda _: self._host.evs(request.qpn))
        return agent_pb2.EvList(evs=[to_message(ev, agent_pb2.EvStatus) for ev in evs])

    def DenyEv(
        self, request: agent_pb2.EvRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        return self._set_denied(request, context, True)

    def AllowEv(
        self, request: agent_pb2.EvRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        return self._set_denied(request, context, False)

    def _set_denied(
        self, request: agent_pb2.EvRequest, context: grpc.ServicerContext, denied: bool
    ) -> empty_pb2.Empty:
        host, qpn, ev = self._host, request.qpn, request.ev
        self._do(context, lambda now_ns: host.set_ev_denied(qpn, ev, denied, now_ns))
        return empty_pb2.Empty()

    def GetPorts(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> agent_pb2.PortList:
        ports = self._do(context, lambda _: self._host.port_states())
        return agent_pb2.PortList(ports=[to_message(port, agent_pb2.PortStatus) for port in ports])

    def Shutdown(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        context.add_callback(self._stop)
        return empty_pb2.Empty()
