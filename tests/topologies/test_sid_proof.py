# SPDX-License-Identifier: Apache-2.0
"""uSIDs are unique where they must be, up to 131,072 NICs, and a wrong allocation is found."""

import itertools
import time
import tracemalloc

import pytest

from topologies import Fabric, load, sids
from topologies.clos import generate
from topologies.proof import SidCollisionError, prove_unique

SMALL = [*itertools.product((1, 2, 8), (1, 2, 5), (1, 3), (1, 4))]


def small(planes: int, t0s: int, t1s: int, nics: int) -> Fabric:
    return Fabric(generate("small", planes=planes, t0s=t0s, t1s=t1s, nics_per_t0=nics))


@pytest.mark.fact("srv6.unique")
@pytest.mark.parametrize("dimensions", SMALL)
def test_small_fabrics_by_comparing_everything(dimensions: tuple[int, int, int, int]) -> None:
    fabric = small(*dimensions)
    proof = prove_unique(fabric)
    switch_usids = [switch.usid for switch in fabric.switches()]
    assert len(set(switch_usids)) == len(switch_usids) == proof.switch_usids
    owned = [
        (plane, host.t0, fabric.nic_usid(plane, host.index))
        for plane in range(fabric.spec.planes)
        for host in fabric.hosts
    ]
    assert len(set(owned)) == len(owned) == proof.nic_usids
    assert 0 not in {*switch_usids, *(usid for _, _, usid in owned)}
    for switch in fabric.switches():
        ports = fabric.switch_ports(switch)
        adjacencies = {fabric.adjacency_usid(switch.plane, port) for port in ports}
        nics = {usid for plane, _, usid in owned if plane == switch.plane}
        assert len(adjacencies) == len(ports)
        assert not adjacencies & {0, *switch_usids, *nics}


@pytest.mark.fact("srv6.unique")
def test_the_largest_fabric_within_seconds() -> None:
    started = time.process_time()
    proof = prove_unique(load("mrc-131072"))
    assert time.process_time() - started < 15
    assert proof.switch_usids == 8 * (512 + 256)
    assert proof.nic_usids == 8 * 131_072
    assert proof.nic_scopes == 8 * 512
    assert proof.plane_usids == 8 * (512 + 256 + 256 + 512)


def test_memory_does_not_grow_with_the_number_of_nics() -> None:
    # One plane of the largest fabric: tracing makes every step many times slower.
    fabric = Fabric(load("mrc-131072").spec.model_copy(update={"planes": 1}))
    assert fabric.nic_count == 131_072
    tracemalloc.start()
    prove_unique(fabric)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


class _SharedNic(Fabric):
    """h3 and h4 have one uSID."""

    def nic_usid(self, plane: int, nic: int) -> int:
        return super().nic_usid(plane, min(nic, 2))


class _ZeroNic(Fabric):
    """h1 has uSID 0 on plane 0, which ends a container."""

    def nic_usid(self, plane: int, nic: int) -> int:
        return super().nic_usid(plane, nic) - sids.usid(0, sids.TIER_NIC, 0)


class _AdjacencyLikeT0(Fabric):
    """The adjacency by port 1 has the uSID of the T0 with index 1."""

    def adjacency_usid(self, plane: int, port: int) -> int:
        return sids.usid(plane, sids.TIER_T0, port)


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (_SharedNic, "h3 and h4 in T0 p0t0b share uSID 0x0800"),
        (_ZeroNic, "h1 in T0 p0t0a has 0x0000, which is no uSID"),
        (_AdjacencyLikeT0, "p0t0b and adjacency 1 in plane 0 share uSID 0x1001"),
    ],
)
def test_a_wrong_allocation_is_found_and_its_owners_named(broken: type[Fabric], text: str) -> None:
    with pytest.raises(SidCollisionError, match=text):
        prove_unique(broken(load("tiny").spec))


def test_switches_that_share_a_usid_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sids.usid
    # Plane forgotten in the T1 uSID: planes 0 and 1 then share theirs.
    monkeypatch.setattr(sids, "usid", lambda p, t, i: real(0 if t == sids.TIER_T1 else p, t, i))
    with pytest.raises(SidCollisionError, match="p0t1a and p1t1a in the fabric share uSID 0x1800"):
        prove_unique(load("tiny"))
