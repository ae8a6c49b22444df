# SPDX-License-Identifier: Apache-2.0
"""The fabric that the Mininet world's tests use: slow enough for any machine."""

from __future__ import annotations

from topologies.fabric import Fabric
from topologies.model import FabricSpec, TierDelays, TierRates


def small_fabric(**changes: object) -> Fabric:
    """Two hosts on different T0s, two planes of two T1s."""
    fields: dict[str, object] = {
        "name": "small",
        "planes": 2,
        "t0s": 2,
        "t1s": 2,
        "nics_per_t0": 1,
        "rate_gbps": TierRates(nic_t0=0.004, t0_t1=0.004),
        "delay_ns": TierDelays(nic_t0=6_000_000, t0_t1=6_000_000),
    }
    return Fabric(FabricSpec(**(fields | changes)))
