# SPDX-License-Identifier: Apache-2.0
"""Nodes and fabrics of the interworking tests; each is made once for a file."""

import shutil
from collections.abc import Callable, Iterator

import kernel_node
import namespaces
import pytest
from one_node import OneNode

from testbed.mininet.bmv2 import CLI, PROGRAM
from topologies import Fabric
from topologies.model import FabricSpec, ThresholdMultiples


@pytest.fixture(scope="session", autouse=True)
def possible() -> None:
    """Skips, with the reason, where there is no root or the kernel lacks an action."""
    reason = namespaces.missing() or kernel_node.missing()
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    """Two NICs and two T1s at a T0, and thresholds that nothing here reaches."""
    far = ThresholdMultiples(ecn_min=90, ecn_max=95, trim=98, trim_last_hop=100)
    return Fabric(
        FabricSpec(name="interworking", planes=1, t0s=2, t1s=2, nics_per_t0=2, thresholds=far)
    )


@pytest.fixture(scope="module")
def node_of(
    fabric: Fabric, possible: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], OneNode]]:
    """Switch p0t0a as `kernel`, `soft` or `bmv2`."""
    made: dict[str, OneNode] = {}

    def get(kind: str) -> OneNode:
        if kind == "bmv2":
            for program in (PROGRAM, CLI):
                if shutil.which(program) is None:
                    pytest.skip(f"{program} is not on the PATH")
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            made[kind] = OneNode(kind, fabric, "p0t0a", folder).__enter__()
        return made[kind]

    try:
        yield get
    finally:
        for node in made.values():
            node.__exit__(None, None, None)
