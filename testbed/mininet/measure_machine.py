# SPDX-License-Identifier: Apache-2.0
"""Measures what a packet costs on this machine, with two hosts and three switches in a row."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from controller.tables import QUEUE_DATA
from endpoint.agent.client import AgentClient, connect_pair
from endpoint.agent.errors import AgentError
from endpoint.agent.values import QpInfo, Region, Statistics, WriteWork
from testbed.mininet.bmv2 import Bmv2Process
from testbed.mininet.calibration import Costs, data_share, program
from testbed.mininet.errors import MininetWorldError
from testbed.mininet.live import LiveFabric
from testbed.mininet.net import Say
from topologies.fabric import Fabric
from topologies.model import FabricSpec, TierDelays, TierRates
from topologies.timing import data_frame_bytes, link_bytes

PACKETS_PER_SECOND = 100
"""In each direction: a load that any machine carries, since a flooded one cannot be measured."""
LOAD_S = 5.0
_SINGLES = 40
_SLOW_PER_SECOND = 10
_SLOW_PACKETS = 4
_WAIT_S = 10.0
_MESSAGE_BYTES = 64 << 10
_DELAY_NS = 1_000_000


def measure(switch_kind: str, logs: Path, say: Say) -> Costs:
    """Costs with this kind of switch; takes about 15 s. MininetWorldError when it fails."""
    fabric = _row_of_switches(switch_kind)
    with LiveFabric(fabric, switch_kind, logs=logs, seed=1, hold_ns=0, say=say) as live:
        try:
            return _Measurement(live).costs(say)
        except AgentError as error:
            live.check()
            raise MininetWorldError(f"calibration: {error}") from error


def _row_of_switches(switch_kind: str) -> Fabric:
    spec = FabricSpec(name="calibration", planes=1, t0s=2, t1s=1, nics_per_t0=1)
    frame_bits = 8 * link_bytes(data_frame_bytes(spec.path_mtu))
    gbps = PACKETS_PER_SECOND * frame_bits / data_share(switch_kind) / 1e9
    rates = TierRates(nic_t0=gbps, t0_t1=gbps)
    delays = TierDelays(nic_t0=_DELAY_NS, t0_t1=_DELAY_NS)
    return Fabric(spec.model_copy(update={"rate_gbps": rates, "delay_ns": delays}))


class _Measurement:
    def __init__(self, live: LiveFabric) -> None:
        self._live = live
        self._clients: list[AgentClient] = list(live.agents.clients.values())

    def costs(self, say: Say) -> Costs:
        one, other = self._clients
        infos = connect_pair(one, other)
        source = [client.register_memory(_MESSAGE_BYTES) for client in self._clients]
        say("measuring the round trip without load")
        rtt_us = self._round_trip_us(infos[0], source[0], source[1])
        if self._live.switch_kind == "bmv2":
            # On a queue pair of its own, whose round trip nobody needs afterwards.
            self._check_priorities(connect_pair(one, other)[0], source[0], source[1])
        say(f"measuring the cost of a packet ({LOAD_S:g} s)")
        agents, switches, packets = self._load(infos, source)
        if packets < PACKETS_PER_SECOND:
            raise MininetWorldError(
                f"calibration: only {packets} packets got across in {LOAD_S:g} s; is something "
                "else using this machine?"
            )
        return Costs(
            agents_us=round(agents * 1e6 / packets, 1),
            hop_us=round(switches * 1e6 / packets / 3, 1),
            path_rtt_us=round(rtt_us, 1),
            measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
            packets=packets,
            program=program(self._live.switch_kind),
        )

    def _check_priorities(self, near: QpInfo, source: Region, target: Region) -> None:
        """A rate must hold for the queue that it is set for.

        Builds of BMv2 before November 2024 apply it to the inverse priority
        (p4lang/behavioral-model issue 1264), so that data would be limited as control is.
        """
        switch = self._live.net.switch("p0t0a")
        assert isinstance(switch, Bmv2Process)
        uplink = self._live.fabric.uplink_port(0)
        switch.thrift(f"set_queue_rate {_SLOW_PER_SECOND} {uplink} {QUEUE_DATA}\n")
        length = _SLOW_PACKETS * self._live.fabric.spec.path_mtu
        client = self._clients[0]
        with client.watch_completions(qpn=near.qpn) as completions:
            started = time.monotonic()
            client.write(near.qpn, 0, source, target, length=length)
            completions.wait(near.qpn, [0], _WAIT_S)
            seconds = time.monotonic() - started
        switch.set_queues()
        # The first packet leaves at once.
        if seconds < (_SLOW_PACKETS - 1) / _SLOW_PER_SECOND:
            raise MininetWorldError(
                f"this BMv2 ({program('bmv2')}) does not limit the queue that a rate is set for: "
                "builds before November 2024 take the inverse priority. Install a newer one, or "
                "use --switch soft"
            )

    def _round_trip_us(self, near: QpInfo, source: Region, target: Region) -> float:
        client = self._clients[0]
        length = self._live.fabric.spec.path_mtu
        with client.watch_completions(qpn=near.qpn) as completions:
            for number in range(_SINGLES):
                client.write(near.qpn, number, source, target, length=length)
                completions.wait(near.qpn, [number], _WAIT_S)
        return client.statistics().qp(near.qpn).smoothed_rtt_ns / 1000

    def _load(
        self, infos: tuple[QpInfo, QpInfo], regions: list[Region]
    ) -> tuple[float, float, int]:
        """Processor seconds of agents and of switches, and data packets, in a stretch of load."""
        works = [
            [
                WriteWork(number, here.region_id, 0, _MESSAGE_BYTES, there.va, there.rkey)
                for number in range(_SINGLES, _SINGLES + self._messages())
            ]
            for here, there in (regions, regions[::-1])
        ]
        for client, info, work in zip(self._clients, infos, works, strict=True):
            client.post_writes(info.qpn, work)
        time.sleep(1.0)  # start-up, and windows that find their size
        agents, switches = self._agents_s(), self._switches_s()
        before = self._sent(infos)
        time.sleep(LOAD_S)
        packets = self._sent(infos) - before
        return self._agents_s() - agents, self._switches_s() - switches, packets

    def _messages(self) -> int:
        packets = PACKETS_PER_SECOND * (LOAD_S + 3)
        return round(packets * self._live.fabric.spec.path_mtu / _MESSAGE_BYTES) + 1

    def _sent(self, infos: tuple[QpInfo, QpInfo]) -> int:
        told: list[Statistics] = [client.statistics() for client in self._clients]
        return sum(
            statistics.qp(info.qpn).counters["data_sent"]
            for statistics, info in zip(told, infos, strict=True)
        )

    def _agents_s(self) -> float:
        return processor_seconds(p.pid for p in self._live.agents.processes.values())

    def _switches_s(self) -> float:
        net = self._live.net
        pids = [net.switch(switch.name).pid for switch in self._live.fabric.switches()]
        return processor_seconds(pid for pid in pids if pid is not None)


def processor_seconds(pids: Iterable[int]) -> float:
    """Processor time that processes have used, all threads together, exact to a microsecond."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # a thread that has just ended
                total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return total / 1e9
