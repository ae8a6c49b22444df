# SPDX-License-Identifier: Apache-2.0
"""A fabric in virtual time with a device of the API at every host: what the examples run on."""

from __future__ import annotations

from collections.abc import Callable

from endpoint.verbs import ibv_context, ibv_open_device
from testbed.losses import Losses
from testbed.run import compiled_program
from testbed.virtual.host import HostNode
from testbed.virtual.loop import EventLoop
from testbed.virtual.plant import Plant
from topologies import load

BASE_RTT_NS = 20_000
"""Only for the records of lost frames, which nothing here asks for."""


class HostDriver:
    """The world of one host, as `endpoint.verbs.Driver` asks for it."""

    def __init__(self, loop: EventLoop, host: HostNode) -> None:
        self._loop = loop
        self._host = host

    def now_ns(self) -> int:
        return self._loop.now

    def kick(self) -> None:
        self._host.pump(self._loop.now)

    def wait(self, done: Callable[[], bool], deadline_ns: int) -> None:
        loop = self._loop
        while not done():
            if not loop.heap or loop.heap[0][0] > deadline_ns:
                loop.run(max(loop.now, deadline_ns))
                return
            loop.run(loop.heap[0][0])


class VirtualFabric:
    """Switches run the compiled P4 program; `devices` are in the order of the hosts."""

    def __init__(self, name: str = "tiny", seed: int = 1) -> None:
        self.fabric = load(name)
        losses = Losses(lambda flow: BASE_RTT_NS)
        self.plant = Plant(self.fabric, compiled_program(), seed, losses, bin_ns=1_000_000)
        self.devices: list[ibv_context] = [
            ibv_open_device(host.nic, HostDriver(self.plant.loop, host))
            for host in self.plant.hosts
        ]

    def run(self, duration_ns: int) -> None:
        """Lets time pass."""
        self.plant.loop.run(self.plant.loop.now + duration_ns)

    def wait(self, done: Callable[[], bool], limit_ns: int = 1_000_000_000) -> None:
        """Lets time pass until something is so. TimeoutError when it is not within the limit."""
        driver = self.devices[0].driver
        was_done = False

        def asked() -> bool:
            nonlocal was_done
            was_done = done()
            return was_done

        driver.wait(asked, driver.now_ns() + limit_ns)
        if not was_done:
            raise TimeoutError(f"not within {limit_ns} ns of virtual time")
