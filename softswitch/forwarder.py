# SPDX-License-Identifier: Apache-2.0
"""The loop of a switch process: frames of its interfaces through its pipeline, in real time."""

from __future__ import annotations

import logging
import select
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from time import monotonic_ns, time_ns

from softswitch.interface import Arrival, Interface
from softswitch.queue_settings import QueueSettings
from softswitch.realtime import RealTimePipeline
from softswitch.switch import Switch

RECEIVE_BUDGET = 64
"""Frames taken from one interface before the others have their turn."""
_CHECK_NS = 1_000_000_000
_SWITCH_INTERVAL_S = 0.0005
"""How long a control thread may keep the interpreter from forwarding, about."""
_TIMER_SLACK = Path("/proc/self/timerslack_ns")

_log = logging.getLogger("softswitch")


class Forwarder:
    """`use` a switch, `run` in one thread, `stop` from any. Settings are by port number."""

    def __init__(
        self, interfaces: Sequence[Interface], settings: Mapping[int, QueueSettings]
    ) -> None:
        self._interfaces = list(interfaces)
        self._settings = settings
        self._next: Switch | None = None
        self._pipeline: RealTimePipeline | None = None
        self._stopping = False
        self._bell, self._ring = socket.socketpair()
        self._bell.setblocking(False)
        self.without_program = 0

    # -- from other threads -------------------------------------------------------------------

    def use(self, switch: Switch) -> None:
        """Forward with this switch from the next packet on; what is queued in another is lost."""
        self._next = switch
        self._wake()

    def stop(self) -> None:
        """End `run` soon; safe in a signal handler."""
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        self._ring.send(b"\0")

    # -- the loop -----------------------------------------------------------------------------

    def run(self) -> None:
        """Forward until `stop`."""
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        with suppress(OSError):
            _TIMER_SLACK.write_text("1")
        check_ns = monotonic_ns() + _CHECK_NS
        watched = [self._bell, *self._interfaces]
        wait_s = 0.0
        while not self._stopping:
            readable, _, _ = select.select(watched, (), (), wait_s)
            arrivals: list[Arrival] = []
            for source in readable:
                if isinstance(source, Interface):
                    source.receive(arrivals, RECEIVE_BUDGET)
                else:
                    self._hear()
            now_ns = monotonic_ns()
            pipeline = self._pipeline
            due_ns: int | None = None
            if pipeline is None:
                self.without_program += len(arrivals)
            else:
                pipeline.work(_by_monotonic_time(arrivals, now_ns), now_ns)
                due_ns = pipeline.due_ns
            if now_ns >= check_ns:
                check_ns = now_ns + _CHECK_NS
                self._check_drops()
            wake_ns = check_ns if due_ns is None else min(due_ns, check_ns)
            wait_s = max(0, wake_ns - monotonic_ns()) / 1e9
        self._report()

    def _hear(self) -> None:
        self._bell.recv(4096)
        switch, self._next = self._next, None
        if switch is None:
            return
        stamp = switch.program.stamps_packets
        self._pipeline = RealTimePipeline(
            switch,
            {
                interface.number: self._settings[interface.number].scheduler(stamp=stamp)
                for interface in self._interfaces
            },
            {interface.number: interface.send for interface in self._interfaces},
        )

    # -- what is told -------------------------------------------------------------------------

    def _check_drops(self) -> None:
        for interface in self._interfaces:
            dropped = interface.read_kernel_drops()
            if dropped:
                _log.warning(
                    "port %d (%s): the kernel dropped %d frames unread",
                    interface.number,
                    interface.name,
                    dropped,
                )

    def _report(self) -> None:
        self._check_drops()
        for interface in self._interfaces:
            pipeline = self._pipeline
            _log.info(
                "port %d (%s): received %d, sent %d, dropped: kernel %d, queues %s, errors %s",
                interface.number,
                interface.name,
                interface.received,
                interface.sent,
                interface.kernel_drops,
                pipeline.dropped(interface.number) if pipeline else [],
                interface.send_errors or "none",
            )
        _log.info(
            "packets for ports that are not there: %d; before a program was there: %d",
            self._pipeline.no_such_port if self._pipeline else 0,
            self.without_program,
        )


def _by_monotonic_time(arrivals: list[Arrival], now_ns: int) -> list[Arrival]:
    """Frames of all interfaces in order of their arrival; one without a time arrived now."""
    offset_ns = time_ns() - now_ns
    timed = [
        (stamp_ns - offset_ns if stamp_ns else now_ns, number, frame)
        for stamp_ns, number, frame in arrivals
    ]
    timed.sort(key=itemgetter(0))
    return timed
