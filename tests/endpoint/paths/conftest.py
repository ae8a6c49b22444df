# SPDX-License-Identifier: Apache-2.0
"""EV sets whose EVs read as plane and number: 0x0200 is plane 2, path 0."""

import random
from collections.abc import Callable

import pytest

from endpoint.ev_set import EvSet

MakeSet = Callable[..., EvSet]


@pytest.fixture
def make_set() -> MakeSet:
    """``make_set(planes, active, backup, seed=…, **options)``: EVs ``plane << 8 | number``."""

    def make(planes: int, active: int, backup: int = 0, seed: int = 1, **options) -> EvSet:
        candidates = {
            plane: [plane << 8 | number for number in range(active + backup)]
            for plane in range(planes)
        }
        return EvSet(
            candidates,
            planes * active,
            random.Random(seed),
            backup_per_plane=backup,
            **options,
        )

    return make
