# SPDX-License-Identifier: Apache-2.0
"""The fabric of a soak: real P4 switches, links that may be in disorder, and a running digest."""

from __future__ import annotations

import hashlib

from softswitch.program import Program
from testbed.losses import Losses
from testbed.virtual.breakage import Breaker
from testbed.virtual.disorder import Disorder
from testbed.virtual.plant import Plant
from topologies.fabric import Fabric

CARRIER_DELAY_NS = 5_000
_BIN_NS = 1_000_000


class LossCount(Losses):
    """Frames that faults swallowed, by cause and nothing else: it must not grow with the run."""

    def __init__(self) -> None:
        super().__init__(lambda flow: 0)
        self.by_cause: dict[str, int] = {}

    def lost(self, time_ns: int, frame: bytes, place: str, cause: str, occurrence: int) -> None:
        self.by_cause[cause] = self.by_cause.get(cause, 0) + 1

    def passed(self, time_ns: int, frame: bytes, occurrence: int) -> None:
        pass


class SoakPlant(Plant):
    """``digest`` takes every frame that reaches a host, with its time, and whatever is noted."""

    def __init__(self, fabric: Fabric, program: Program, seed: int) -> None:
        self.count = LossCount()
        super().__init__(fabric, program, seed, self.count, _BIN_NS)
        self.digest = hashlib.sha256()
        self.frames_to_hosts = 0
        self.breaker = Breaker(
            self.loop, fabric, self.wires, self.switches, self.losses, CARRIER_DELAY_NS, _no_uplink
        )
        self.disorders: dict[str, tuple[Disorder, Disorder]] = {}
        for wire in self.wires.values():
            up, down = wire.directions
            witness = self._witness if wire.host is not None else None
            self.disorders[wire.name] = (
                Disorder(self.loop, up, self.rng(f"disorder {up.name}"), None),
                Disorder(self.loop, down, self.rng(f"disorder {down.name}"), witness),
            )

    def _witness(self, now: int, frame: bytes) -> None:
        self.frames_to_hosts += 1
        self.digest.update(now.to_bytes(8, "big"))
        self.digest.update(frame)

    def note(self, *words: object) -> None:
        """Something that happened, for the digest."""
        self.digest.update(f"{self.loop.now} {words}\n".encode())

    def disorder_counts(self) -> dict[str, int]:
        """Frames delayed beyond others, repeated, and spoilt, over all links."""
        every = [disorder for pair in self.disorders.values() for disorder in pair]
        return {
            "reordered": sum(d.delayed for d in every),
            "duplicated": sum(d.repeated for d in every),
            "corrupted": sum(d.spoilt for d in every),
        }


def _no_uplink(source: str, destination: str, plane: int) -> int:
    raise AssertionError("a soak names the uplink of a lossy path")
