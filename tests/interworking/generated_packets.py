# SPDX-License-Identifier: Apache-2.0
"""Random packets of which program and kernel must make the same: good ones and bad ones."""

from __future__ import annotations

import dataclasses
import random

from outer_frames import Outer
from sid_cases import NIC1, NIC2, OWN, T0B, T1A, T1B, UA1, UA2, UA4, UNKNOWN, address


class Generator:
    """Packets of which both have something to say, and the same: the differences left out."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def usid(self) -> int:
        """Any uSID: of this node, of neighbours, of others, or the end of a container."""
        known = (OWN, UA1, UA2, 3, UA4, NIC1, NIC2, T1A, T1B, T0B, 0)
        return self.rng.choice((*known, self.rng.getrandbits(16)))

    def foreign(self) -> int:
        """A uSID that is neither this node's nor any neighbour's."""
        return self.rng.choice((T0B, UNKNOWN, 0x0802, 0x1FFF, 0x0005, 0x2001))

    def routed(self) -> list[int]:
        """uSIDs of which the first is looked up in routes."""
        first = self.rng.choice((NIC1, NIC2, T1A, T1B, T1A, T1B, self.foreign()))
        return [first, *(self.usid() for _ in range(self.rng.randrange(4)))]

    def destination(self) -> tuple[list[int], bool]:
        """uSIDs, and whether they leave by an adjacency."""
        rest = [self.usid() for _ in range(self.rng.randrange(5))]
        adjacency = self.rng.choice((UA1, UA2, 3, UA4))
        return self.rng.choice(
            (
                ([OWN, *self.routed()], False),
                ([OWN], False),
                ([OWN, 0, *rest[:4]], False),
                ([OWN, adjacency, *rest[:4]], True),
                ([adjacency, *rest], True),
                ([self.foreign(), *rest], False),
            )
        )

    def segments(self, by_adjacency: bool) -> tuple[list[int], int]:
        """Segments and how many of them are left."""
        if self.rng.random() < 0.5:
            return [], 0
        first = [self.foreign() if by_adjacency else self.routed()[0], self.usid(), self.usid()]
        if self.rng.random() < 0.1:
            return [address(*first)] * 2, 0
        return [address(*first)], self.rng.choice((0, 1, 1))

    def packet(self) -> Outer:
        rng = self.rng
        usids, by_adjacency = self.destination()
        segments, left = self.segments(by_adjacency)
        size = rng.choice((0, 1, 40, 200, rng.randrange(4242 - 40 - 40)))
        made = Outer(
            address(*usids),
            segments,
            left,
            hop_limit=rng.choice((64, 64, rng.randrange(256))),
            traffic_class=rng.getrandbits(8),
            payload=rng.randbytes(size),
        )
        fault = rng.random()
        if fault < 0.04:
            return dataclasses.replace(made, version=rng.choice((0, 4, 5, 7, 15)))
        if fault < 0.08:
            return dataclasses.replace(
                made, ether_type=rng.choice((0x0800, 0x0806, 0x86DE, 0x8847))
            )
        return made

    def cut(self, frame: bytes) -> bytes:
        """Now and then, the frame broken off within its outer header."""
        return frame[: self.rng.randrange(14, 54)] if self.rng.random() < 0.03 else frame
