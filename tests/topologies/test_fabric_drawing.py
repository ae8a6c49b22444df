# SPDX-License-Identifier: Apache-2.0
"""A drawing shows every node with its uSID, the big fabric's is a summary, and runs are equal."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from topologies import Fabric, TopologyError, load
from topologies.clos import generate
from topologies.drawing import draw


def texts(path: Path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    return [
        "".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")
    ]


@pytest.mark.parametrize("preset", ["tiny", "demo", "eight-plane", "rack16"])
def test_a_small_fabric_is_drawn_whole(preset: str, tmp_path: Path) -> None:
    fabric = load(preset)
    shown = texts(draw(fabric, tmp_path / "fabric.svg"))
    for switch in fabric.switches():
        assert shown.count(switch.name) == 1
        assert f"{switch.usid:04x}" in shown
    for host in fabric.hosts:
        assert shown.count(host.name) == fabric.spec.planes
        assert all(
            f"{fabric.nic_usid(p, host.index):04x}" in shown for p in range(fabric.spec.planes)
        )


def test_the_example_path_is_the_templates_address(tmp_path: Path) -> None:
    shown = texts(draw(load("demo"), tmp_path / "fabric.svg"))
    assert any("h1 to h8 on plane 3" in t and "5f00:0:7000:7803:7001:6803::" in t for t in shown)


def test_the_largest_fabric_is_summarised_and_says_what_is_left_out(tmp_path: Path) -> None:
    shown = texts(draw(load("mrc-131072"), tmp_path / "fabric.svg"))
    assert {"h131072", "p7t0sr", "p7t1iv", "p0t0a"} <= set(shown)
    assert len(shown) < 120
    assert any("not drawn: 6 planes" in text for text in shown)
    assert {"253 T1s", "509 T0s", "253 NICs"} <= {t.removeprefix("…").strip() for t in shown}


def test_the_smallest_fabric_can_be_drawn(tmp_path: Path) -> None:
    fabric = Fabric(generate("one", planes=1, t0s=1, t1s=1, nics_per_t0=1))
    assert {"h1", "p0t0a", "p0t1a"} <= set(texts(draw(fabric, tmp_path / "fabric.svg")))


def test_two_drawings_of_one_fabric_are_the_same_file(tmp_path: Path) -> None:
    for name in ("fabric.svg", "fabric.png"):
        first = draw(load("tiny"), tmp_path / name).read_bytes()
        assert draw(load("tiny"), tmp_path / name).read_bytes() == first


def test_a_png_is_a_png(tmp_path: Path) -> None:
    data = draw(load("tiny"), tmp_path / "fabric.PNG").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(data[16:20], "big") > 1000, "pixels across"


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=re.escape("fabric.gif: a drawing is an .svg or .png")):
        draw(load("tiny"), tmp_path / "fabric.gif")
