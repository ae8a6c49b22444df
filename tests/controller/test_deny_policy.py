# SPDX-License-Identifier: Apache-2.0
"""The map's policy denies exactly the paths over what is named, and never the last one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.clustermap import Element, ElementKind
from controller.deny_policy import denied_paths, paths_over
from topologies.fabric import Fabric
from topologies.model import FabricSpec

FABRIC = Fabric(FabricSpec(name="f", planes=2, t0s=3, t1s=2, nics_per_t0=2))
NIC_LINK = Element("h1-p0t0a", ElementKind.NIC_T0, 0, host=0)
T0 = Element("p1t0b", ElementKind.T0, 1, t0=1)
UPLINK = Element("p0t0a-p0t1b", ElementKind.T0_T1, 0, t0=0, t1=1)
T1 = Element("p1t1a", ElementKind.T1, 1, t1=0)


def test_a_link_between_switches_takes_the_paths_of_its_t0s_nics() -> None:
    assert paths_over(FABRIC, 0, 2, UPLINK) == {(0, 1)}
    assert paths_over(FABRIC, 2, 0, UPLINK) == {(0, 1)}
    assert paths_over(FABRIC, 2, 4, UPLINK) == set()
    assert paths_over(FABRIC, 0, 1, UPLINK) == set()


def test_a_nics_link_takes_the_plane_of_its_nic_alone() -> None:
    assert paths_over(FABRIC, 0, 2, NIC_LINK) == {(0, 0), (0, 1)}
    assert paths_over(FABRIC, 1, 0, NIC_LINK) == {(0, 0)}
    assert paths_over(FABRIC, 1, 2, NIC_LINK) == set()


def test_switches_take_what_leads_through_them() -> None:
    assert paths_over(FABRIC, 0, 2, T0) == {(1, 0), (1, 1)}
    assert paths_over(FABRIC, 2, 3, T0) == {(1, 0)}
    assert paths_over(FABRIC, 0, 4, T0) == set()
    assert paths_over(FABRIC, 0, 4, T1) == {(1, 0)}
    assert paths_over(FABRIC, 0, 1, T1) == set()


@pytest.mark.fact("map.deny")
@given(st.lists(st.sampled_from([NIC_LINK, T0, UPLINK, T1]), max_size=6), st.permutations(range(6)))
def test_one_path_is_always_left(elements: list[Element], hosts: list[int]) -> None:
    denied = denied_paths(FABRIC, hosts[0], hosts[1], elements)
    assert len(denied) < FABRIC.paths(hosts[0], hosts[1])


def test_what_would_cut_off_is_left_alone_and_the_rest_is_denied() -> None:
    both = [Element("h1-p0t0a", ElementKind.NIC_T0, 0, host=0), T0]
    assert denied_paths(FABRIC, 0, 2, both) == {(0, 0), (0, 1)}
    assert denied_paths(FABRIC, 0, 2, [*both, T1]) == {(0, 0), (0, 1), (1, 0)}
