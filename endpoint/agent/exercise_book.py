# SPDX-License-Identifier: Apache-2.0
"""The exercises at work in one agent, and whose completions are theirs. In the loop's thread."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from endpoint.agent.buffers import MemoryBook
from endpoint.agent.errors import BadRequest, UnknownObject, WrongState
from endpoint.agent.exercises import Exercise, Extent, Lane, make
from endpoint.agent.values import ExerciseLane, ExerciseRequest, ExerciseResult
from endpoint.events import Completion
from endpoint.nic import Nic
from endpoint.qp_states import QpState, QpStateError

MOST_RECORDED = 1 << 20
"""Iterations whose times one exercise keeps, over all its queue pairs."""
MOST_DEPTH = 1 << 14


class RunningExercise:
    """One exercise at work. `result` may be waited for in any thread."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self.result: Future[ExerciseResult] = Future()


class ExerciseBook:
    """False while nothing is at work."""

    def __init__(self, nic: Nic, memory: MemoryBook) -> None:
        self._nic = nic
        self._memory = memory
        self._by_qpn: dict[int, RunningExercise] = {}

    def __bool__(self) -> bool:
        return bool(self._by_qpn)

    def start(self, request: ExerciseRequest, now_ns: int) -> RunningExercise:
        """Begins. A RequestError says why it cannot."""
        if request.iterations * len(request.lanes) > MOST_RECORDED:
            raise BadRequest(f"exercise: more than {MOST_RECORDED} iterations")
        if request.depth > MOST_DEPTH:
            raise BadRequest(f"exercise: a depth of {request.depth} is more than {MOST_DEPTH}")
        lanes = [self._lane(lane) for lane in request.lanes]
        extent = Extent(request.iterations, request.duration_ns, request.margin_ns)
        try:
            exercise = make(request.kind, lanes, extent, request.depth)
            exercise.start(now_ns)
        except QpStateError as error:
            raise WrongState(str(error)) from error
        except ValueError as error:
            raise BadRequest(str(error)) from error
        running = RunningExercise(exercise)
        for qpn in exercise.qpns:
            self._by_qpn[qpn] = running
        return running

    def _lane(self, lane: ExerciseLane) -> Lane:
        qp = self._nic.qp(lane.qpn)
        if qp is None:
            raise UnknownObject(f"there is no queue pair {lane.qpn}")
        if lane.qpn in self._by_qpn:
            raise WrongState(f"QP {lane.qpn} is in another exercise")
        if qp.state is not QpState.RTS:
            raise WrongState(f"QP {lane.qpn}: cannot send in {qp.state.name}")
        data = self._memory.view(lane.region_id, lane.offset, lane.length)
        return Lane(qp, data, lane.remote_va, lane.rkey)

    def take(self, completions: Sequence[Completion], now_ns: int) -> list[Completion]:
        """Feeds exercises with what is theirs, and gives back the rest."""
        others = []
        for completion in completions:
            running = self._by_qpn.get(completion.qpn)
            if running is None:
                others.append(completion)
                continue
            running.exercise.hear(completion, now_ns)
            self._look(running)
        return others

    def end(self, running: RunningExercise, reason: str) -> None:
        """Ends one, unless it has ended. Its queue pairs are free again when what it had posted
        has completed."""
        if not running.exercise.done:
            running.exercise.end(reason)
        self._look(running)

    def close(self) -> None:
        """Ends all."""
        for running in list(self._by_qpn.values()):
            self.end(running, "the agent is shutting down")

    def _look(self, running: RunningExercise) -> None:
        exercise = running.exercise
        if exercise.done and not running.result.done():
            running.result.set_result(exercise.result())
        if exercise.drained:
            for qpn in exercise.qpns:
                self._by_qpn.pop(qpn, None)
