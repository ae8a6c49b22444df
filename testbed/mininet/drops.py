# SPDX-License-Identifier: Apache-2.0
"""Losing frames on purpose: nftables rules at the egress of interfaces, and what they counted.

At the egress, because a packet socket sees frames before an ingress hook could drop them. A frame
that is dropped makes its sender's send() fail; senders go on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Address

from endpoint.wire import opcodes
from testbed.mininet.errors import FaultError, MininetWorldError
from testbed.mininet.nodes import MarkedNode

_OPCODE_BIT = 8 * (14 + 40 + 40 + 8)
"""Where the opcode is in a frame without SRH: after Ethernet, two IPv6 headers and UDP."""

_PARTS = 1_000_000

COUNTERS = ("data", "control", "probes", "data_passed")


@dataclass(slots=True)
class Counted:
    """Frames that met a fault: lost ones by kind, and data frames that it let through."""

    data: int = 0
    control: int = 0
    probes: int = 0
    data_passed: int = 0

    def add(self, other: Counted) -> None:
        for name in COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class DropRule:
    """On these interfaces of `node`, a `share` (above 0, to 1) of frames is lost.

    `destination`: only those whose outer IPv6 destination this is (one path of a pair).
    """

    node: MarkedNode
    interfaces: Sequence[str]
    share: float = 1.0
    destination: bytes | None = None


@dataclass(slots=True)
class Drops:
    """The rules of one occurrence of a fault, in all namespaces that it touches."""

    table: str
    rules: Sequence[DropRule]
    before: Counted = field(default_factory=Counted)

    def insert(self) -> None:
        """Begin to lose frames, everywhere at about the same time. FaultError when it fails."""
        _everywhere(
            [(rule.node, script(self.table, rule)) for rule in self.rules], f"rules {self.table}"
        )

    def remove(self) -> None:
        """Lose no more; what was counted is kept."""
        self.before = self.counted()
        nodes = {rule.node.name: rule.node for rule in self.rules}
        text = f"delete table netdev {self.table}\n"
        _everywhere([(node, text) for node in nodes.values()], f"rules {self.table}")
        self.rules = ()

    def counted(self) -> Counted:
        """What was counted so far."""
        total = Counted()
        total.add(self.before)
        nodes = {rule.node.name: rule.node for rule in self.rules}
        for node in nodes.values():
            total.add(_read(node, self.table))
        return total


def script(table: str, rule: DropRule) -> str:
    """What `nft -f` takes to make a rule."""
    writes = [code for code in range(256) if opcodes.IS_WRITE[code]]
    data = f"@ll,{_OPCODE_BIT},8 {writes[0]}-{writes[-1]}"
    assert writes == list(range(writes[0], writes[-1] + 1))
    probes = ", ".join(
        str(code)
        for code in (
            opcodes.PROBE_REQUEST,
            opcodes.ENDPOINT_REQUEST,
            opcodes.ENDPOINT_RESPONSE,
        )
    )
    lines = [f"table netdev {table} {{"]
    lines += [f"  counter {name} {{ }}" for name in COUNTERS]
    lines += [
        "  chain lose {",
        f"    {data} counter name data drop",
        f"    @ll,{_OPCODE_BIT},8 {{ {probes} }} counter name probes drop",
        "    counter name control drop",
        "  }",
        "  chain meet {",
    ]
    if rule.share < 1:
        lines.append(f"    numgen random mod {_PARTS} < {round(rule.share * _PARTS)} jump lose")
        lines.append(f"    {data} counter name data_passed")
    else:
        lines.append("    jump lose")
    lines.append("  }")
    which = ""
    if rule.destination is not None:
        which = f"ip6 daddr {IPv6Address(rule.destination)} "
    for number, interface in enumerate(rule.interfaces):
        hook = f'type filter hook egress device "{interface}" priority 0; policy accept;'
        lines += [f"  chain out{number} {{", f"    {hook}", f"    {which}jump meet", "  }"]
    lines.append("}")
    return "\n".join(lines) + "\n"


def _everywhere(scripts: Sequence[tuple[MarkedNode, str]], what: str) -> None:
    """Run nft in several namespaces side by side."""
    started = [(node, node.pipe(["nft", "-f", "-"], text)) for node, text in scripts]
    failed = []
    for node, process in started:
        _, errors = process.communicate()
        if process.returncode:
            failed.append(f"{node.name}: {errors.decode(errors='replace').strip()}")
    if failed:
        raise FaultError(f"{what}: {'; '.join(failed)}")


def _read(node: MarkedNode, table: str) -> Counted:
    try:
        text = node.run(["nft", "-j", "list", "counters", "table", "netdev", table])
        found = {
            item["counter"]["name"]: int(item["counter"]["packets"])
            for item in json.loads(text)["nftables"]
            if "counter" in item
        }
        return Counted(**{name: found[name] for name in COUNTERS})
    except (MininetWorldError, ValueError, KeyError) as error:
        raise FaultError(f"{node.name}: counters of rules {table}: {error}") from error
