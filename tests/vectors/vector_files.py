# SPDX-License-Identifier: Apache-2.0
"""The files of golden packets: names, contents, and nothing but what the cases say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cases_control
import cases_malformed
import cases_network
import cases_writes
from cases_malformed import Malformed
from vector_packet import DSCP, Field, Golden
from vector_pcapng import pcapng

HERE = Path(__file__).parent

ABOUT = {
    "writes": "Data packets as they are sent.",
    "sacks": "Transport acknowledgements and reliability SACKs.",
    "nacks": "Reliability NACKs, one of each reason.",
    "messages": "Reliability probes and endpoint messages.",
    "paths": "Whole packets on their way: paths, hops, marks, SRH, corruption.",
    "trimmed": "Packets that a switch cut, or marked as trimmed.",
    "malformed": "Frames that a receiver must refuse, and the field at fault.",
}


def golden() -> dict[str, list[Golden]]:
    """The golden packets of each capture."""
    return {
        "writes": cases_writes.cases(),
        "sacks": cases_control.sacks(),
        "nacks": cases_control.nacks(),
        "messages": cases_control.messages(),
        "paths": cases_network.paths(),
        "trimmed": cases_network.trimmed(),
    }


def files() -> Iterator[tuple[str, bytes]]:
    """Name and contents of every file."""
    by_name: dict[str, Golden] = {}
    for capture, packets in golden().items():
        for item in packets:
            assert item.name not in by_name, f"two packets are called {item.name}"
            by_name[item.name] = item
        yield from _pair(capture, packets, Field._fields)
    yield from _pair("malformed", cases_malformed.malformed(by_name), ())


def _pair(
    capture: str, packets: list[Golden] | list[Malformed], columns: tuple[str, ...]
) -> Iterator[tuple[str, bytes]]:
    head: dict[str, Any] = {
        "format": 1,
        "about": ABOUT[capture],
        "capture": f"{capture}.pcapng",
        "dscp": asdict(DSCP),
    }
    if columns:
        head["columns"] = columns
    described = [_described(number, item) for number, item in enumerate(packets, 1)]
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    text = "\n".join(["{", *lines, ' "packets": [', ",\n".join(described), " ]", "}", ""])
    yield f"{capture}.json", text.encode()
    yield f"{capture}.pcapng", pcapng((item.name, item.frame) for item in packets)


def _described(number: int, item: Golden | Malformed) -> str:
    """One packet in JSON, a field a line."""
    head: dict[str, Any] = {
        "number": number, "name": item.name, "about": item.about, "length": len(item.frame),
    }  # fmt: skip
    if isinstance(item, Malformed):
        head |= {"error": item.error, "base": item.base, "changes": item.changes}
        return f"  {json.dumps(head)}"
    facts = json.dumps(head | item.facts)[:-1]
    fields = ",\n".join(f"   {json.dumps(list(entry))}" for entry in item.fields)
    return f'  {facts}, "fields": [\n{fields}\n  ]}}'
