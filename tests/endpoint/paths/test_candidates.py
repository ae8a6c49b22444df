# SPDX-License-Identifier: Apache-2.0
"""Proves that candidate EVs are the fabric's distinct paths, and how many become active."""

import random

import pytest

import topologies
from endpoint.candidates import candidate_evs, choose_count
from endpoint.ev_set import EvSet
from topologies.sids import ev_plane, ev_uplink


def candidates(name, src, dst, seed=1):
    return candidate_evs(topologies.load(name), src, dst, random.Random(seed))


def test_between_t0s_one_ev_for_each_t1_of_each_plane():
    fabric = topologies.load("demo")
    evs = candidates("demo", 0, fabric.nic_count - 1)
    for plane, here in evs.items():
        assert [(ev_plane(ev), ev_uplink(ev)) for ev in here] == [
            (plane, uplink) for uplink in range(fabric.spec.t1s)
        ]
        assert all(ev >> 30 == 0b11 for ev in here), "UDP source port in the dynamic range"
    assert list(evs) == list(range(fabric.spec.planes))


def test_within_a_t0_one_path_a_plane():
    assert [len(here) for here in candidates("demo", 0, 1).values()] == [1] * 4


def test_entropy_differs_by_seed_only():
    assert candidates("demo", 0, 7) == candidates("demo", 0, 7)
    assert candidates("demo", 0, 7) != candidates("demo", 0, 7, seed=2)


@pytest.mark.fact("ev.count")
@pytest.mark.parametrize("name", ["tiny", "demo", "eight-plane", "rack16"])
def test_up_to_256_paths_are_all_active(name):
    fabric = topologies.load(name)
    evs = candidates(name, 0, fabric.nic_count - 1)
    count = choose_count(evs)
    assert count == sum(map(len, evs.values()))
    ev_set = EvSet(evs, count, random.Random(1))
    assert sorted(ev_set.active()) == sorted(ev for here in evs.values() for ev in here)
    assert ev_set.backup() == []


@pytest.mark.fact("ev.count")
def test_beyond_256_paths_256_are_active_and_as_many_in_reserve():
    fabric = topologies.load("mrc-131072")
    evs = candidates("mrc-131072", 0, fabric.nic_count - 1)
    assert sum(map(len, evs.values())) == 2048
    ev_set = EvSet(evs, choose_count(evs), random.Random(1))
    assert len(ev_set.active()) == len(ev_set.backup()) == 256
    assert len(ev_set.all_evs()) == 512, "memory of a queue pair is bounded"


@pytest.mark.parametrize(
    ("planes", "paths", "share", "count"),
    [
        (4, 4, 0.25, 12),
        (4, 4, 0.5, 8),
        (2, 1, 0.5, 2),
        (4, 3, 0.99, 4),
        (3, 200, 0.0, 255),
        (8, 256, 0.9, 208),
    ],
)
def test_a_backup_share_leaves_the_same_number_on_every_plane(planes, paths, share, count):
    evs = {plane: range(plane * 1000, plane * 1000 + paths) for plane in range(planes)}
    assert choose_count(evs, share) == count


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(ValueError, match="backup_share"):
        choose_count({0: [1]}, share)
    with pytest.raises(ValueError, match="no plane"):
        choose_count({})
