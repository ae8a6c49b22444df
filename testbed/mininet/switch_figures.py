# SPDX-License-Identifier: Apache-2.0
"""What switches counted in a run: queue balance, drops by reason, marks and trims.

A switch that was stopped counted in each of its lives; what it had counted when it was stopped was
read just before, and what then waited in its queues was lost with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.tables import QUEUE_CONTROL, QUEUE_DATA, QUEUE_TRIMMED
from testbed.mininet.breaker import QUEUES_PER_PORT, CounterTable
from testbed.mininet.scenario_run import ScenarioRun
from testbed.real_time import MachineDrops
from testbed.results import QueueBalance, SwitchDrops

TRIMMED = "MrcIngress.queueing.trimmed"
MARKED = "MrcIngress.queueing.marked"
DROPS = "MrcIngress.drops"
RECEIVED = "MrcIngress.rx"
CLASS_ENQUEUED = "MrcIngress.queueing.class_enqueued"
CLASS_DEQUEUED = "MrcEgress.dequeueing.class_dequeued"

_CLASSES = {QUEUE_DATA: "data", QUEUE_TRIMMED: "trimmed", QUEUE_CONTROL: "control"}
DROP_REASONS = {
    1: "parse",
    2: "hop limit",
    3: "no SID",
    4: "no route",
    5: "no profile",
    6: "SRH",
    7: "congestion",
}
CONGESTION = 7


class SwitchFigures:
    """Counters of all switches of a run."""

    def __init__(self, run: ScenarioRun) -> None:
        self._run = run
        self._names = [switch.name for switch in run.live.fabric.switches()]

    def _lives(self, switch: str) -> list[CounterTable]:
        """Every life of a switch whose counters were read, in order."""
        lives = list(self._run.breaker.past_counters.get(switch, ()))
        last = self._run.counters.get(switch)
        return lives if last is None else [*lives, last]

    def _packets(self, switch: str, counter: str, cell: int) -> int:
        earlier = self._run.counters_before.get(switch)
        before = 0 if earlier is None else earlier[counter][cell].packets
        return sum(life[counter][cell].packets for life in self._lives(switch)) - before

    def total(self, counter: str, cell: int | None = None) -> int:
        """Packets in one cell of a counter, or in those of all ports, over all switches."""
        return sum(
            self._packets(switch, counter, port)
            for switch in self._names
            for port in (self._ports(switch) if cell is None else [cell])
        )

    def _ports(self, switch: str) -> list[int]:
        return [number for number, _ in self._run.live.net.switch(switch).setup.ports]

    def queues(self) -> Iterator[QueueBalance]:
        """Every queue that a packet entered or left: one that only gave out is uneven, too."""
        for switch in self._names:
            for port in self._ports(switch):
                for queue, name in _CLASSES.items():
                    balance = self._balance(switch, port, queue, name)
                    if balance.enqueued or balance.dequeued:
                        yield balance

    def _balance(self, switch: str, port: int, queue: int, name: str) -> QueueBalance:
        cell = port * QUEUES_PER_PORT + queue
        past = self._run.breaker.past_counters.get(switch, ())
        waiting = sum(
            life[CLASS_ENQUEUED][cell].packets - life[CLASS_DEQUEUED][cell].packets for life in past
        )
        return QueueBalance(
            switch=switch,
            port=port,
            traffic_class=name,
            enqueued=self._packets(switch, CLASS_ENQUEUED, cell),
            dequeued=self._packets(switch, CLASS_DEQUEUED, cell),
            lost_in_stop=max(0, waiting),
        )

    def drops(self) -> Iterator[SwitchDrops]:
        """What programs dropped, by switch and reason."""
        for switch in self._names:
            for cell, reason in DROP_REASONS.items():
                packets = self._packets(switch, DROPS, cell)
                if packets:
                    yield SwitchDrops(switch=switch, reason=reason, packets=packets)

    def unread(self) -> Iterator[MachineDrops]:
        """Frames that reached a switch's interface, and which its program never saw."""
        for switch, arrived in self._run.arrived.items():
            for port, frames in arrived.items():
                missing = frames - self._packets(switch, RECEIVED, port)
                if missing > 0:
                    yield MachineDrops(
                        node=switch, port=port, place="before the program", frames=missing
                    )
