# SPDX-License-Identifier: Apache-2.0
"""Proves that the receive bitmap equals a plain set, and that SACK windows show the right part."""

from hypothesis import given
from hypothesis import strategies as st

from endpoint.sack_bitmap import ReceiveBitmap

FIRST = 1000


@given(st.permutations(range(FIRST, FIRST + 90)), st.integers(1, 90))
def test_it_equals_a_set_whatever_the_order(order: list[int], count: int) -> None:
    bitmap = ReceiveBitmap(FIRST)
    seen: set[int] = set()
    for psn in order[:count]:
        assert psn not in bitmap
        before = bitmap.cack
        assert bitmap.add(psn) == bitmap.cack - before
        seen.add(psn)
        cack = FIRST - 1
        while cack + 1 in seen:
            cack += 1
        assert bitmap.cack == cack
        assert bitmap.newest == max(seen, default=cack)
        assert bitmap.out_of_order == sum(p > cack for p in seen)
    assert all((psn in bitmap) == (psn in seen) for psn in range(FIRST, FIRST + 95))


@given(st.sets(st.integers(FIRST, FIRST + 300), min_size=1), st.integers(FIRST, FIRST + 300))
def test_a_window_shows_what_was_received_and_slides_only_as_far_as_it_must(
    psns: set[int], cause: int
) -> None:
    bitmap = ReceiveBitmap(FIRST)
    for psn in psns | {cause}:
        bitmap.add(psn)
    offset, bits = bitmap.window(cause, slide=True)
    base = bitmap.cack + offset
    assert offset >= 1
    if cause > bitmap.cack:
        assert base <= cause < base + 64
        assert offset == 1 or cause == base + 63
    assert bits == sum(1 << i for i in range(64) if base + i in bitmap)


def test_without_sliding_the_base_is_the_first_hole() -> None:
    bitmap = ReceiveBitmap(0)
    bitmap.add(100)
    assert bitmap.window(100, slide=False) == (1, 0)
    assert bitmap.window(100, slide=True) == (38, 1 << 63)


@given(st.sets(st.integers(1, 300)))
def test_probe_windows_cover_everything_up_to_the_newest(psns: set[int]) -> None:
    bitmap = ReceiveBitmap(0)
    for psn in psns:
        bitmap.add(psn)
    shown = set()
    windows = list(bitmap.windows(16))
    for offset, bits in windows:
        shown |= {bitmap.cack + offset + i for i in range(64) if bits >> i & 1}
    assert shown == psns
    assert len(windows) == max(1, -(-(bitmap.newest - bitmap.cack) // 64))
    assert len(list(bitmap.windows(2))) <= 2
