# SPDX-License-Identifier: Apache-2.0
"""uSIDs, path addresses and EVs hold exactly the bits that the scheme says, and refuse others."""

from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topologies import sids

BLOCK = 0x5F000000
planes = st.integers(0, 7)
indexes = st.integers(0, 2047)
uplinks = st.integers(0, 255)


def test_known_uplink_address_is_written_out() -> None:
    path = sids.PathTemplate.between(BLOCK, src_t0=0, dst_t0=1, dst_downlink=3)
    assert path.has_uplinks
    address = path.address(plane=3, uplink=2)
    # plane 3 = 0x6000 in every uSID; T0 0x1000, T1 0x1800, NIC 0x0800, plus the index.
    assert IPv6Address(address) == IPv6Address("5f00:0:7000:7802:7001:6803::")


def test_two_nics_of_one_t0_need_no_t1() -> None:
    path = sids.PathTemplate.between(BLOCK, src_t0=5, dst_t0=5, dst_downlink=1)
    assert not path.has_uplinks
    assert IPv6Address(path.address(1, 0)) == IPv6Address("5f00:0:3005:2801::")
    assert path.address(1, 9) == path.address(1, 0)


def test_loop_by_a_t1_returns_to_the_same_t0() -> None:
    path = sids.PathTemplate.over_t1(BLOCK, 0, 0, 3)
    assert IPv6Address(path.address(0, 1)) == IPv6Address("5f00:0:1000:1801:1000:803::")


@pytest.mark.fact("srv6.usid")
@given(planes, st.integers(0, 3), indexes)
def test_usid_parts_come_back(plane: int, tier: int, index: int) -> None:
    if tier == sids.TIER_ADJ and index == 0:
        with pytest.raises(ValueError, match="adjacency"):
            sids.usid(plane, tier, index)
        return
    value = sids.usid(plane, tier, index)
    assert 0 < value <= 0xFFFF
    assert sids.usid_parts(value) == (plane, tier, index)


@pytest.mark.parametrize(
    ("plane", "tier", "index", "named"),
    [(8, 2, 0, "plane 8"), (-1, 2, 0, "plane -1"), (0, 4, 0, "code 4"), (0, 2, 2048, "index 2048")],
)
def test_a_value_that_does_not_fit_is_named(plane: int, tier: int, index: int, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        sids.usid(plane, tier, index)


@given(planes, uplinks, st.integers(0, 2**19 - 1))
def test_ev_parts_come_back_and_the_udp_port_is_dynamic(
    plane: int, uplink: int, entropy: int
) -> None:
    ev = sids.ev_pack(plane, uplink, entropy)
    assert (sids.ev_plane(ev), sids.ev_uplink(ev), sids.ev_entropy(ev)) == (plane, uplink, entropy)
    assert 49152 <= ev >> 16 <= 65535


@pytest.mark.parametrize("bad", [(8, 0, 0), (0, 256, 0), (0, 0, 2**19), (0, 0, -1)])
def test_ev_refuses_what_does_not_fit(bad: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="does not fit an EV"):
        sids.ev_pack(*bad)


@given(planes, uplinks, indexes, indexes, indexes, st.integers(0, 2**19 - 1))
def test_address_is_its_usids_one_by_one(
    plane: int, uplink: int, src: int, dst: int, downlink: int, entropy: int
) -> None:
    path = sids.PathTemplate.between(BLOCK, src, dst, downlink)
    hops = [(sids.TIER_T0, src), (sids.TIER_NIC, downlink)]
    if src != dst:
        hops[1:1] = [(sids.TIER_T1, uplink), (sids.TIER_T0, dst)]
    wanted = BLOCK.to_bytes(4, "big")
    wanted += b"".join(sids.usid(plane, tier, i).to_bytes(2, "big") for tier, i in hops)
    assert path.address(plane, uplink) == wanted.ljust(16, b"\0")
    assert path.address_of_ev(sids.ev_pack(plane, uplink, entropy)) == path.address(plane, uplink)


@pytest.mark.parametrize(("plane", "uplink"), [(8, 0), (-1, 0), (0, 256), (0, -1)])
def test_no_address_for_a_plane_or_uplink_out_of_range(plane: int, uplink: int) -> None:
    path = sids.PathTemplate.between(BLOCK, 0, 1, 0)
    with pytest.raises(ValueError, match="no path"):
        path.address(plane, uplink)


def test_an_address_holds_six_usids() -> None:
    assert sids.address_int(BLOCK, 1, 2, 3, 4, 5, 6) & 0xFFFF == 6
    with pytest.raises(ValueError, match="7 uSIDs"):
        sids.address_int(BLOCK, 1, 2, 3, 4, 5, 6, 7)
