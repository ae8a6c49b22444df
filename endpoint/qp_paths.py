# SPDX-License-Identifier: Apache-2.0
"""The paths that a queue pair starts with: all of the fabric's, or those of an operator's plan."""

from __future__ import annotations

import random
from typing import NamedTuple

from endpoint.candidates import candidate_evs, choose_count
from endpoint.ev_set import EvSet
from endpoint.host_services import HostServices
from endpoint.path_plan import PlannedRoute
from endpoint.qp_config import QpConfig
from endpoint.reverse_paths import ReversePaths


class ChosenPaths(NamedTuple):
    """`planned` is None where the fabric's own paths are used."""

    evs: EvSet
    reverse: ReversePaths
    planned: PlannedRoute | None


def choose_paths(
    services: HostServices, config: QpConfig, dst: int, rng: random.Random
) -> ChosenPaths:
    """Paths to the NIC `dst` (0-based). ValueError for settings or a plan that give none.

    Of a plan all EVs are active, the same number on each plane; what a plane has beyond that is
    its backup. Control packets use them too, and the fabric's own on planes without any.
    """
    fabric, src = services.fabric, services.host_index
    own = candidate_evs(fabric, src, dst, rng)
    planned = None
    forward, reverse, count, backup = own, own, config.evs, None
    if config.plan is not None:
        planned = PlannedRoute(fabric, src, dst, config.plan)
        forward = planned.evs_by_plane()
        reverse = {**own, **forward}
        if count is None:
            count = sum(len(evs) for evs in forward.values())
        backup = max(len(evs) for evs in forward.values())
    evs = EvSet(
        forward,
        choose_count(forward) if count is None else count,
        random.Random(rng.getrandbits(64)),
        min_active=config.min_active,
        readmit=config.readmit,
        backup_per_plane=backup,
    )
    return ChosenPaths(evs, ReversePaths(reverse, random.Random(rng.getrandbits(64))), planned)
