# SPDX-License-Identifier: Apache-2.0
"""Frames built and parsed each second by the wire package, with and without the ICRC.

``run()`` returns one record a configuration: benchmark, configuration, metric, value (median of
the repeats), unit, lowest, highest. Rounds are interleaved, so that a slow moment of the machine
does not fall on one configuration alone.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from endpoint.wire import opcodes
from endpoint.wire.build import ControlTemplate, DataTemplate, PathAddresses
from endpoint.wire.dscp import DscpMap
from endpoint.wire.frame import parse_frame
from endpoint.wire.sack import Sack

DSCP = DscpMap(no_trim=0, trimmable=4, trimmable_retx=8, trimmed=12, trimmed_lasthop=16, control=46)
PATH = PathAddresses(
    smac=bytes.fromhex("020000000001"),
    dmac=bytes.fromhex("020000000101"),
    source=bytes.fromhex("fd000000000000000000000000000001"),
    destination=bytes.fromhex("fd000000000000000000000000000002"),
    route=bytes.fromhex("5f000000100018001001080100000000"),
    ev=0xC0DE4A17,
)
PAYLOAD = memoryview(bytes(4096))
SACK = Sack(cack_psn=1000, ev=PATH.ev, ack_psn_offset=7, bitmap=0x7F, tx_timestamp=99)


def _build(payload: memoryview, icrc: bool) -> Callable[[int], object]:
    template = DataTemplate(PATH, 77, DSCP, icrc=icrc)

    def work(frames: int) -> None:
        build = template.build
        for psn in range(frames):
            build(opcodes.WRITE_MIDDLE, psn, 0, 0x7F0000000000, 7, 1, 1, payload, None, 5)

    return work


def _build_sacks(frames: int) -> None:
    template = ControlTemplate(PATH, 77, DSCP.control)
    for _ in range(frames):
        template.sack(SACK)


def _parse(frame: bytes, check: bool) -> Callable[[int], object]:
    def work(frames: int) -> None:
        for _ in range(frames):
            parsed = parse_frame(frame, DSCP)
            if check and not parsed.check_icrc():
                raise AssertionError("the benchmark's own frame fails its ICRC")

    return work


def _cases() -> list[tuple[dict[str, Any], Callable[[int], object]]]:
    data = DataTemplate(PATH, 77, DSCP).build(
        opcodes.WRITE_MIDDLE, 1, 0, 0x7F0000000000, 7, 1, 1, PAYLOAD, None, 5
    )
    sack = ControlTemplate(PATH, 77, DSCP.control).sack(SACK)
    cases: list[tuple[dict[str, Any], Callable[[int], object]]] = []
    for length in (0, 4096):
        for icrc in (False, True):
            configuration = {"what": "build", "frame": "write", "payload": length, "icrc": icrc}
            cases.append((configuration, _build(PAYLOAD[:length], icrc)))
    for kind, frame, length in (("write", data, 4096), ("sack", sack, 0)):
        for icrc in (False, True):
            configuration = {"what": "parse", "frame": kind, "payload": length, "icrc": icrc}
            cases.append((configuration, _parse(frame, icrc)))
    sack_case = {"what": "build", "frame": "sack", "payload": 0, "icrc": True}
    cases.append((sack_case, _build_sacks))
    return cases


def run(frames: int = 20_000, repeats: int = 5) -> list[dict[str, Any]]:
    """Measure every configuration ``repeats`` times with ``frames`` frames each."""
    cases = _cases()
    rates: list[list[float]] = [[] for _ in cases]
    for _ in range(repeats):
        for (_, work), measured in zip(cases, rates, strict=True):
            start = time.perf_counter()
            work(frames)
            measured.append(frames / (time.perf_counter() - start))
    return [
        {
            "benchmark": "wire_fps",
            "configuration": configuration,
            "metric": "rate",
            "value": round(statistics.median(measured)),
            "unit": "frames/s",
            "lowest": round(min(measured)),
            "highest": round(max(measured)),
        }
        for (configuration, _), measured in zip(cases, rates, strict=True)
    ]


if __name__ == "__main__":
    json.dump(run(), sys.stdout, indent=2)
    sys.stdout.write("\n")
