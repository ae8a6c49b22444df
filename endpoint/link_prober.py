# SPDX-License-Identifier: Apache-2.0
"""Probes that a NIC sends to itself, by its T0s and a share of its T1s (P1: Clustermapper).

A loop probe is an EV Probe whose source and destination are the sending NIC: source-routed to a
T0, or by it to a T1, and back. It is on the control class, so no queue of data delays or cuts it,
and no other node is asked anything. What came back and what did not is all that a map of the
fabric's links needs (`controller.clustermap`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from endpoint.host_services import HostServices
from endpoint.serial import ID_MASK
from endpoint.wire.build import ControlTemplate, PathAddresses
from endpoint.wire.endpoint_message import OP_EV_PROBE, EndpointRequest
from endpoint.wire.frame import ParsedFrame
from endpoint.wire.opcodes import ENDPOINT_QP
from endpoint.wire.tseth import ticks
from topologies.sids import ev_pack


class Loop(NamedTuple):
    """By the T0 of `plane` and back, or with `t1` (0-based) by that T1 too."""

    plane: int
    t1: int | None


class LoopOutcome(NamedTuple):
    """What became of one probe: `rtt_ns` is None when it did not come back in time."""

    host: int
    plane: int
    t1: int | None
    sent_ns: int
    rtt_ns: int | None


@dataclass(frozen=True, slots=True)
class ProberConfig:
    """Every `interval_ns` each T0 is probed once, and `t1_share` (0 to 1, rounded up to whole
    T1s) of each plane's T1s, in turn. A probe older than `timeout_ns` is lost."""

    interval_ns: int
    timeout_ns: int
    t1_share: float = 1.0

    def __post_init__(self) -> None:
        if self.interval_ns < 1 or self.timeout_ns < 1:
            raise ValueError("a prober's interval and timeout are at least 1 ns")
        if not 0 <= self.t1_share <= 1:
            raise ValueError(f"a share of T1s is 0 to 1, not {self.t1_share}")


class LinkProber:
    """One for each NIC; it is asked for its timer and fed what returns."""

    def __init__(
        self, services: HostServices, config: ProberConfig, rng: random.Random, now_ns: int
    ) -> None:
        self.config = config
        self._services = services
        self._rng = rng
        self._templates: dict[Loop, ControlTemplate] = {}
        self._turns = [self._t1s_in_turn() for _ in range(services.fabric.spec.planes)]
        self._round: list[Loop] = []
        self._round_ns = now_ns
        self._next_in_round = 0
        self._open: dict[int, tuple[Loop, int]] = {}  # oldest first
        self._next_id = 0
        self._settled: list[LoopOutcome] = []
        self._begin_round(now_ns)

    # -- rounds ---------------------------------------------------------------------------------

    def _t1s_in_turn(self) -> Iterator[int]:
        t1s = list(range(self._services.fabric.spec.t1s))
        while True:
            self._rng.shuffle(t1s)
            yield from t1s

    def _begin_round(self, now_ns: int) -> None:
        count = math.ceil(self.config.t1_share * self._services.fabric.spec.t1s)
        loops = []
        for plane, turns in enumerate(self._turns):
            loops.append(Loop(plane, None))
            loops += [Loop(plane, next(turns)) for _ in range(count)]
        self._rng.shuffle(loops)
        self._round, self._round_ns, self._next_in_round = loops, now_ns, 0

    def _next_send_ns(self) -> int:
        """Probes of a round are spread evenly over the interval."""
        interval = self.config.interval_ns
        return self._round_ns + interval * self._next_in_round // len(self._round)

    # -- time and frames ------------------------------------------------------------------------

    def next_timer_ns(self) -> int:
        """When `on_timer` has something to do."""
        due = self._next_send_ns()
        for _, sent_ns in self._open.values():
            return min(due, sent_ns + self.config.timeout_ns)
        return due

    def on_timer(self, now_ns: int) -> None:
        """Sends what is due and gives up what is late. A round that was slept through is not
        made up for."""
        self._expire(now_ns)
        while self._next_send_ns() <= now_ns:
            self._send(self._round[self._next_in_round], now_ns)
            self._next_in_round += 1
            if self._next_in_round == len(self._round):
                ended = self._round_ns + self.config.interval_ns
                self._begin_round(max(ended, now_ns - self.config.interval_ns))

    def _send(self, loop: Loop, now_ns: int) -> None:
        services = self._services
        if not services.local_ports >> loop.plane & 1:
            self._settle(loop, now_ns, None)
            return
        self._next_id = self._next_id + 1 & ID_MASK
        self._lose(self._next_id)  # an id that came round while its probe was open
        self._open[self._next_id] = (loop, now_ns)
        request = EndpointRequest(OP_EV_PROBE, tx_timestamp=ticks(now_ns))
        frame = self._template(loop).endpoint_request(self._next_id, request)
        services.emit(loop.plane, frame)

    def receive(self, frame: ParsedFrame, port: int, now_ns: int) -> bool:
        """A frame from this NIC to itself came on a port; False when no probe waits for it, or
        it went another way than it was sent."""
        if not isinstance(frame.endpoint, EndpointRequest):
            return False
        loop, sent_ns = self._open.get(frame.request_id, (None, 0))
        if loop is None or loop.plane != port:
            return False
        del self._open[frame.request_id]
        late = now_ns - sent_ns >= self.config.timeout_ns
        self._settle(loop, sent_ns, None if late else now_ns - sent_ns)
        return True

    def _expire(self, now_ns: int) -> None:
        oldest = now_ns - self.config.timeout_ns
        for number in [n for n, (_, sent_ns) in self._open.items() if sent_ns <= oldest]:
            self._lose(number)

    def _lose(self, number: int) -> None:
        loop, sent_ns = self._open.pop(number, (None, 0))
        if loop is not None:
            self._settle(loop, sent_ns, None)

    def _settle(self, loop: Loop, sent_ns: int, rtt_ns: int | None) -> None:
        host = self._services.host_index
        self._settled.append(LoopOutcome(host, loop.plane, loop.t1, sent_ns, rtt_ns))

    def take(self) -> list[LoopOutcome]:
        """What has been settled since the last call."""
        settled, self._settled = self._settled, []
        return settled

    def _template(self, loop: Loop) -> ControlTemplate:
        template = self._templates.get(loop)
        if template is None:
            services = self._services
            fabric, host = services.fabric, services.fabric.hosts[services.host_index]
            way = fabric.loop_template(host.index, by_t1=loop.t1 is not None)
            uplink = loop.t1 or 0
            path = PathAddresses(
                smac=fabric.mac(host.name, loop.plane),
                dmac=fabric.mac(*fabric.neighbour(host.name, loop.plane)),
                source=host.address,
                destination=host.address,
                route=way.address(loop.plane, uplink),
                ev=ev_pack(loop.plane, uplink),
            )
            template = ControlTemplate(path, ENDPOINT_QP, services.dscp.control)
            self._templates[loop] = template
        return template
