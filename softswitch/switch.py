# SPDX-License-Identifier: Apache-2.0
"""One switch: a program's functions bound to tables, counters, registers and meters."""

from __future__ import annotations

import random
import threading

from softswitch.externs import CounterArray, MeterArray, RegisterArray
from softswitch.program import Program
from softswitch.tables import Table


class Switch:
    """State of one switch and its forwarding functions.

    ``ingress(port, frame, now_us)`` returns ``[(egress_port, priority, packet)]``, empty when
    the packet is dropped; ``egress(packet, now_us, deq_qdepth=0)`` runs at dequeue and returns
    the frame to send, or None. Times are microseconds. Neither takes ``lock``: it is there for
    control planes that read and write several things as one.
    """

    def __init__(
        self,
        program: Program,
        *,
        device_id: int = 0,
        rng: random.Random,
        name: str = "",
    ) -> None:
        model = program.model
        self.program = program
        self.device_id = device_id
        self.name = name or f"switch {device_id}"
        self.rng = rng
        self.lock = threading.RLock()
        self.tables: dict[str, Table] = {n: Table(d) for n, d in model.tables.items()}
        self.counters: dict[str, CounterArray] = {
            n: CounterArray(d) for n, d in model.counters.items() if d.direct_table is None
        }
        self.registers: dict[str, RegisterArray] = {
            n: RegisterArray(d) for n, d in model.registers.items()
        }
        self.meters: dict[str, MeterArray] = {n: MeterArray(d) for n, d in model.meters.items()}
        self.ingress, self.egress = program.bind(self)

    def clear_state(self) -> None:
        """Tables, counters, registers and meters as they are after loading the program."""
        with self.lock:
            for part in (self.tables, self.counters, self.registers, self.meters):
                for item in part.values():
                    item.clear()

    def __repr__(self) -> str:
        return f"<Switch {self.name}>"
