# SPDX-License-Identifier: Apache-2.0
"""Carries out faults in a thread of their own, and notes when, and what paths looked like then."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from endpoint.agent.errors import AgentError
from endpoint.agent.values import EvStatus
from testbed.faults import Occurrence
from testbed.mininet.breaker import NetBreaker
from testbed.mininet.clock import RunClock
from testbed.mininet.errors import MininetWorldError
from testbed.mininet.flows import Flows, sending
from testbed.scenario import ScenarioError

Paths = dict[int, Sequence[EvStatus]]
"""By flow: every path, as the sender's agent has it."""


@dataclass(slots=True)
class Carried:
    """One occurrence, as it happened, in the run's time. `srtt_ns` by flow, at its begin."""

    occurrence: Occurrence
    begin_ns: int
    took_ns: int = 0
    end_ns: int | None = None
    mending_took_ns: int | None = None
    before: Paths = field(default_factory=dict)
    after: Paths = field(default_factory=dict)
    srtt_ns: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """What the worker was asked for is done, or has failed."""

    action: Callable[[], None] | None
    error: Exception | None


class FaultWorker:
    """One thing at a time, in the order asked; `Done` goes to `inbox` after each."""

    def __init__(
        self, breaker: NetBreaker, flows: Flows, clock: RunClock, inbox: queue.SimpleQueue[Any]
    ) -> None:
        self.carried: dict[int, Carried] = {}
        self._breaker = breaker
        self._flows = flows
        self._clock = clock
        self._inbox = inbox
        self._jobs: queue.SimpleQueue[tuple[Callable[[], None], Callable[[], None] | None] | None]
        self._jobs = queue.SimpleQueue()
        self._asked = self._finished = 0
        self._thread = threading.Thread(target=self._work, name="faults", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        return self._asked == self._finished

    def begin(self, occurrence: Occurrence) -> None:
        """Break something, soon."""
        self._ask(lambda: self._begin(occurrence), None)

    def end(self, occurrence: Occurrence, afterwards: Callable[[], None] | None = None) -> None:
        """Mend it, soon; `afterwards` is handed to whoever reads the inbox."""
        self._ask(lambda: self._end(occurrence), afterwards)

    def close(self) -> None:
        """Finish what was asked for, and end."""
        self._jobs.put(None)
        self._thread.join()

    def _ask(self, job: Callable[[], None], afterwards: Callable[[], None] | None) -> None:
        self._asked += 1
        self._jobs.put((job, afterwards))

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, afterwards = item
            error: Exception | None = None
            try:
                job()
            except (MininetWorldError, AgentError, ScenarioError) as failure:
                error = failure
            self._finished += 1
            self._inbox.put(Done(afterwards, error))

    def _begin(self, occurrence: Occurrence) -> None:
        before = self.look()
        carried = Carried(occurrence, self._clock.now_ns(), before=before)
        carried.srtt_ns = {flow.index: flow.srtt_ns for flow in self._flows.flows}
        self.carried[occurrence.index] = carried
        occurrence.begin(self._breaker)
        carried.took_ns = self._clock.now_ns() - carried.begin_ns

    def _end(self, occurrence: Occurrence) -> None:
        carried = self.carried[occurrence.index]
        carried.after = self.look()
        started = self._clock.now_ns()
        occurrence.end(self._breaker)
        carried.end_ns = self._clock.now_ns()
        carried.mending_took_ns = carried.end_ns - started

    def look(self) -> Paths:
        """The paths of all flows now."""
        return {flow.index: sending(flow).paths() for flow in self._flows.flows}
