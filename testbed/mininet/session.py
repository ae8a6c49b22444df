# SPDX-License-Identifier: Apache-2.0
"""What can be done with a fabric that is up, one thing after another: behind `mrc up`'s prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import topologies
from endpoint.agent.values import EvStatus
from testbed.expectations import judge
from testbed.mininet.breaker import CounterTable, NetBreaker, switch_counters
from testbed.mininet.capture_process import Capture
from testbed.mininet.errors import FaultError, MininetWorldError
from testbed.mininet.harvest import Harvest, limits
from testbed.mininet.live import LiveFabric
from testbed.mininet.run import check_scenario, run_environment
from testbed.mininet.scaling import scale_scenario
from testbed.mininet.scenario_run import Progress, ScenarioRun
from testbed.mininet.transfers import Pair, Transfer, TransferResult
from testbed.results import Environment, RunResult, write_results
from testbed.scenario import load_scenario
from topologies.errors import TopologyError
from topologies.fabric import Fabric, Link

Tell = Callable[[Transfer, TransferResult], None]


@dataclass(frozen=True, slots=True)
class OpenFault:
    """Something that is broken now."""

    number: int
    label: str


@dataclass(frozen=True, slots=True)
class PathTable:
    """The paths of one queue pair of a host."""

    peer: str
    qpn: int
    paths: tuple[EvStatus, ...]


class Session:
    """Acts on a live fabric. `described` and `time_scale`: what it was before it was slowed down.

    `tell` hears of transfers that have ended, in their threads. Raises MininetWorldError,
    TopologyError for names that the fabric does not have, AgentError when an agent does not answer.
    """

    def __init__(
        self,
        live: LiveFabric,
        described: Fabric,
        time_scale: float,
        results: Path,
        tell: Tell,
    ) -> None:
        self.live = live
        self.fabric = live.fabric
        self.described = described
        self.time_scale = time_scale
        self.results = results
        self.breaker = NetBreaker(live.net, self._uplink_in_use, tag="up")
        self.transfers: dict[int, Transfer] = {}
        self.captures: dict[str, Capture] = {}
        self._tell = tell
        self._pairs: dict[tuple[str, str], Pair] = {}
        self._faults: dict[int, str] = {}
        self._next_fault = 0
        self._next_transfer = 1

    def close(self) -> None:
        """End captures, so that their files are whole."""
        for link in list(self.captures):
            self.end_capture(link)

    # -- traffic ------------------------------------------------------------------------------

    def write(self, source: str, target: str, length: int) -> Transfer:
        """Begin to write random bytes from one host to another."""
        if source == target:
            raise MininetWorldError(f"{source} cannot write to itself")
        for name in (source, target):
            self.fabric.host(name)
        number = self._next_transfer
        transfer = Transfer(
            number, self._pair(source, target), length, self.live.run.path, self._ended
        )
        self._next_transfer += 1
        self.transfers[number] = transfer
        self.live.used = True
        transfer.start()
        return transfer

    def _pair(self, source: str, target: str) -> Pair:
        pair = self._pairs.get((source, target))
        if pair is None:
            clients = self.live.agents.clients
            pair = self._pairs[source, target] = Pair(clients[source], clients[target])
        return pair

    def _ended(self, transfer: Transfer, result: TransferResult) -> None:
        self.transfers.pop(transfer.number, None)
        if (
            result.error is not None
        ):  # its queue pair may be in ERROR: the next write gets a new one
            for ends, pair in list(self._pairs.items()):
                if transfer.uses(pair):
                    self._pairs.pop(ends, None)
        self._tell(transfer, result)

    def wait(self) -> None:
        """Until all transfers have ended."""
        for transfer in list(self.transfers.values()):
            transfer.join()

    def expected_seconds(self, length: int) -> float:
        """How long a write takes when nothing else is sent and nothing is broken, about."""
        planes = self.fabric.spec.planes
        return length * 8 / (self.fabric.nic_rate_bps * planes * self._payload_share())

    def _payload_share(self) -> float:
        overheads, sending_bps = limits(self.fabric, self.live.switch_kind)
        rate = self.fabric.nic_rate_bps
        return min(rate * overheads.share(with_sacks=False), sending_bps) / rate

    def paths(self, host: str) -> list[PathTable]:
        """Every queue pair that sends from a host."""
        self.fabric.host(host)
        client = self.live.agents.clients[host]
        return [
            PathTable(target, pair.near.qpn, client.evs(pair.near.qpn))
            for (source, target), pair in self._pairs.items()
            if source == host
        ]

    def _uplink_in_use(self, source: str, target: str, plane: int) -> int:
        for table in self.paths(source):
            for path in table.paths:
                if table.peer == target and path.plane == plane and path.in_use:
                    return path.uplink
        raise FaultError(f"no write from {source} to {target} uses a path in plane {plane} now")

    # -- faults -------------------------------------------------------------------------------

    @property
    def faults(self) -> list[OpenFault]:
        """What is broken now."""
        return [OpenFault(number, label) for number, label in self._faults.items()]

    def link(self, one: str, other: str) -> Link:
        """The link between two nodes, whichever is named first."""
        try:
            return self.fabric.link(f"{one}-{other}")
        except TopologyError:
            return self.fabric.link(f"{other}-{one}")

    def break_it(self, label: str, act: Callable[[int], None]) -> OpenFault:
        """Carry out a fault: `act` calls a verb of `breaker` with the number that it is given."""
        number = self._next_fault
        self._next_fault += 1
        try:
            act(number)
        except BaseException:
            self.breaker.mend(number)
            raise
        self._faults[number] = label
        return OpenFault(number, label)

    def heal(self, number: int) -> None:
        """Mend one fault."""
        if number not in self._faults:
            raise MininetWorldError(f"there is no fault {number}")
        del self._faults[number]
        self.breaker.mend(number)

    def heal_all(self) -> list[str]:
        """Mend everything; labels of what was broken."""
        labels = list(self._faults.values())
        for number in list(self._faults):
            self.heal(number)
        return labels

    def stopped_by(self, switch: str) -> int | None:
        """The fault that has stopped a switch."""
        label = f"stop switch {switch}"
        return next((number for number, of in self._faults.items() if of == label), None)

    def start_switch(self, switch: str) -> None:
        """Bring a stopped switch back, or one that has ended by itself."""
        self.fabric.switch(switch)
        number = self.stopped_by(switch)
        if number is not None:
            self.heal(number)
        elif self.live.net.switch(switch).running:
            raise MininetWorldError(f"{switch} is running")
        else:
            self.live.net.start_switches([switch])

    # -- looking ------------------------------------------------------------------------------

    def counters(self, switch: str) -> CounterTable:
        """Every counter of a running switch, since it was started."""
        self.fabric.switch(switch)
        process = self.live.net.switch(switch)
        if not process.running:
            raise MininetWorldError(f"{switch} is not running")
        return switch_counters(process, self.live.net.pipeline)

    def begin_capture(self, link: str) -> Path:
        """Write both directions of a link to a file until `end_capture`."""
        if link in self.captures:
            raise MininetWorldError(f"{link} is being captured already")
        capture = self.captures[link] = self.live.capture(link, self.results)
        return capture.path

    def end_capture(self, link: str) -> Path:
        """The file that was written."""
        capture = self.captures.pop(link, None)
        if capture is None:
            raise MininetWorldError(f"{link} is not being captured")
        capture.close()
        return capture.path

    def restart_agent(self, host: str) -> None:
        """Give a host a new agent; its queue pairs are gone, and so are those to it."""
        self.fabric.host(host)
        for ends in [ends for ends in self._pairs if host in ends]:
            del self._pairs[ends]
        self.live.agents.restart(host)

    # -- scenarios ----------------------------------------------------------------------------

    def scenario(
        self, name: str, progress: Progress | None = None
    ) -> tuple[RunResult, Environment, Path]:
        """Run a scenario on this fabric, and judge it."""
        scenario = load_scenario(name)
        if topologies.load(scenario.topology) != self.described:
            raise MininetWorldError(
                f"{scenario.name} is for {scenario.topology}; this is {self.described.name}"
            )
        if self._faults:
            raise MininetWorldError("something is broken: `heal` first")
        if self.transfers:
            raise MininetWorldError("writes are under way: `wait` first")
        check_scenario(scenario, self.described)
        folder = self.results / scenario.name
        files = self.live.run.file(f"scenario{self._next_transfer}")
        files.mkdir()
        self._next_transfer += 1
        scaled = scale_scenario(scenario, self.time_scale)
        run = ScenarioRun(self.live, scaled, scenario.seed, files)
        try:
            run.run(progress)
        finally:
            run.mend_all()
        result = Harvest(run, self.described, self.time_scale).result()
        result.checks = judge(result, scaled.expect)
        result.passed = all(check.ok for check in result.checks)
        ran = run_environment(run, self.live.switch_kind, run.ended_ns / 1e9)
        write_results(folder, result, ran)
        return result, ran, folder
