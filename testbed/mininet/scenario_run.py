# SPDX-License-Identifier: Apache-2.0
"""One scenario on a fabric that is up: traffic and faults by the clock, and what was seen."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from endpoint.agent.errors import AgentError
from endpoint.agent.values import AgentEvent, Statistics
from testbed.faults import Occurrence, SwitchStop, plan
from testbed.mininet.breaker import CounterTable, NetBreaker, switch_counters
from testbed.mininet.clock import RunClock
from testbed.mininet.errors import MininetWorldError
from testbed.mininet.fault_worker import Done, FaultWorker
from testbed.mininet.flows import Flows, receiving, sending
from testbed.mininet.live import LiveFabric
from testbed.mininet.witness import Failed, Told, Witness
from testbed.scenario import Scenario
from testbed.virtual.traffic import FlowTraffic

Progress = Callable[[int, int], None]

_MOST_WAIT_S = 0.25
_CHECK_S = 1.0
_LEAST_SAMPLE_S = 0.05
_FOR_EVER_NS = 1 << 62
_LEAST_REST_S = 0.3
_READERS = 8


class ScenarioRun:
    """`scenario` in the time of the fabric (see `testbed.mininet.scaling`).

    Its hosts need agents. `run`, once; then the attributes hold what was seen. Raises
    MininetWorldError when a process ended or a fault could not be carried out.
    """

    def __init__(self, live: LiveFabric, scenario: Scenario, seed: int, folder: Path) -> None:
        self.live = live
        self.scenario = scenario
        self.seed = seed
        self.clock = RunClock()
        self.samples: dict[str, list[Statistics]] = {}
        self.events: list[tuple[str, AgentEvent]] = []
        self.counters: dict[str, CounterTable] = {}
        """Of each running switch, at rest after the run."""
        self.arrived: dict[str, dict[int, int]] = {}
        """Frames that reached each port of each switch in the run."""
        self.counters_before: dict[str, CounterTable] = {}
        self._arrived_before: dict[str, dict[int, int]] = {}
        self.ended_ns = 0
        self.flows = Flows(scenario, live.fabric, live.ends(), folder)
        self.breaker = NetBreaker(live.net, self.flows.uplink_in_use)
        self.occurrences = plan(scenario.faults, self._nic_links())
        self.worker: FaultWorker
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._untils: list[tuple[FlowTraffic, int]] = []

    def _nic_links(self) -> dict[tuple[str, int], str]:
        return {
            (link.a, link.a_port): link.name
            for link in self.live.fabric.links()
            if link.tier == "nic_t0"
        }

    # -- running ------------------------------------------------------------------------------

    def run(self, progress: Progress | None = None) -> None:
        """To its end: until all is done, at the latest for the scenario's duration."""
        try:
            if self.live.used:
                self.counters_before = self._read_counters()
            self._arrived_before = self._read_arrived()
            self.live.used = True
            self.flows.open(self.seed)
            self._untils = [
                (traffic, traffic.plan.until_ns)
                for traffic in self.flows.traffic
                if traffic.plan.until_ns is not None
            ]
            clients = {
                host: self.live.agents.clients[host]
                for flow in self.flows.flows
                for host in (flow.sender.name, flow.receiver.name)
            }
            interval_s = max(_LEAST_SAMPLE_S, self.scenario.measure.bin / 2e9)
            witness = Witness(clients, self._inbox, interval_s)
            self.worker = FaultWorker(self.breaker, self.flows, self.clock, self._inbox)
            try:
                self._set_agenda()
                self._loop(progress)
                self._look_back()
            finally:
                self.worker.close()
                witness.close()
            self._come_to_rest()
        except AgentError as error:
            self.live.check()
            raise MininetWorldError(str(error)) from error

    def _set_agenda(self) -> None:
        clock, worker = self.clock, self.worker
        clock.begin()
        for occurrence in self.occurrences:
            clock.at(occurrence.begin_ns, lambda o=occurrence: worker.begin(o))
            if occurrence.end_ns is not None:
                clock.at(occurrence.end_ns, lambda o=occurrence: self._mend(o))
        if self.flows.ring is not None:
            for host in self.flows.ring.hosts:
                clock.at(0, lambda h=host: h.start(clock.now_ns()))
        for traffic in self.flows.traffic:
            clock.at(traffic.plan.start_ns, lambda t=traffic: t.start(clock.now_ns()))

    def _mend(self, occurrence: Occurrence) -> None:
        if not isinstance(occurrence.fault, SwitchStop):
            self.worker.end(occurrence)
            return
        self.clock.pause()
        self._post_until(None)

        def go_on() -> None:
            self.clock.resume()
            self._post_until(self.clock.shift_ns)

        self.worker.end(occurrence, go_on)

    def _post_until(self, shift_ns: int | None) -> None:
        """Flows post until their time, shifted; or (None) without end for now."""
        for traffic, until_ns in self._untils:
            new = _FOR_EVER_NS if shift_ns is None else until_ns + shift_ns
            traffic.plan = replace(traffic.plan, until_ns=new)

    def _loop(self, progress: Progress | None) -> None:
        clock, duration = self.clock, self.scenario.duration
        next_check = time.monotonic() + _CHECK_S
        while clock.scenario_ns() < duration:
            clock.run_due()
            if clock.empty and self.worker.idle and not clock.paused and self.flows.done:
                break
            with suppress(queue.Empty):
                self._hear(self._inbox.get(timeout=clock.wait_s(_MOST_WAIT_S)))
            if time.monotonic() > next_check:
                self._check()
                next_check = time.monotonic() + _CHECK_S
                if progress is not None:
                    progress(clock.scenario_ns(), duration)
        self.ended_ns = clock.now_ns()

    def _check(self) -> None:
        """Has a process ended that no fault has stopped?"""
        net = self.live.net
        for switch in self.live.fabric.switches():
            if not self.breaker.is_stopped(switch.name):
                net.switch(switch.name).check()
        self.live.agents.check()

    def _hear(self, item: Told | Failed | Done) -> None:
        if isinstance(item, Failed):
            self.live.check()
            raise MininetWorldError(f"{item.host}: {item.error}")
        if isinstance(item, Done):
            if item.error is not None:
                raise MininetWorldError(str(item.error)) from item.error
            if item.action is not None:
                item.action()
            return
        if item.kind == "completions":
            for completion in item.items:
                self.flows.completion(item.host, completion, self.clock.of(completion.time_ns))
        elif item.kind == "events":
            self.events.extend((item.host, event) for event in item.items)
        else:
            for statistics in item.items:
                self._take(item.host, statistics)

    def _take(self, host: str, statistics: Statistics) -> None:
        self.samples.setdefault(host, []).append(statistics)
        for qp in statistics.qps:
            flow = self.flows.of_qp(host, qp.qpn)
            if flow is None:
                continue
            if flow.sender.name == host and flow.sender_qp.qpn == qp.qpn:
                sending(flow).take(qp)
            else:
                receiving(flow).statistics = qp

    # -- the end ------------------------------------------------------------------------------

    def _look_back(self) -> None:
        """Read everything once more while queue pairs are there."""
        for host in list(self.samples):
            self._take(host, self.live.agents.clients[host].statistics())
        after = self.worker.look()
        for carried in self.worker.carried.values():
            if carried.end_ns is None:
                carried.after = after
        deadline = time.monotonic() + _MOST_WAIT_S  # for events that are on their way
        while (left := deadline - time.monotonic()) > 0:
            with suppress(queue.Empty):
                self._hear(self._inbox.get(timeout=left))

    def _come_to_rest(self) -> None:
        """End the queue pairs, let what is in flight land, and read the switches' counters."""
        self.flows.close()
        self.flows.finish()
        time.sleep(max(_LEAST_REST_S, 2 * self.live.fabric.base_rtt_ns() / 1e9))
        self.counters = self._read_counters()
        self.arrived = {
            name: {port: frames - self._arrived_before[name][port] for port, frames in now.items()}
            for name, now in self._read_arrived().items()
        }

    def _read_counters(self) -> dict[str, CounterTable]:
        net = self.live.net
        names = [
            switch.name
            for switch in self.live.fabric.switches()
            if not self.breaker.is_stopped(switch.name)
        ]
        with ThreadPoolExecutor(_READERS) as pool:
            tables = pool.map(lambda name: switch_counters(net.switch(name), net.pipeline), names)
            return dict(zip(names, tables, strict=True))

    def _read_arrived(self) -> dict[str, dict[int, int]]:
        return {
            switch.name: self.live.net.frames_arrived(switch.name)
            for switch in self.live.fabric.switches()
        }

    def mend_all(self) -> None:
        """Undo what is still broken, for the next user of the fabric."""
        for occurrence in self.occurrences:
            self.breaker.mend(occurrence.index)
