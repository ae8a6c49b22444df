# SPDX-License-Identifier: Apache-2.0
"""Two hosts of a fabric in virtual time: exact, repeatable, without root.

Hosts take no time to post or to complete, so what is measured is the fabric and the protocol.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.limits import not_installable
from endpoint.agent.exercises import Exercise, Extent, Lane, Ping, Pong, Stream
from endpoint.agent.host import qp_config
from endpoint.agent.values import ExerciseResult
from endpoint.memory import Access, MemoryRegion
from endpoint.queue_pair import QueuePair
from testbed.losses import FlowKey, Losses
from testbed.perftest.errors import MeasurementFailed, PerftestError
from testbed.perftest.pair import End, PairFacts, Pattern, fail_on_errors
from testbed.perftest.settings import Quantity, Settings
from testbed.run import compiled_program
from testbed.virtual.host import HostNode
from testbed.virtual.plant import Plant
from topologies import Fabric

PACKETS_A_TEST = {Quantity.BANDWIDTH: 4096, Quantity.LATENCY: 512}
"""In one direction, where nobody gave the iterations: about a second or two of simulation."""
_BIN_NS = 5_000
_STEP_NS = 1_000


class _Side:
    """What one host sends: from one buffer, on all queue pairs, into one region each."""

    def __init__(self, host: HostNode, peer: HostNode, qps: list[QueuePair], settings: Settings):
        self.host = host
        self.peer = peer
        self.qps = qps
        self.regions: list[MemoryRegion] = [
            peer.nic.register_memory(bytearray(max(settings.sizes)), Access.REMOTE_WRITE)
            for _ in qps
        ]
        self.pattern = Pattern(host.name, settings.sizes)
        self._data = memoryview(b"")

    def lanes(self, size: int, count: int | None = None) -> list[Lane]:
        """Those of the next test."""
        offset = self.pattern.next_offset()
        self._data = memoryview(self.pattern.bytes)[offset : offset + size]
        chosen = list(zip(self.qps, self.regions, strict=True))[:count]
        return [Lane(qp, self._data, region.va, region.rkey) for qp, region in chosen]

    def check(self, lanes: Sequence[Lane]) -> None:
        """MeasurementFailed unless the peer holds what was sent."""
        for _, region in zip(lanes, self.regions, strict=False):
            if bytes(region.buffer[: len(self._data)]) != self._data:
                raise MeasurementFailed(f"bytes at {self.peer.name} differ from those sent")


class VirtualPair:
    """Hosts `client` and `server` of a fabric, connected. PerftestError for bad input."""

    def __init__(
        self, fabric: Fabric, client: str, server: str, settings: Settings, seed: int = 1
    ) -> None:
        reason = not_installable(fabric)
        if reason is not None:
            raise PerftestError(f"{fabric.name}: {reason}")
        if client == server:
            raise PerftestError(f"{client}: a host does not write to itself")
        ends = [fabric.host(name).index for name in (client, server)]
        self._settings = settings
        self._plant = Plant(fabric, compiled_program(), seed, Losses(self._srtt_ns), _BIN_NS)
        self._hosts = [self._plant.hosts[index] for index in ends]
        self._at_work: dict[tuple[str, int], Exercise] = {}
        pairs = [self._connect() for _ in range(settings.qps)]
        near, far = self._hosts
        self._sides = [
            _Side(near, far, [pair[0] for pair in pairs], settings),
            _Side(far, near, [pair[1] for pair in pairs], settings),
        ]
        for host in self._hosts:
            host.on_progress = self._progressed

    def _connect(self) -> tuple[QueuePair, QueuePair]:
        one, other = self._hosts
        try:
            config = qp_config(one.nic.config.qp, self._settings.qp)
            near, far = one.nic.create_qp(config), other.nic.create_qp(config)
            near.connect(far.info(), 0)
            far.connect(near.info(), 0)
        except ValueError as error:
            raise PerftestError(str(error)) from error
        return near, far

    def _srtt_ns(self, key: FlowKey) -> int:
        address, qpn = key
        for side in self._sides:
            for qp, peer in zip(side.qps, self._peers(side), strict=True):
                if (side.peer.nic.address, peer.qpn) == (address, qpn):
                    return qp.rtt.smoothed_ns
        raise KeyError(key)

    def _peers(self, side: _Side) -> list[QueuePair]:
        return self._sides[1 - self._sides.index(side)].qps

    @property
    def facts(self) -> PairFacts:
        fabric, (near, far) = self._plant.fabric, self._sides
        qp = near.qps[0]
        ends = tuple(
            (_end(near.host, a, from_far), _end(far.host, b, from_near))
            for a, b, from_far, from_near in zip(
                near.qps, far.qps, far.regions, near.regions, strict=True
            )
        )
        return PairFacts(
            "virtual",
            fabric.name,
            fabric.spec.planes,
            fabric.nic_rate_bps,
            qp.config.mtu(fabric),
            len(qp.evs.active()),
            qp.config.congestion,
            ends,
        )

    def most_iterations(self, size: int) -> int:
        mtu = self._sides[0].qps[0].config.mtu(self._plant.fabric)
        packets = max(1, -(-size // mtu)) * self._settings.qps
        return PACKETS_A_TEST[self._settings.quantity] // packets

    def stream(self, size: int, extent: Extent) -> Sequence[ExerciseResult]:
        sides = self._sides if self._settings.bidirectional else self._sides[:1]
        lanes = [side.lanes(size) for side in sides]
        work = [
            (side.host, Stream(chosen, extent, self._settings.tx_depth))
            for side, chosen in zip(sides, lanes, strict=True)
        ]
        results = self._run(work)
        for side, chosen in zip(sides, lanes, strict=True):
            side.check(chosen)
        return results

    def ping_pong(self, size: int, extent: Extent) -> ExerciseResult:
        near, far = self._sides
        there, back = near.lanes(size, 1), far.lanes(size, 1)
        work = [(far.host, Pong(back[0])), (near.host, Ping(there[0], extent))]
        result = self._run(work)[1]
        near.check(there)
        far.check(back)
        return result

    # -- time -----------------------------------------------------------------------------------

    def _run(self, work: Sequence[tuple[HostNode, Exercise]]) -> list[ExerciseResult]:
        loop = self._plant.loop
        for host, exercise in work:
            for qpn in exercise.qpns:
                self._at_work[host.name, qpn] = exercise
            exercise.start(loop.now)
            host.pump(loop.now)
        while not all(exercise.done for _, exercise in work):
            if not loop.heap:
                raise MeasurementFailed("nothing more happens, and the test is not done")
            loop.run(loop.heap[0][0] + _STEP_NS)
        self._at_work.clear()
        results = [exercise.result() for _, exercise in work]
        names = [host.name for host, _ in work]
        fail_on_errors(list(zip(names, results, strict=True)))
        return results

    def _progressed(self, host: HostNode, now: int) -> None:
        completions = host.nic.poll_completions()
        for completion in completions:
            exercise = self._at_work.get((host.name, completion.qpn))
            if exercise is not None:
                exercise.hear(completion, now)
        if completions:
            host.pump(now)


def _end(host: HostNode, qp: QueuePair, written: MemoryRegion) -> End:
    return End(host.name, host.nic.address, qp.qpn, qp.first_psn, written.va, written.rkey)
