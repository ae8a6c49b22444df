# SPDX-License-Identifier: Apache-2.0
"""Which paths lead through what is broken, for every kind of fault."""

from __future__ import annotations

import pytest

import topologies
from testbed.faults import (
    LinkDown,
    LinkLossy,
    LinkSilent,
    NicPortDown,
    Occurrence,
    PathLossy,
    SwitchSilent,
    SwitchStop,
    plan,
)
from testbed.mininet.crossing import crosses, path_links

TINY = topologies.load("tiny")
H1, H2, H3 = 0, 1, 2
PATHS = [(plane, uplink) for plane in range(2) for uplink in range(2)]


def _occurrence(fault: object) -> Occurrence:
    links = {("h2", 1): "h2-p1t0a"}
    return plan([fault], links)[0]  # type: ignore[list-item]


def _crossing(fault: object, source: int, target: int, chosen: int | None = None) -> set[tuple]:
    occurrence = _occurrence(fault)
    return {path for path in PATHS if crosses(TINY, occurrence, source, target, *path, chosen)}


def test_links_of_a_path_in_order() -> None:
    assert path_links(TINY, H1, H3, 1, 0) == ["h1-p1t0a", "p1t0a-p1t1a", "p1t0b-p1t1a", "h3-p1t0b"]
    assert path_links(TINY, H1, H2, 0, 1) == ["h1-p0t0a", "h2-p0t0a"]


@pytest.mark.parametrize("kind", ["link_down", "link_silent", "link_lossy"])
def test_a_link_between_switches_is_on_the_paths_by_its_t1_in_both_directions(kind: str) -> None:
    models = {"link_down": LinkDown, "link_silent": LinkSilent, "link_lossy": LinkLossy}
    more = {"share": 0.5} if kind == "link_lossy" else {}
    fault = models[kind](kind=kind, link="p0t0a-p0t1b", at="1us", **more)
    assert _crossing(fault, H1, H3) == {(0, 1)}
    assert _crossing(fault, H3, H1) == {(0, 1)}
    assert _crossing(fault, H1, H2) == set()


def test_a_nic_port_is_on_all_paths_of_its_plane() -> None:
    fault = NicPortDown(kind="nic_port_down", host="h2", port=1, at="1us")
    assert _crossing(fault, H2, H3) == {(1, 0), (1, 1)}
    assert _crossing(fault, H3, H2) == {(1, 0), (1, 1)}
    assert _crossing(fault, H1, H3) == set()


def test_a_switch_is_on_the_paths_that_pass_it() -> None:
    t1 = SwitchStop(kind="switch_stop", switch="p1t1a", at="1us")
    t0 = SwitchSilent(kind="switch_silent", switch="p0t0b", at="1us")
    assert _crossing(t1, H1, H3) == {(1, 0)}
    assert _crossing(t0, H1, H3) == {(0, 0), (0, 1)}
    assert _crossing(t0, H1, H2) == set()


def test_a_lossy_path_is_one_path_of_one_pair_in_one_direction() -> None:
    fault = PathLossy(
        kind="path_lossy", source="h1", destination="h3", plane=1, uplink=0, share=0.2, at="1us"
    )
    assert _crossing(fault, H1, H3) == {(1, 0)}
    assert _crossing(fault, H3, H1) == set()
    assert _crossing(fault, H2, H3) == set()
    chosen_later = fault.model_copy(update={"uplink": None})
    assert _crossing(chosen_later, H1, H3, chosen=1) == {(1, 1)}
    assert _crossing(chosen_later, H1, H3, chosen=None) == set()
