# SPDX-License-Identifier: Apache-2.0
"""Random faults, one after the other, never more than a few at once, each mended after a while."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from testbed.soak.plant import SoakPlant

AT_ONCE = 4
_PAUSE_NS = (2_000, 20_000)
_LASTS_NS = (10_000, 120_000)


class Storm:
    """``kinds`` counts the faults begun. ``calm`` mends everything and begins nothing more."""

    def __init__(self, plant: SoakPlant) -> None:
        self.kinds: Counter[str] = Counter()
        self._plant = plant
        self._rng: random.Random = plant.rng("storm")
        self._mend_at: dict[int, tuple[int, Callable[[], None]]] = {}
        self._next_ns = 0
        self._number = 0
        self._links = sorted(plant.wires)
        self._host_links = [name for name in self._links if plant.wires[name].host is not None]
        self._t1s = sorted({n for w in plant.wires.values() if w.host is None for n in w.ends[1:]})
        self._begin: dict[str, Callable[[int], Callable[[], None]]] = {
            "link down": self._link_down,
            "link silent": self._link_silent,
            "link lossy": self._link_lossy,
            "path lossy": self._path_lossy,
            "T1 stopped": self._t1_stopped,
            "T1 silent": self._t1_silent,
            "NIC port down": self._nic_port_down,
            "disorder": self._disorder,
        }

    def blow(self, now: int) -> None:
        """Mend what is due, and begin the next fault when its time has come."""
        for number, (until, mend) in list(self._mend_at.items()):
            if until <= now:
                del self._mend_at[number]
                mend()
        if now >= self._next_ns and len(self._mend_at) < AT_ONCE:
            kind = self._rng.choice(list(self._begin))
            self._number += 1
            self.kinds[kind] += 1
            mend = self._begin[kind](self._number)
            self._mend_at[self._number] = (now + self._rng.randrange(*_LASTS_NS), mend)
            self._next_ns = now + self._rng.randrange(*_PAUSE_NS)
            self._plant.note("fault", self._number, kind)

    def calm(self) -> None:
        """Mend everything."""
        for _, mend in self._mend_at.values():
            mend()
        self._mend_at.clear()

    # -- the kinds ----------------------------------------------------------------------------

    def _mend(self, number: int) -> Callable[[], None]:
        return lambda: self._plant.breaker.mend(number)

    def _with_link(self, verb: Callable[..., Any], number: int, *more: Any) -> Callable[[], None]:
        verb(self._rng.choice(self._links), *more, number)
        return self._mend(number)

    def _link_down(self, number: int) -> Callable[[], None]:
        return self._with_link(self._plant.breaker.cut_link, number)

    def _link_silent(self, number: int) -> Callable[[], None]:
        return self._with_link(self._plant.breaker.silence_link, number)

    def _link_lossy(self, number: int) -> Callable[[], None]:
        return self._with_link(self._plant.breaker.thin_link, number, self._share())

    def _path_lossy(self, number: int) -> Callable[[], None]:
        rng, spec = self._rng, self._plant.fabric.spec
        source, destination = rng.sample([host.name for host in self._plant.hosts], 2)
        self._plant.breaker.thin_path(
            source, destination, rng.randrange(spec.planes), rng.randrange(spec.t1s),
            self._share(), number,
        )  # fmt: skip
        return self._mend(number)

    def _t1_stopped(self, number: int) -> Callable[[], None]:
        self._plant.breaker.stop_switch(self._rng.choice(self._t1s), number)
        return self._mend(number)

    def _t1_silent(self, number: int) -> Callable[[], None]:
        self._plant.breaker.silence_switch(self._rng.choice(self._t1s), number)
        return self._mend(number)

    def _nic_port_down(self, number: int) -> Callable[[], None]:
        self._plant.breaker.cut_link(self._rng.choice(self._host_links), number)
        return self._mend(number)

    def _disorder(self, number: int) -> Callable[[], None]:
        rng = self._rng
        links = rng.sample(self._links, len(self._links) // 8)
        every = [d for link in links for d in self._plant.disorders[link] if not d.active]
        for disorder in every:
            disorder.begin(
                late=rng.choice([0.0, 0.05, 0.3]),
                late_ns=rng.choice([500, 5_000, 30_000]),
                repeat=rng.choice([0.01, 0.1]),
                spoil=rng.choice([0.0, 0.01, 0.1]),
            )

        def mend() -> None:
            for disorder in every:
                disorder.end()

        return mend

    def _share(self) -> float:
        return self._rng.choice([0.01, 0.1, 0.5])
