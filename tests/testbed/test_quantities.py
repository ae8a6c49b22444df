# SPDX-License-Identifier: Apache-2.0
"""Times and sizes are read exactly, and what is ambiguous is refused."""

import pytest

from testbed.quantities import format_time, parse_size_bytes, parse_time_ns


@pytest.mark.parametrize(
    ("text", "ns"),
    [("200us", 200_000), ("1.5 ms", 1_500_000), ("7ns", 7), ("2s", 2_000_000_000), ("3µs", 3_000)],
)
def test_a_time_becomes_nanoseconds(text: str, ns: int) -> None:
    assert parse_time_ns(text) == ns
    assert parse_time_ns(format_time(ns)) == ns


def test_zero_needs_no_unit() -> None:
    assert parse_time_ns(0) == 0


@pytest.mark.parametrize("text", [200, "200", "200 u", "-1us", "us", "0.5ns", None, True])
def test_a_time_without_a_clear_meaning_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"write it like 200us|whole number"):
        parse_time_ns(text)


@pytest.mark.parametrize(
    ("text", "size"), [("64KiB", 65536), (4096, 4096), ("1.5MiB", 1572864), ("3kB", 3000)]
)
def test_a_size_becomes_bytes(text: object, size: int) -> None:
    assert parse_size_bytes(text) == size


@pytest.mark.parametrize("text", ["64kib", "1.00001B", 2.5, True, None])
def test_a_size_without_a_clear_meaning_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"size|whole number"):
        parse_size_bytes(text)
