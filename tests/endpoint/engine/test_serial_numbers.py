# SPDX-License-Identifier: Apache-2.0
"""Proves that serial numbers compare and expand rightly across every wrap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.serial import PSN_BITS, distance, expand, is_newer, wrap_psn

unbounded = st.integers(min_value=0, max_value=1 << 40)
half = st.integers(min_value=-(1 << 23), max_value=(1 << 23) - 1)


@pytest.mark.fact("rel.psn")
@given(unbounded, half)
def test_a_psn_on_the_wire_expands_to_the_number_it_came_from(near: int, away: int) -> None:
    assert expand(wrap_psn(near + away), near) == near + away


@given(unbounded, half)
def test_distance_is_the_difference_within_half_a_circle(a: int, away: int) -> None:
    assert distance(wrap_psn(a + away), wrap_psn(a), PSN_BITS) == away


def test_sixteen_bit_ids_wrap() -> None:
    assert is_newer(0, 0xFFFF)
    assert is_newer(5, 0xFFF0)
    assert not is_newer(0xFFFF, 0)
    assert not is_newer(7, 7)
    assert not is_newer(0x8000, 0)  # exactly half the circle away counts as behind
