# SPDX-License-Identifier: Apache-2.0
"""Proves that nothing is ever written outside a region, without its key, or without the right."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.memory import Access, AccessViolation, MemoryTable


def table() -> MemoryTable:
    return MemoryTable(random.Random(1))


@given(start=st.integers(-80, 180), length=st.integers(0, 120), wrong_key=st.booleans())
def test_a_write_lands_exactly_or_not_at_all(start: int, length: int, wrong_key: bool) -> None:
    memory = table()
    buffer = bytearray(300)
    region = memory.register(memoryview(buffer)[100:200], Access.REMOTE_WRITE)
    expected = bytearray(buffer)
    rkey = region.rkey ^ wrong_key
    fits = start >= 0 and start + length <= 100 and not wrong_key
    if fits:
        expected[100 + start : 100 + start + length] = b"x" * length
    if fits or length == 0:
        memory.write(rkey, region.va + start, b"x" * length)
    else:
        with pytest.raises(AccessViolation):
            memory.write(rkey, region.va + start, b"x" * length)
    assert buffer == expected


def test_a_region_without_the_right_refuses() -> None:
    memory = table()
    region = memory.register(bytearray(10), Access.LOCAL_WRITE)
    with pytest.raises(AccessViolation, match="does not allow remote writes"):
        memory.write(region.rkey, region.va, b"x")


def test_a_forgotten_region_refuses() -> None:
    memory = table()
    region = memory.register(bytearray(10), Access.REMOTE_WRITE)
    memory.deregister(region.rkey)
    with pytest.raises(AccessViolation, match="not registered"):
        memory.write(region.rkey, region.va, b"x")


def test_regions_do_not_touch() -> None:
    memory = table()
    regions = [memory.register(bytearray(5000), Access.REMOTE_WRITE) for _ in range(50)]
    assert len({r.rkey for r in regions}) == 50
    for one, next_one in pairwise(regions):
        assert one.va + one.length < next_one.va


def test_read_only_buffers_are_refused() -> None:
    with pytest.raises(ValueError, match="read-only"):
        table().register(memoryview(b"abc"), Access.REMOTE_WRITE)
    with pytest.raises(ValueError, match="not contiguous"):
        table().register(memoryview(bytearray(8))[::2], Access.REMOTE_WRITE)
