# SPDX-License-Identifier: Apache-2.0
"""The adapter between the engine and the world: feed, drain, transmit, re-arm one timer.

One thread, one clock (`time.monotonic_ns`). It waits with select(), whose time-outs are
microseconds where those of epoll are milliseconds; a NIC has eight ports at most.

The engine judges paths by what came when. So frames of all ports are fed in the order, and with
the time, of their arrival in the kernel, and a timer only runs when what had come before it was
fed: that this process was not scheduled for a while must not look like a slow or dead path.
"""

import logging
import select
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns, time_ns
from typing import Protocol

from endpoint.agent.arrivals import Arrival, ArrivalOrder
from endpoint.agent.commands import CommandQueue
from endpoint.agent.delay_line import DelayLine
from endpoint.agent.drops import DropWatch
from endpoint.agent.errors import SetupError
from endpoint.agent.host import AgentHost
from endpoint.agent.link_monitor import LinkMonitor
from endpoint.agent.netlink import LinkState
from endpoint.agent.nic_port import NicPort
from endpoint.wire import ethernet
from topologies.timing import data_frame_bytes

RECEIVE_BUDGET = 32
"""Frames taken from one port before the other ports and sending have their turn."""
MOST_TIMER_DELAY_NS = 20_000_000
"""Timers run when they are this late, even while frames keep coming."""
DROP_CHECK_NS = 100_000_000
_TIMER_SLACK = Path("/proc/self/timerslack_ns")

_log = logging.getLogger("agent")


class Readable(Protocol):
    """What select() can watch."""

    def fileno(self) -> int: ...


class AgentLoop:
    """`start`, then `run` until `stop`. `watch` adds something else to wait for."""

    def __init__(
        self, host: AgentHost, links: LinkMonitor, commands: CommandQueue, hold_ns: int = 0
    ) -> None:
        """`hold_ns`: how long received frames are held back."""
        self._delay = DelayLine(hold_ns) if hold_ns else None
        self._host = host
        self._nic = host.nic
        self._ports: Sequence[NicPort] = host.ports
        self._links = links
        self._commands = commands
        self._drops = DropWatch(host.ports)
        self._next_check_ns = 0
        self._others: dict[Readable, Callable[[], None]] = {links: self._read_links}
        self._stopping = False
        self._fed_ns = 0
        self._order = ArrivalOrder(RECEIVE_BUDGET)
        self._room = [0] * len(host.ports)

    def watch(self, source: Readable, ready: Callable[[], None]) -> None:
        """Calls `ready` whenever `source` becomes readable, until `unwatch`."""
        self._others[source] = ready

    def unwatch(self, source: Readable) -> None:
        """No more calls for `source`."""
        self._others.pop(source, None)

    def stop(self) -> None:
        """Ends `run` soon; safe in any thread and in a signal handler."""
        self._stopping = True
        self._commands.wake()

    def start(self) -> None:
        """Learns the state of every port. SetupError when a full frame does not fit one."""
        for link in self._links.first().values():
            self._hear(link)
        needed = data_frame_bytes(self._nic.fabric.spec.path_mtu) - ethernet.SIZE
        for port in self._ports:
            if port.mtu < needed:
                raise SetupError(
                    f"{port.interface}: its MTU is {port.mtu}, packets of this fabric need "
                    f"{needed} (ip link set {port.interface} mtu {needed})"
                )

    def run(self) -> None:
        """Turns until stopped."""
        with suppress(OSError):
            _TIMER_SLACK.write_text("1000")  # a timer may be late by 1 µs, and not by 50
        timeout_s = 0.0
        while not self._stopping:
            readers: list[Readable] = [*self._ports, self._commands, *self._others]
            writers = [port for port in self._ports if port.blocked]
            readable, writable, _ = select.select(readers, writers, (), timeout_s)
            for port in writable:
                port.unblock()
            self._feed(readable)
            if self._host.exercises:
                self._host.harvest_completions()  # what they post now goes out in this turn
            now_ns = self._transmit()
            self._host.harvest()
            timeout_s = self._until_due_s(now_ns)

    # -- feed -----------------------------------------------------------------------------------

    def _feed(self, readable: Sequence[Readable]) -> None:
        if self._order.more or any(isinstance(source, NicPort) for source in readable):
            arrivals = self._order.collect(self._ports, time_ns())
            if self._delay is not None:
                self._delay.add(arrivals)
            elif arrivals:
                self._deliver(arrivals)
        if self._delay is not None:
            due = self._delay.due(time_ns())
            if due:
                self._deliver(due)
        for source in readable:
            if source is self._commands:
                self._commands.run(monotonic_ns())
            elif source in self._others:
                self._others[source]()
        now_ns = monotonic_ns()
        due_ns = self._nic.next_timer_ns()
        if due_ns is not None and due_ns <= now_ns - (
            MOST_TIMER_DELAY_NS if self._order.more else 0
        ):
            self._nic.on_timer(now_ns)
            self._fed_ns = now_ns
        if self._next_check_ns <= now_ns:
            self._check_drops(now_ns)

    def _deliver(self, arrivals: Sequence[Arrival]) -> None:
        """Feeds frames by time of arrival, which never runs back nor ahead for the engine."""
        now_ns = monotonic_ns()
        offset_ns = time_ns() - now_ns
        receive = self._nic.receive
        at_ns = self._fed_ns
        for stamp_ns, number, frame in arrivals:
            arrived_ns = stamp_ns - offset_ns
            if at_ns < arrived_ns:
                at_ns = min(arrived_ns, now_ns)
            receive(number, frame, at_ns)
        self._fed_ns = at_ns
        self._host.placement.look(at_ns)

    def _read_links(self) -> None:
        for link in self._links.read():
            self._hear(link)

    def _hear(self, link: LinkState) -> None:
        for port in self._ports:
            if port.interface == link.name and port.heard(link):
                state = "up" if port.usable else "down"
                _log.info("port %d (%s) is %s", port.number, port.interface, state)
                act = self._nic.port_up if port.usable else self._nic.port_down
                act(port.number, monotonic_ns())

    def _check_drops(self, now_ns: int) -> None:
        self._next_check_ns = now_ns + DROP_CHECK_NS
        dropped = self._drops.look(now_ns)
        for drop in dropped:
            _log.warning(
                "port %d (%s): this machine dropped %d frames at the %s",
                drop.port, drop.interface, drop.frames, drop.place,
            )  # fmt: skip
        if dropped:
            self._host.events.extend(dropped)

    # -- transmit -------------------------------------------------------------------------------

    def _transmit(self) -> int:
        """Sends what the engine has for the room there is; the time of it."""
        now_ns = self._fed_ns = monotonic_ns()
        ports, room = self._ports, self._room
        for port in ports:
            room[port.number] = port.room(now_ns)
        use = self._host.path_use
        for number, frame, urgent in self._nic.frames_to_send(now_ns, room):
            if not urgent:
                room[number] -= 1
                use.sent(frame, now_ns)
            ports[number].send(frame, urgent, now_ns)
        for port in ports:
            port.starved = port.usable and not port.blocked and room[port.number] <= 0
        return now_ns

    def _until_due_s(self, now_ns: int) -> float:
        if self._order.more:
            return 0.0
        due_ns = self._next_check_ns
        timer_ns = self._nic.next_timer_ns()
        if timer_ns is not None and timer_ns < due_ns:
            due_ns = timer_ns
        for port in self._ports:
            if port.starved:
                ready_ns = port.pacer.ready_ns()
                if ready_ns < due_ns:
                    due_ns = ready_ns
        wait_ns = max(0, due_ns - now_ns)
        if self._delay is not None:
            held_ns = self._delay.wait_ns(time_ns())
            if held_ns is not None and held_ns < wait_ns:
                wait_ns = held_ns
        return wait_ns / 1e9
