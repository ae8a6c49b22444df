# SPDX-License-Identifier: Apache-2.0
"""Breaks and mends a fabric of real packets: the verbs of `testbed.faults.FaultTarget`.

A BMv2 port whose own interface went down never sends again while its process lives. So a link
between switches fails by losing every frame at both ends (nobody looks at carrier there), a link
to a host by taking the *host's* end down, and only a switch whose process has been stopped has
its own interfaces taken down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from controller.client import SwitchError, SwitchSession
from controller.counters import CounterValue, read_counters
from controller.pipeline import Pipeline
from testbed.mininet.drops import Counted, DropRule, Drops
from testbed.mininet.errors import FaultError
from testbed.mininet.interfaces import interface_name, interfaces_of
from testbed.mininet.net import FabricNet
from testbed.mininet.switch_process import SwitchProcess
from topologies.fabric import Fabric, Link
from topologies.names import parse_host

CounterTable = dict[str, dict[int, CounterValue]]


@dataclass(slots=True)
class Damage:
    """What one occurrence has done. `place` names what it broke, `cause` how; `uplink` is that of
    a path that was chosen because none was given."""

    place: str
    cause: str
    drops: Drops
    uplink: int | None = None
    repairs: list[Callable[[], None]] = field(default_factory=list)


class NetBreaker:
    """Carries out faults on a built fabric. Not for two threads at once.

    `uplink_in_use` gives an uplink that the flow between two hosts uses in a plane. FaultError
    when a fault cannot be carried out; `mend` then undoes what was done of it.
    """

    def __init__(
        self, net: FabricNet, uplink_in_use: Callable[[str, str, int], int], tag: str = "mrc"
    ) -> None:
        """`tag` begins the names of its rules: another one at work at the same time has its own."""
        self._net = net
        self._tag = tag
        self._fabric: Fabric = net.fabric
        self._uplink_in_use = uplink_in_use
        self._damage: dict[int, Damage] = {}
        self._downed: dict[str, set[int]] = {}
        """Interfaces of hosts that are held down, each by these occurrences."""
        self._stopped: dict[str, set[int]] = {}
        self.past_counters: dict[str, list[CounterTable]] = {}
        """Of stopped switches: what they had counted when they stopped, each time."""

    # -- the verbs ----------------------------------------------------------------------------

    def cut_link(self, link: str, occurrence: int) -> None:
        found = self._fabric.link(link)
        rules = self._both_ends(found)
        if parse_host(found.a) is not None:
            rules = rules[1:]  # frames of the host fail at its own interface
        damage = self._begin(occurrence, link, "link down", rules)
        if parse_host(found.a) is not None:
            self._hold_down(found, occurrence, damage)

    def silence_link(self, link: str, occurrence: int) -> None:
        rules = self._both_ends(self._fabric.link(link))
        self._begin(occurrence, link, "link silent", rules)

    def thin_link(self, link: str, share: float, occurrence: int) -> None:
        rules = self._both_ends(self._fabric.link(link), share)
        self._begin(occurrence, link, "link lossy", rules)

    def thin_path(
        self,
        source: str,
        destination: str,
        plane: int,
        uplink: int | None,
        share: float,
        occurrence: int,
    ) -> None:
        if uplink is None:
            uplink = self._uplink_in_use(source, destination, plane)
        src, dst = self._fabric.host(source), self._fabric.host(destination)
        address = self._fabric.path_template(src.index, dst.index).address(plane, uplink)
        rule = DropRule(self._net.node(source), [interface_name(source, plane)], share, address)
        damage = self._begin(occurrence, f"{source} port {plane}", "path lossy", [rule])
        damage.uplink = uplink

    def stop_switch(self, switch: str, occurrence: int) -> None:
        process = self._net.switch(switch)
        rules = [rule for link in self._links_of(switch) for rule in self._far_end(link, switch)]
        damage = self._begin(occurrence, switch, "switch stopped", rules)
        holders = self._stopped.setdefault(switch, set())
        holders.add(occurrence)

        def start_again() -> None:
            holders.discard(occurrence)
            if not holders:
                self._set_interfaces(switch, "up")
                self._net.start_switches([switch])

        damage.repairs.insert(0, start_again)
        if len(holders) == 1:
            self._keep_counters(process)
            process.stop()
            self._set_interfaces(switch, "down")

    def silence_switch(self, switch: str, occurrence: int) -> None:
        names = [name for _, name in interfaces_of(self._fabric, switch)]
        rule = DropRule(self._net.node(switch), names)
        self._begin(occurrence, switch, "switch silent", [rule])

    def mend(self, occurrence: int) -> None:
        damage = self._damage.get(occurrence)
        if damage is None:
            return
        repairs, damage.repairs = damage.repairs, []
        for repair in repairs:
            repair()

    # -- what is asked ------------------------------------------------------------------------

    @property
    def damage(self) -> dict[int, Damage]:
        """By occurrence; mended ones are still there, with what they counted."""
        return self._damage

    def counted(self, occurrence: int) -> Counted:
        """Frames that an occurrence has swallowed or met."""
        damage = self._damage.get(occurrence)
        return Counted() if damage is None else damage.drops.counted()

    def is_stopped(self, switch: str) -> bool:
        return bool(self._stopped.get(switch))

    # -- how ----------------------------------------------------------------------------------

    def _begin(self, occurrence: int, place: str, cause: str, rules: list[DropRule]) -> Damage:
        drops = Drops(f"{self._tag}{occurrence}", rules)
        damage = Damage(place, cause, drops, repairs=[drops.remove])
        self._damage[occurrence] = damage
        drops.insert()
        return damage

    def _rule(self, node: str, port: int, share: float) -> DropRule:
        return DropRule(self._net.node(node), [interface_name(node, port)], share)

    def _both_ends(self, link: Link, share: float = 1.0) -> list[DropRule]:
        return [self._rule(link.a, link.a_port, share), self._rule(link.b, link.b_port, share)]

    def _links_of(self, switch: str) -> list[Link]:
        return [
            self._fabric.link_at(switch, port)
            for port in self._fabric.switch_ports(self._fabric.switch(switch))
        ]

    def _far_end(self, link: Link, near: str) -> list[DropRule]:
        if link.a == near:
            return [self._rule(link.b, link.b_port, 1.0)]
        return [self._rule(link.a, link.a_port, 1.0)]

    def _hold_down(self, link: Link, occurrence: int, damage: Damage) -> None:
        name = interface_name(link.a, link.a_port)
        node = self._net.node(link.a)
        holders = self._downed.setdefault(name, set())
        holders.add(occurrence)

        def release() -> None:
            holders.discard(occurrence)
            if not holders:
                node.run(["ip", "link", "set", "dev", name, "up"])

        damage.repairs.append(release)
        if len(holders) == 1:
            node.run(["ip", "link", "set", "dev", name, "down"])

    def _set_interfaces(self, switch: str, state: str) -> None:
        names = [name for _, name in interfaces_of(self._fabric, switch)]
        lines = "".join(f"link set dev {name} {state}\n" for name in names)
        self._net.node(switch).run(["ip", "-batch", "-"], stdin=lines)

    def _keep_counters(self, process: SwitchProcess) -> None:
        if process.running:
            kept = switch_counters(process, self._net.pipeline)
            self.past_counters.setdefault(process.name, []).append(kept)


def switch_counters(process: SwitchProcess, pipeline: Pipeline) -> CounterTable:
    """Every counter of a running switch, the cells that its ports use. FaultError if unreadable."""
    last = max(number for number, _ in process.setup.ports)
    by_class = range((last + 1) * QUEUES_PER_PORT)
    others = range(max(_DROP_REASONS, last + 1))
    names = [counter.preamble.name for counter in pipeline.p4info.counters]
    classes = [name for name in names if name.rpartition(".")[2].startswith("class_")]
    try:
        with SwitchSession(process.target) as session:
            return {
                **read_counters(session, pipeline.p4info, classes, by_class),
                **read_counters(
                    session, pipeline.p4info, [n for n in names if n not in classes], others
                ),
            }
    except SwitchError as error:
        raise FaultError(f"switch {process.name}: its counters cannot be read: {error}") from error


QUEUES_PER_PORT = 4
"""Stride of counters by port and class (`p4src/constants.p4`)."""
_DROP_REASONS = 8
