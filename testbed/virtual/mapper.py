# SPDX-License-Identifier: Apache-2.0
"""The Clustermapper in the virtual world: every NIC probes, one map, and its policy.

NICs hand their outcomes over once an interval; that hand-over is not simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controller.clustermap import ClusterMap, LoopId
from controller.deny_policy import Path, denied_paths
from endpoint.ev_states import EvState
from endpoint.link_prober import LinkProber, ProberConfig
from endpoint.queue_pair import QueuePair
from testbed.faults import Occurrence
from testbed.map_options import MapOptions
from testbed.mapped import MapResult, compare_with_truth, map_findings
from testbed.virtual.host import HostNode
from testbed.virtual.loop import EventLoop
from topologies.fabric import Fabric
from topologies.sids import ev_plane, ev_uplink

_TIMEOUT_RTTS = 4
_KEEP_INTERVALS = 500


class Mapper:
    """`start` before the run; `map` is what is known so far."""

    def __init__(
        self, loop: EventLoop, fabric: Fabric, hosts: Sequence[HostNode], options: MapOptions
    ) -> None:
        self.options = options
        self.timeout_ns = options.timeout or _TIMEOUT_RTTS * fabric.base_rtt_ns()
        keep_ns = round(_KEEP_INTERVALS * options.interval / options.t1_share)
        self.map = ClusterMap(fabric, self.timeout_ns, keep_ns)
        self._loop = loop
        self._fabric = fabric
        self._hosts = hosts
        self._probers: list[LinkProber] = []
        self._denied: dict[QueuePair, set[Path]] = {}
        self._on = False

    def start(self) -> None:
        """Let every NIC probe from now on."""
        self._on = True
        config = ProberConfig(self.options.interval, self.timeout_ns, self.options.t1_share)
        for host in self._hosts:
            self._probers.append(host.nic.probe_links(config, self._loop.now))
            host.pump(self._loop.now)
        self._loop.at(self._loop.now + self.options.interval, self._look)

    def stop(self) -> None:
        """The map stays as it is."""
        self._on = False

    def _look(self, now: int, _: Any) -> None:
        if not self._on:
            return
        for prober in self._probers:
            for outcome in prober.take():
                loop = LoopId(outcome.plane, outcome.host, outcome.t1)
                self.map.take(loop, outcome.sent_ns, outcome.rtt_ns is not None)
        if self.map.conclude(now) and self.options.policy == "deny":
            self._deny(now)
        self._loop.at(now + self.options.interval, self._look)

    def _deny(self, now: int) -> None:
        named = [found.element for found in self.map.open_findings if found.certain]
        for host in self._hosts:
            for qp in host.nic.queue_pairs():
                _, source, destination = qp.ends
                wanted = denied_paths(self._fabric, source, destination, named)
                before = self._denied.get(qp, set())
                for ev in qp.evs.all_evs():
                    path = (ev_plane(ev), ev_uplink(ev))
                    if path in wanted and path not in before:
                        qp.evs.deny(ev, now)
                    elif path in before - wanted and qp.evs.state(ev) is EvState.DENIED:
                        qp.evs.allow(ev, now)
                self._denied[qp] = wanted
            host.pump(now)

    def result(self, occurrences: Sequence[Occurrence]) -> MapResult:
        """What the map knew at the end, beside what was really broken."""
        findings = map_findings(self.map.findings)
        faults, wrong = compare_with_truth(findings, occurrences, self.timeout_ns)
        return MapResult(
            interval_ns=self.options.interval,
            t1_share=self.options.t1_share,
            timeout_ns=self.timeout_ns,
            policy=self.options.policy,
            probes=self.map.probes,
            probes_lost=self.map.lost,
            findings=findings,
            faults=faults,
            wrong=wrong,
        )
