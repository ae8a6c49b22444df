# SPDX-License-Identifier: Apache-2.0
"""Packets each second through one embedded switch: ingress, egress and deparser in one process.

Kinds of packet are measured in turn, round by round, so that a slow moment of the machine falls
on all of them; ``relative`` is the rate over that of whole data packets in the same run.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import p4src
from softswitch import Switch, load_program
from softswitch.queues import PortScheduler

BLOCK = 0x5F000000
OWN_SID, NEXT_SID, OUT_PORT = 0x1801, 0x1C02, 5
TRIM_AT, ECN_MIN, ECN_MAX = 100, 20, 80
TRIMMABLE, TRIMMED, CONTROL = 4, 12, 46
DATA_BYTES, CONTROL_BYTES = 4242, 134
GBPS = 1_000_000_000

Work = Callable[[int], None]


def _switch() -> Switch:
    switch = Switch(load_program(p4src.JSON.read_bytes()), rng=random.Random(1))
    tables = switch.tables
    tables["MrcIngress.srv6.my_sid"].insert((BLOCK << 16 | OWN_SID,), "MrcIngress.srv6.un", ())
    route = (BLOCK << 16 | NEXT_SID) << 80
    tables["MrcIngress.srv6.fib"].insert(
        ((route, 48),), "MrcIngress.srv6.forward", (OUT_PORT, 0x020000000001, 0x020000000002)
    )
    set_class = "MrcIngress.queueing.set_class"
    tables["MrcIngress.queueing.classes"].insert((TRIMMABLE,), set_class, (0, 1))
    tables["MrcIngress.queueing.classes"].insert((CONTROL,), set_class, (2, 0))
    tables["MrcIngress.queueing.queue_profile"].insert(
        (OUT_PORT,),
        "MrcIngress.queueing.set_profile",
        (TRIM_AT, 142, TRIMMED, ECN_MIN, ECN_MAX),
    )
    return switch


def _frame(sid: int, dscp: int, ecn: int, size: int, srh: bool = False) -> bytes:
    payload = size - 54
    address = (BLOCK << 96 | sid << 80 | NEXT_SID << 64 | 0x1803 << 48 | 0x0803 << 32).to_bytes(16)
    first = (6 << 28 | dscp << 22 | ecn << 20).to_bytes(4)
    header = first + payload.to_bytes(2) + bytes([43 if srh else 41, 64]) + bytes(16) + address
    frame = bytes(12) + b"\x86\xdd" + header
    if srh:
        frame += bytes([41, 2, 4, 0, 0, 0, 0, 0]) + address
    return frame + bytes(size - len(frame))


def _pipeline(frame: bytes, occupancy: int, leaves: bool = True) -> Work:
    """Ingress and egress back to back, with the data queue as full as ``occupancy`` says."""
    switch = _switch()
    ingress, egress = switch.ingress, switch.egress
    switch.registers["enqueued"].write(OUT_PORT, occupancy)
    if bool(ingress(1, frame, 0)) != leaves:
        raise AssertionError("the packet does not do what its name says")

    def work(packets: int) -> None:
        switch.registers["enqueued"].write(OUT_PORT, occupancy)
        switch.registers["dequeued"].write(OUT_PORT, 0)
        for _ in range(packets):
            for _port, _priority, packet in ingress(1, frame, 0):
                egress(packet, 0)

    return work


def _with_queue(frame: bytes, mode: str) -> Work:
    """As ``_pipeline``, with the port's queues between ingress and egress."""
    switch = _switch()
    ingress, egress = switch.ingress, switch.egress
    port = PortScheduler(100 * GBPS, mode=mode, overhead_bytes=24)

    def work(packets: int) -> None:
        for now in range(0, packets * 1000, 1000):
            for _port, priority, packet in ingress(1, frame, 0):
                port.enqueue(priority, packet, now)
            item = port.dequeue(now)
            if item is not None:
                egress(item[1], 0)

    return work


def _cases() -> dict[str, tuple[int, Work]]:
    data = _frame(OWN_SID, TRIMMABLE, 2, DATA_BYTES)
    control = _frame(OWN_SID, CONTROL, 0, CONTROL_BYTES)
    foreign = _frame(NEXT_SID, TRIMMABLE, 2, DATA_BYTES)
    with_srh = _frame(OWN_SID, TRIMMABLE, 2, DATA_BYTES, srh=True)
    half_full = (ECN_MIN + ECN_MAX) // 2
    return {
        "data": (DATA_BYTES, _pipeline(data, 0)),
        "data, ECN region": (DATA_BYTES, _pipeline(data, half_full)),
        "data, trimmed": (DATA_BYTES, _pipeline(data, TRIM_AT)),
        "data with SRH": (DATA_BYTES, _pipeline(with_srh, 0)),
        "control": (CONTROL_BYTES, _pipeline(control, 0)),
        "dropped, no SID": (DATA_BYTES, _pipeline(foreign, 0, leaves=False)),
        "data, strict queues": (DATA_BYTES, _with_queue(data, "strict")),
        "data, bmv2 queues": (DATA_BYTES, _with_queue(data, "bmv2")),
    }


def run(packets: int = 20_000, repeats: int = 5) -> list[dict[str, Any]]:
    """Measure every kind ``repeats`` times with ``packets`` packets each."""
    cases = _cases()
    rates: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, (_, work) in cases.items():
            start = time.perf_counter()
            work(packets)
            rates[name].append(packets / (time.perf_counter() - start))
    reference = statistics.median(rates["data"])
    return [
        {
            "benchmark": "softswitch_pps",
            "configuration": {"packet": name, "bytes": cases[name][0]},
            "metric": "rate",
            "value": round(statistics.median(measured)),
            "unit": "packets/s",
            "lowest": round(min(measured)),
            "highest": round(max(measured)),
            "relative": round(statistics.median(measured) / reference, 3),
        }
        for name, measured in rates.items()
    ]
