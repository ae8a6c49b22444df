# SPDX-License-Identifier: Apache-2.0
"""The cluster map names what is broken from probes alone, and never anything else: any one fault in
any fabric, lossy or dead, with stray losses everywhere, and its mending."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from controller.clustermap import ClusterMap, ElementKind, LoopId
from controller.loop_evidence import (
    ACCUSES,
    Evidence,
    contradicts,
    find_loss,
    mended_since,
    relative_entropy,
)
from topologies.fabric import Fabric
from topologies.model import FabricSpec

INTERVAL = 1000
SETTLE = 3 * INTERVAL
KEEP = 500 * INTERVAL


def fabric(planes: int = 2, t0s: int = 2, t1s: int = 2, nics: int = 2) -> Fabric:
    return Fabric(FabricSpec(name="f", planes=planes, t0s=t0s, t1s=t1s, nics_per_t0=nics))


class Probes:
    """Every loop of a fabric, probed once an interval; `broken` maps element names to the share of
    frames that each crossing loses."""

    def __init__(self, fabric: Fabric, seed: int = 1, noise: float = 0.0) -> None:
        self.fabric = fabric
        self.map = ClusterMap(fabric, SETTLE, KEEP)
        self.broken: dict[str, float] = {}
        self.noise = noise
        self.now = 0
        self.rng = random.Random(seed)
        self.crossed: dict[LoopId, list[str]] = {}

    def crossings(self, loop: LoopId) -> list[str]:
        """Names of what a loop crosses, as often as it does."""
        host = self.fabric.hosts[loop.host]
        below = self.fabric.switch_at(loop.plane, 0, host.t0).name
        link = f"{host.name}-{below}"
        if loop.t1 is None:
            return [link, below, link]
        above = self.fabric.switch_at(loop.plane, 1, loop.t1).name
        uplink = f"{below}-{above}"
        return [link, below, uplink, above, uplink, below, link]

    def run(self, rounds: int) -> None:
        spec = self.fabric.spec
        for _ in range(rounds):
            for plane in range(spec.planes):
                for host in range(self.fabric.nic_count):
                    for t1 in (None, *range(spec.t1s)):
                        loop = LoopId(plane, host, t1)
                        sent = self.now + self.rng.randrange(INTERVAL)
                        if loop not in self.crossed:
                            self.crossed[loop] = self.crossings(loop)
                        lost = self.rng.random() < self.noise or any(
                            self.rng.random() < self.broken[name]
                            for name in self.crossed[loop]
                            if name in self.broken
                        )
                        self.map.take(loop, sent, not lost)
            self.now += INTERVAL
            self.map.conclude(self.now)

    @property
    def named(self) -> set[str]:
        return {found.element.name for found in self.map.open_findings if found.certain}

    @property
    def ever_named(self) -> set[str]:
        return {found.element.name for found in self.map.findings}


def elements(fabric: Fabric) -> list[str]:
    return [*(link.name for link in fabric.links()), *(s.name for s in fabric.switches())]


def test_a_healthy_fabric_has_no_findings() -> None:
    probes = Probes(fabric(), noise=0.002)
    probes.run(300)
    assert probes.map.findings == []
    assert probes.map.lost > 0


@pytest.mark.fact("map.localise")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("h1-p0t0a", ElementKind.NIC_T0),
        ("p1t0b", ElementKind.T0),
        ("p0t0a-p0t1b", ElementKind.T0_T1),
        ("p1t1a", ElementKind.T1),
    ],
)
def test_each_kind_of_dead_element_is_named_soon_and_cleared_when_mended(
    name: str, kind: ElementKind
) -> None:
    probes = Probes(fabric())
    probes.run(20)
    probes.broken[name] = 1.0
    probes.run(20)
    assert probes.named == {name}
    (found,) = probes.map.findings
    assert found.element.kind is kind and found.share == 1.0
    probes.broken.clear()
    probes.run(40)
    assert probes.map.open_findings == []
    assert probes.ever_named == {name}
    assert found.cleared_ns is not None and found.cleared_ns > found.found_ns


@given(
    planes=st.integers(1, 2),
    t0s=st.integers(2, 3),
    t1s=st.integers(1, 3),
    nics=st.integers(2, 3),
    share=st.sampled_from([0.1, 0.2, 0.5, 1.0]),
    noise=st.sampled_from([0.0, 0.001]),
    pick=st.integers(0, 1 << 30),
    seed=st.integers(0, 1 << 30),
)
@example(2, 3, 2, 2, 0.1, 0.001, 110193, 5516)
@example(1, 2, 3, 3, 0.1, 0.001, 0, 796179)
@example(1, 2, 1, 3, 0.1, 0.001, 0, 4147)
@example(2, 3, 3, 3, 0.1, 0.0, 14, 1025252756)
@settings(max_examples=40)
def test_any_one_fault_is_named_and_nothing_else_ever(
    planes: int, t0s: int, t1s: int, nics: int, share: float, noise: float, pick: int, seed: int
) -> None:
    probes = Probes(fabric(planes, t0s, t1s, nics), seed, noise)
    names = elements(probes.fabric)
    name = names[pick % len(names)]
    probes.run(10)
    probes.broken[name] = share
    probes.run(150)
    if share > 0.1:  # a tenth takes longer
        assert probes.named == {name}
    probes.broken.clear()
    probes.run(250)  # a stray loss makes a small share's mending take longer
    assert probes.map.open_findings == []
    assert probes.ever_named <= {name}


def test_two_faults_in_different_places_are_both_named() -> None:
    probes = Probes(fabric(t0s=3, t1s=3))
    probes.broken = {"h2-p0t0a": 1.0, "p0t0b-p0t1c": 0.3, "p1t1b": 1.0}
    probes.run(100)
    assert probes.named == set(probes.broken)


@pytest.mark.fact("map.never-healthy")
def test_behind_a_dead_t0_nothing_more_is_accused() -> None:
    probes = Probes(fabric(t0s=3))
    probes.broken = {"p0t0a": 1.0}
    probes.run(150)
    assert probes.ever_named == {"p0t0a"}


def test_where_nothing_can_be_compared_both_are_suspects() -> None:
    probes = Probes(fabric(nics=1, t0s=2))
    probes.broken = {"p0t0a": 1.0}
    probes.run(40)
    assert probes.named == set()
    assert probes.ever_named == {"p0t0a", "h1-p0t0a"}
    probes.broken.clear()
    probes.run(60)
    assert probes.map.open_findings == []


def test_a_nic_that_stops_probing_is_no_loss() -> None:
    lab = Probes(fabric())
    lab.run(30)
    for plane in range(2):  # the three others go on
        for host in (1, 2, 3):
            for step in range(200):
                for t1 in (None, 0, 1):
                    lab.map.take(LoopId(plane, host, t1), lab.now + step * INTERVAL, True)
    lab.map.conclude(lab.now + 200 * INTERVAL)
    assert lab.map.findings == []


def test_probes_that_have_not_settled_accuse_nothing() -> None:
    lab = Probes(fabric())
    lab.run(30)
    for step in range(5):
        lab.map.take(LoopId(0, 0, None), lab.now + step, False)
    lab.map.conclude(lab.now + 4)
    assert lab.map.findings == []


# -- the bounds -------------------------------------------------------------------------------


def test_entropy_is_zero_for_equal_coins_and_infinite_for_the_impossible() -> None:
    assert relative_entropy(0.3, 0.3) == 0
    assert relative_entropy(0.5, 0.0) == float("inf")
    assert relative_entropy(0.0, 0.5) == pytest.approx(0.6931, abs=1e-4)


def test_three_losses_in_a_row_accuse_and_two_do_not() -> None:
    series = [(at, at < 50) for at in range(53)]
    found = find_loss(series)
    assert found == Evidence(onset_ns=50, sent=3, lost=3)
    assert found is not None and found.strength >= ACCUSES
    assert find_loss(series[:52]) is None


@given(st.integers(1, 256), st.floats(0.02, 1.0), st.integers(0, 1 << 30))
def test_evidence_counts_what_was_sent_and_lost_since_its_onset(
    count: int, share: float, seed: int
) -> None:
    rng = random.Random(seed)
    series = [(at, rng.random() >= share) for at in range(count)]
    found = find_loss(series)
    if found is not None:
        since = [came_back for at, came_back in series if at >= found.onset_ns]
        assert (found.sent, found.lost) == (len(since), since.count(False))


def test_contradiction_wants_probes_of_the_same_time() -> None:
    dead = Evidence(onset_ns=100, sent=5, lost=5)
    assert not contradicts([(at, True) for at in range(100)], dead)
    assert not contradicts([(at, True) for at in range(100, 123)], dead)
    assert contradicts([(at, True) for at in range(100, 124)], dead)
    assert not contradicts([(at, at % 2 == 0) for at in range(100, 140)], dead)


def test_mending_takes_longer_the_less_was_lost() -> None:
    fine = [(at, True) for at in range(30)]
    assert mended_since([(-1, False), *fine[:13]], 1.0) is None
    assert mended_since([(-1, False), *fine[:14]], 1.0) == 0
    assert mended_since([(-1, False), *fine], 0.2) is None
    assert mended_since([(at, True) for at in range(87)], 0.2) is None
    assert mended_since([(at, True) for at in range(88)], 0.2) == 0


def test_a_stray_loss_delays_a_mending_and_does_not_prevent_it() -> None:
    series = [(at, at != 50) for at in range(200)]
    assert mended_since(series[:88], 0.2) is None
    assert mended_since(series, 0.2) is not None


def test_the_share_to_be_mended_is_not_diluted_by_the_mending() -> None:
    lossy = [(at, at % 5 != 0) for at in range(101)]
    found = find_loss([*lossy, *((at, True) for at in range(101, 131))])
    assert found is not None and found.clean == 30
    assert found.share_while_lossy == 21 / 101 > found.share


@given(st.integers(3, 500), st.data())
def test_what_outcomes_can_accuse_as_many_can_clear(count: int, data: st.DataObject) -> None:
    lost = data.draw(st.integers(1, count))
    if Evidence(0, count, lost).strength >= ACCUSES:
        assert mended_since([(at, True) for at in range(500)], lost / count) is not None
