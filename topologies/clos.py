# SPDX-License-Identifier: Apache-2.0
"""The generator: a two-tier multi-plane Clos from its dimensions or from a number of NICs."""

from __future__ import annotations

from typing import Any

from topologies import files
from topologies.model import FabricSpec


def generate(
    name: str,
    *,
    planes: int,
    t0s: int,
    t1s: int,
    nics_per_t0: int,
    **fields: Any,
) -> FabricSpec:
    """A spec of these dimensions; further fields as in `FabricSpec` (plain values as in YAML).

    `files.to_yaml` writes it to a file. TopologyError names the field that is wrong.
    """
    dimensions = {"planes": planes, "t0s": t0s, "t1s": t1s, "nics_per_t0": nics_per_t0}
    return files.build_spec({"name": name, **dimensions, **fields}, f"generated fabric {name}")
