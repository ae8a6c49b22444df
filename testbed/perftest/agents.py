# SPDX-License-Identifier: Apache-2.0
"""Two host agents, wherever they run: real packets, timed in the agents' own loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from time import monotonic
from types import TracebackType
from typing import Any, Self

from endpoint.agent.buffers import MOST_PASSED_BYTES
from endpoint.agent.calls import Stream
from endpoint.agent.client import AgentClient
from endpoint.agent.errors import AgentError, AgentTimeout
from endpoint.agent.exercises import Extent
from endpoint.agent.values import (
    AgentInfo,
    ExerciseKind,
    ExerciseLane,
    ExerciseRequest,
    ExerciseResult,
    PortStatus,
    QpInfo,
    Region,
)
from endpoint.qp_config import QpConfig
from testbed.perftest.errors import MeasurementFailed, PerftestError
from testbed.perftest.pair import End, PairFacts, Pattern, fail_on_errors
from testbed.perftest.settings import Quantity, Settings
from topologies.timing import data_frame_bytes, link_bytes

A_TEST_S = 2.0
"""About how long a test may take whose iterations nobody gave."""
CALL_S = 20.0
"""Deadline of a call: agents of a busy machine may be slow."""
_UNPACED_FRAMES_PER_S = 10_000
_LOOK_S = 0.2
_MOMENT_S = 1.0


class _Side:
    """What one agent sends: from one region, on all queue pairs, into one region each."""

    def __init__(self, client: AgentClient, peer: AgentClient) -> None:
        self.client = client
        self.peer = peer
        self.info: AgentInfo = client.info()
        self.qps: list[QpInfo] = []
        self.source: Region
        self.targets: list[Region] = []
        self.pattern: Pattern

    def register(self, settings: Settings, stack: ExitStack) -> None:
        """Memory at both ends, and what is to be sent; `stack` gives it back."""
        self.pattern = Pattern(self.info.host, settings.sizes)
        data = self.pattern.bytes
        self.source = self.client.register_memory(len(data), remote_write=False)
        stack.callback(_if_there, self.client.deregister_memory, self.source)
        for at in range(0, len(data), MOST_PASSED_BYTES):
            self.client.write_memory(self.source, at, data[at : at + MOST_PASSED_BYTES])
        for _ in self.qps:
            self.targets.append(self.peer.register_memory(max(settings.sizes)))
            stack.callback(_if_there, self.peer.deregister_memory, self.targets[-1])

    def lanes(self, size: int, count: int | None = None) -> tuple[ExerciseLane, ...]:
        """Those of the next test."""
        offset = self.pattern.next_offset()
        chosen = list(zip(self.qps, self.targets, strict=True))[:count]
        return tuple(
            ExerciseLane(qp.qpn, self.source.region_id, offset, size, target.va, target.rkey)
            for qp, target in chosen
        )

    def check(self, lanes: Sequence[ExerciseLane]) -> None:
        """MeasurementFailed unless the peer holds what was sent."""
        for lane, target in zip(lanes, self.targets, strict=False):
            for at in range(0, lane.length, MOST_PASSED_BYTES):
                length = min(MOST_PASSED_BYTES, lane.length - at)
                sent = self.pattern.bytes[lane.offset + at : lane.offset + at + length]
                if self.peer.read_memory(target, at, length) != sent:
                    host = self.peer.info().host
                    raise MeasurementFailed(f"bytes at {host} differ from those sent")


class AgentPair:
    """A context manager: queue pairs and memory are given back at its end.

    PerftestError when the two cannot be connected, AgentError when one does not answer.
    """

    def __init__(self, client: AgentClient, server: AgentClient, settings: Settings) -> None:
        self._settings = settings
        self._stack = ExitStack()
        self._near, self._far = _Side(client, server), _Side(server, client)
        near, far = self._near.info, self._far.info
        if near.fabric != far.fabric:
            raise PerftestError(
                f"{near.host} is a host of {near.fabric}, {far.host} one of {far.fabric}"
            )
        if near.host == far.host:
            raise PerftestError(f"{near.host}: a host does not write to itself")
        self._ports: tuple[PortStatus, ...] = client.ports()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for _ in range(self._settings.qps):
                self._connect(stack)
            for side in (self._near, self._far):
                side.register(self._settings, stack)
            self._stack = stack.pop_all()
        return self

    def _connect(self, stack: ExitStack) -> None:
        sides = (self._near, self._far)
        for side in sides:
            side.qps.append(side.client.create_qp(self._settings.qp))
            stack.callback(_if_there, side.client.destroy_qp, side.qps[-1].qpn)
        for side, peer in (sides, sides[::-1]):
            side.client.connect_qp(side.qps[-1].qpn, peer.qps[-1])

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def facts(self) -> PairFacts:
        near, far = self._near, self._far
        ends = tuple(
            (_end(near.info, a, from_far), _end(far.info, b, from_near))
            for a, b, from_far, from_near in zip(
                near.qps, far.qps, far.targets, near.targets, strict=True
            )
        )
        return PairFacts(
            "agents",
            near.info.fabric,
            near.info.planes,
            max((port.rate_bps for port in self._ports), default=0),
            near.qps[0].path_mtu,
            sum(ev.in_use for ev in near.client.evs(near.qps[0].qpn)),
            self._settings.qp.congestion or QpConfig().congestion,
            ends,
        )

    def most_iterations(self, size: int) -> int:
        mtu = self._near.qps[0].path_mtu
        packets = max(1, -(-size // mtu))
        rate = sum(_frames_per_s(port, mtu) for port in self._ports)
        took_s = packets / (rate or _UNPACED_FRAMES_PER_S)
        if self._settings.quantity is Quantity.LATENCY:
            took_s = 2 * took_s + self._near.info.base_rtt_ns / 1e9
        return int(A_TEST_S / took_s / self._settings.qps)

    def stream(self, size: int, extent: Extent) -> Sequence[ExerciseResult]:
        sides = (self._near, self._far)[: 2 if self._settings.bidirectional else 1]
        lanes = [side.lanes(size) for side in sides]
        results = self._run(
            [
                (side, _request(ExerciseKind.STREAM, chosen, extent, self._settings.tx_depth))
                for side, chosen in zip(sides, lanes, strict=True)
            ]
        )
        for side, chosen in zip(sides, lanes, strict=True):
            side.check(chosen)
        return results

    def ping_pong(self, size: int, extent: Extent) -> ExerciseResult:
        there, back = self._near.lanes(size, 1), self._far.lanes(size, 1)
        results = self._run(
            [
                (self._far, _request(ExerciseKind.PONG, back, Extent())),
                (self._near, _request(ExerciseKind.PING, there, extent)),
            ]
        )
        self._near.check(there)
        self._far.check(back)
        return results[1]

    def _run(self, work: Sequence[tuple[_Side, ExerciseRequest]]) -> list[ExerciseResult]:
        names = [side.info.host for side, _ in work]
        with ExitStack() as stack:
            running = [
                stack.enter_context(side.client.run_exercise(request)) for side, request in work
            ]
            return _await_all(names, running)


def _if_there(act: Callable[[Any], None], what: Any) -> None:
    """An agent that is gone has taken everything with it."""
    with suppress(AgentError):
        act(what)


def _await_all(
    names: Sequence[str], running: Sequence[Stream[ExerciseResult]]
) -> list[ExerciseResult]:
    """The results of these hosts, in order. After an error the others get a moment to tell theirs,
    since they may wait for ever. Nothing here costs the agents anything while they measure."""
    results: dict[int, ExerciseResult] = {}
    deadline: float | None = None
    while len(results) < len(running) and (deadline is None or monotonic() < deadline):
        for number, stream in enumerate(running):
            if number in results:
                continue
            try:
                results[number] = stream.get(_LOOK_S)[0]
            except AgentTimeout:
                continue
            except AgentError as error:
                raise MeasurementFailed(str(error)) from error
            if results[number].error and deadline is None:
                deadline = monotonic() + _MOMENT_S
    fail_on_errors([(names[number], result) for number, result in results.items()])
    return [results[number] for number in range(len(running))]


def _request(
    kind: ExerciseKind, lanes: tuple[ExerciseLane, ...], extent: Extent, depth: int = 1
) -> ExerciseRequest:
    return ExerciseRequest(
        kind, lanes, extent.iterations, depth, extent.duration_ns, extent.margin_ns
    )


def _frames_per_s(port: PortStatus, mtu: int) -> float:
    """Full data frames that a port may send a second."""
    rates = [float(port.rate_fps)] if port.rate_fps else []
    if port.rate_bps:
        rates.append(port.rate_bps / (8 * link_bytes(data_frame_bytes(mtu))))
    return min(rates, default=_UNPACED_FRAMES_PER_S)


def _end(info: AgentInfo, qp: QpInfo, written: Region) -> End:
    return End(info.host, qp.address, qp.qpn, qp.psn, written.va, written.rkey)
