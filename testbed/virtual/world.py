# SPDX-License-Identifier: Apache-2.0
"""The virtual world: a whole fabric with its endpoints, built from a scenario, run to its end."""

from __future__ import annotations

from collections.abc import Callable

from endpoint.events import Event
from softswitch.program import Program
from testbed.faults import Occurrence, plan
from testbed.losses import FlowKey, Losses
from testbed.measure import Bins
from testbed.scenario import Scenario
from testbed.virtual.breakage import Breaker
from testbed.virtual.flows import FlowBook
from testbed.virtual.mapper import Mapper
from testbed.virtual.plant import Plant
from testbed.virtual.provisioning import Provisioning
from testbed.virtual.sampling import Sampler, make_sampler
from topologies.fabric import Fabric

Progress = Callable[[int, int], None]
"""Called now and then with the world's time and the scenario's duration, in ns."""

_CHUNK_NS = 5_000
_DRAIN_NS = 2_000_000


class VirtualWorld(Plant):
    """One run of one scenario. ``program`` is what every switch runs.

    Tables are written directly unless another ``provisioning`` is given.
    """

    def __init__(
        self,
        scenario: Scenario,
        fabric: Fabric,
        program: Program,
        seed: int,
        provisioning: Provisioning | None = None,
    ) -> None:
        losses = Losses(self._srtt_ns)
        super().__init__(fabric, program, seed, losses, scenario.measure.bin, provisioning)
        self.scenario = scenario
        self.flow_goodput = Bins(0, scenario.measure.bin)
        self.busy_samples: list[tuple[int, list[list[int]]]] = []
        """Now and then: the time, and the ns that each port of each host has been sending."""
        self.flows = FlowBook(self.loop, fabric, scenario, self.hosts, seed)
        self.occurrences = self._plan_faults()
        for flow in self.flows.flows:
            stats = flow.receiver_qp.stats
            flow.receiver.expect(flow.receiver_qp.qpn, stats, self.flow_goodput.add_row())
        self.events: list[tuple[str, Event]] = []
        """What the endpoints reported, each with its host."""
        self.ended_ns = 0
        self.sampler: Sampler = make_sampler(
            scenario, fabric, self.loop, self.switches, self.flows.flows
        )
        self.mapper = (
            None if scenario.map is None else Mapper(self.loop, fabric, self.hosts, scenario.map)
        )

    def _srtt_ns(self, key: FlowKey) -> int:
        return self.flows.srtt_ns(key)

    def _plan_faults(self) -> list[Occurrence]:
        self.breaker = Breaker(
            self.loop,
            self.fabric,
            self.wires,
            self.switches,
            self.losses,
            self.scenario.endpoint.carrier_delay,
            self.flows.uplink_in_use,
        )
        nic_links = {
            (wire.host.name, wire.host_port): wire.name
            for wire in self.wires.values()
            if wire.host is not None
        }
        return plan(self.scenario.faults, nic_links)

    # -- running ------------------------------------------------------------------------------

    def run(self, progress: Progress | None = None) -> None:
        """Run until all is done, at the latest for the scenario's duration.

        Then the endpoints fall silent and what is in flight lands, so that queues can be
        compared at rest.
        """
        loop, duration = self.loop, self.scenario.duration
        for occurrence in self.occurrences:
            loop.at(occurrence.begin_ns, self._begin, occurrence)
            if occurrence.end_ns is not None:
                loop.at(occurrence.end_ns, self._end, occurrence)
        last_change = max((o.end_ns or o.begin_ns for o in self.occurrences), default=0)
        self.flows.start()
        self.sampler.start()
        if self.mapper is not None:
            self.mapper.start()
        with self.captures:
            while loop.now < duration:
                # Where nothing happens for long (far hosts, long timers) there is one long step.
                step = max(loop.now + _CHUNK_NS, loop.heap[0][0] if loop.heap else duration)
                loop.run(min(step, duration))
                self._sample()
                if progress is not None:
                    progress(loop.now, duration)
                if loop.now >= last_change and self.flows.done:
                    break
            self.ended_ns = loop.now
            self._drain()
        self.flows.finish()

    def _drain(self) -> None:
        self.sampler.stop()
        if self.mapper is not None:
            self.mapper.stop()
        for host in self.hosts:
            host.quiet = True
        while self.loop.heap and self.loop.now < self.ended_ns + _DRAIN_NS:
            self.loop.run(self.loop.now + _CHUNK_NS)
        self._sample()

    def _begin(self, now: int, occurrence: Occurrence) -> None:
        self.losses.begin(occurrence.index, now)
        occurrence.begin(self.breaker)

    def _end(self, _: int, occurrence: Occurrence) -> None:
        occurrence.end(self.breaker)

    def _sample(self) -> None:
        busy = [[port.busy_ns for port in host.ports] for host in self.hosts]
        self.busy_samples.append((self.loop.now, busy))
        for host in self.hosts:
            self.events.extend((host.name, event) for event in host.nic.events())
