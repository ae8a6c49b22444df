# SPDX-License-Identifier: Apache-2.0
"""One soak: work under a storm until enough packets were sent, rest, and what is left then."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from testbed.run import compiled_program
from testbed.soak import inventory
from testbed.soak.plant import SoakPlant
from testbed.soak.session import SoakError
from testbed.soak.storm import Storm
from testbed.soak.work import Work
from topologies import Fabric, load

PACKETS = 1_000_000
FABRIC = "demo"
PATH_MTU = 1024
"""Small, so that a given number of packets takes less copying, and messages have many packets."""
STEP_NS = 10_000
REST_NS = 2_000_000_000
"""Virtual time within which everything must have come to rest after the last fault."""

Progress = Callable[[int, int], None]
"""Called now and then with the data packets sent, and those wanted."""
Hook = Callable[[SoakPlant], None]


@dataclass(frozen=True, slots=True)
class SoakResult:
    """What came out. ``problems`` is empty when all is right; ``digest`` is that of the run:
    every frame that reached a host, every completion, event and fault, with its time."""

    seed: int
    packets: int
    frames_to_hosts: int
    packet_hops: int
    virtual_ns: int
    wall_s: float
    faults: dict[str, int]
    lost: dict[str, int]
    disorder: dict[str, int]
    qps: dict[str, int]
    sessions: dict[str, int]
    writes: dict[str, int]
    counters: dict[str, int]
    compared_bytes: int
    outstanding: list[dict[str, Any]]
    objects_left: dict[str, int]
    problems: list[str]
    digest: str

    @property
    def passed(self) -> bool:
        """Whether memory was right and nothing was left."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """As it is written to ``soak.json``."""
        return {"passed": self.passed, **asdict(self)}


def fabric() -> Fabric:
    """The fabric of every soak: two tiers, four planes, eight hosts."""
    spec = load(FABRIC).spec
    return Fabric(spec.model_copy(update={"path_mtu": PATH_MTU}))


def soak(
    seed: int,
    packets: int = PACKETS,
    progress: Progress | None = None,
    at_rest: Hook | None = None,
) -> SoakResult:
    """Run until ``packets`` data packets were sent, then until nothing happens any more.

    ``at_rest`` is called before the inventory is taken. A broken promise about memory or order
    ends the run at once, and is the first of the result's problems.
    """
    started = time.perf_counter()
    before = living()
    plant = SoakPlant(fabric(), compiled_program(), seed)
    work, storm = Work(plant), Storm(plant)
    problems: list[str] = []
    rows: list[inventory.Row] = []
    broken = False
    try:
        _storm(plant, work, storm, packets, progress)
        _rest(plant, work)
        if at_rest is not None:
            at_rest(plant)
        rows = _inventory(plant)
        problems += inventory.problems(rows) + _frames_left(plant)
        work.check_living()
        work.end_all()
        _settle(plant)
        problems += _afterwards(plant)
    except SoakError as problem:
        broken = True
        problems.append(str(problem))
    counters = work.stats()
    gc.collect()
    left = {} if broken else dict(living() - before)
    problems += [
        f"{count} objects {name} outlive their queue pairs" for name, count in left.items()
    ]
    return SoakResult(
        seed=seed,
        packets=counters["data_sent"],
        frames_to_hosts=plant.frames_to_hosts,
        packet_hops=plant.packet_hops,
        virtual_ns=plant.loop.now,
        wall_s=round(time.perf_counter() - started, 1),
        faults=dict(sorted(storm.kinds.items())),
        lost=dict(sorted(plant.count.by_cause.items())),
        disorder=plant.disorder_counts(),
        qps={"made": work.made, "reset": work.resets, "destroyed": work.destroyed},
        sessions={"opened": work.opened, **dict(sorted(work.endings.items()))},
        writes=dict(sorted(work.statuses.items())),
        counters=dict(counters),
        compared_bytes=work.compared_bytes,
        outstanding=[{**asdict(row), "ok": row.ok} for row in rows],
        objects_left=left,
        problems=problems,
        digest=plant.digest.hexdigest(),
    )


def _storm(
    plant: SoakPlant, work: Work, storm: Storm, packets: int, progress: Progress | None
) -> None:
    loop = plant.loop
    while (sent := work.data_sent) < packets:
        storm.blow(loop.now)
        work.step()
        loop.run(loop.now + STEP_NS)
        if progress is not None:
            progress(sent, packets)
    storm.calm()


def _rest(plant: SoakPlant, work: Work) -> None:
    """Sessions do what they had begun; then all probes must have found all paths alive."""
    loop, until = plant.loop, plant.loop.now + REST_NS
    work.ending = True
    while not work.at_rest or loop.heap:
        if loop.now > until:
            raise SoakError(f"not at rest {REST_NS} ns after the last fault")
        work.step()
        loop.run(loop.now + STEP_NS)
    work.step()


def _settle(plant: SoakPlant) -> None:
    loop, until = plant.loop, plant.loop.now + REST_NS
    while loop.heap:
        if loop.now > until:
            raise SoakError(f"timers still run {REST_NS} ns after the last queue pair was gone")
        loop.run(max(loop.now + STEP_NS, loop.heap[0][0]))
    for host in plant.hosts:
        host.nic.events()
        host.pump(loop.now)


def _inventory(plant: SoakPlant) -> list[inventory.Row]:
    directions = [d for wire in plant.wires.values() for d in wire.directions]
    nics = [host.nic for host in plant.hosts]
    schedulers = [p.scheduler for node in plant.switches.values() for p in node.ports.values()]
    return inventory.take(*nics, *plant.hosts, *directions, *schedulers, plant.breaker)


def _frames_left(plant: SoakPlant) -> list[str]:
    return [f"EventLoop.heap: {len(plant.loop.heap)} events"] if plant.loop.heap else []


def _afterwards(plant: SoakPlant) -> list[str]:
    """With every queue pair gone, tables that hold them or their peers must be empty too."""
    gone = {"Nic._qps", "Nic._peers", "QpTimers._due", "QpTimers._owners", "MemoryTable._regions"}
    rows = _inventory(plant)
    left = [f"{r.table}: {r.total} after the end" for r in rows if r.table in gone and r.total]
    return left + inventory.problems(rows) + _frames_left(plant)


_COUNTED = frozenset(
    {
        "QueuePair", "Requester", "Responder", "Scoreboard", "LossDetector", "Transmission",
        "Message", "EvSet", "Rotation", "Path", "Probe", "ProbeBook", "ProbeSchedule",
        "ReversePaths", "Paths", "DataTemplate", "Peer",
    }
)  # fmt: skip


def living() -> Counter[str]:
    """Objects of the engine's own kinds that exist now, by name."""
    kinds = (type(thing) for thing in gc.get_objects())
    return Counter(
        kind.__name__
        for kind in kinds
        if str(kind.__module__).startswith("endpoint.") and kind.__name__ in _COUNTED
    )
