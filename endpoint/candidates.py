# SPDX-License-Identifier: Apache-2.0
"""Which entropy values a queue pair starts from: one EV for each path of the fabric."""

import random
from collections.abc import Mapping, Sequence

from topologies import Fabric
from topologies.sids import ENTROPY_BITS, ev_pack

MAX_ACTIVE = 256
"""A QP starts with 128 to 256 EVs (P1, section 4); more would only cost memory."""


def candidate_evs(fabric: Fabric, src: int, dst: int, rng: random.Random) -> dict[int, list[int]]:
    """One EV for every distinct path from NIC ``src`` to NIC ``dst`` (0-based), by plane.

    Between two T0s a plane has one path for each of its T1s; within one T0 it has one path. The
    entropy bits are random: they change nothing about the path (``topologies.sids``), so a second
    EV of one path would only let it take twice its share.
    """
    same_t0 = fabric.hosts[src].t0 == fabric.hosts[dst].t0
    uplinks = 1 if same_t0 else fabric.spec.t1s
    return {
        plane: [ev_pack(plane, uplink, rng.getrandbits(ENTROPY_BITS)) for uplink in range(uplinks)]
        for plane in range(fabric.spec.planes)
    }


def choose_count(evs_by_plane: Mapping[int, Sequence[int]], backup_share: float = 0.0) -> int:
    """How many EVs are to be active at the start, over all planes; the rest can be backup.

    All of them up to 256 (P1: 128 to 256), less ``backup_share`` (0 up to, not including, 1) of
    each plane, but never less than one a plane. Decision: no backup by default where the fabric
    has at most 256 paths, because an idle path is idle capacity; a plane that loses a path then
    shrinks, and takes load in proportion to the paths it has left.
    """
    if not 0 <= backup_share < 1:
        raise ValueError(f"backup_share must be in [0, 1), got {backup_share}")
    planes = len(evs_by_plane)
    if planes == 0:
        raise ValueError("evs_by_plane has no plane")
    smallest = min(len(evs) for evs in evs_by_plane.values())
    per_plane = min(smallest - int(smallest * backup_share), max(1, MAX_ACTIVE // planes))
    return planes * max(1, per_plane)
