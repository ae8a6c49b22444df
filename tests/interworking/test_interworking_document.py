# SPDX-License-Identifier: Apache-2.0
"""The commands in docs/interworking.md, run as they stand there, make the switch that they name."""

import re
from pathlib import Path

import pytest
from namespaces import Namespace
from one_node import KERNEL, OneNode
from outer_frames import Left, Outer

from topologies import Fabric, load

pytestmark = pytest.mark.root

DOCUMENT = Path(__file__).parents[2] / "docs" / "interworking.md"


def test_the_block_of_commands(tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 1

    def configure(namespace: Namespace, fabric: Fabric, switch: str) -> None:
        namespace.run(["sh", "-e"], stdin=blocks[0])

    with OneNode(KERNEL, load("tiny"), "p0t1a", tmp_path, configure) as node:
        t0a, t0b, nic = node.neighbour(1), node.neighbour(2), 0x0801
        packets = {
            "path from the first T0": Outer(node.address(node.own, t0b, nic)),
            "path from the second T0": Outer(node.address(node.own, t0a, nic)),
            "by an adjacency": Outer(node.address(node.adjacency(2), nic)),
            "to a T1": Outer(node.address(node.own, 0x1801, nic)),
        }
        frames = node.frames(list(packets.values()), 1)
        results = node.exchange(frames, 1)
        assert [result and Left.read(*result) for result in results] == [
            Left(2, "5f00:0:1001:801::"),
            Left(1, "5f00:0:1000:801::"),
            Left(2, "5f00:0:801::"),
            None,
        ]
        for result in filter(None, results):
            far = node.fabric.neighbour("p0t1a", result[0])
            assert result[1][:6] == node.fabric.mac(far.node, far.port)
            assert result[1][6:12] == node.fabric.mac("p0t1a", result[0])
