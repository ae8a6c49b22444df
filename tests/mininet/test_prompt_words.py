# SPDX-License-Identifier: Apache-2.0
"""Sizes, percentages and numbers at the prompt, and what is wrong with those that are not."""

from __future__ import annotations

import pytest

from testbed.cli.prompt_words import BadCommand, percentage, plain_number, size_bytes


@pytest.mark.parametrize(
    ("text", "value"),
    [("64M", 64 << 20), ("8k", 8 << 10), ("1.5K", 1536), ("1000", 1000), ("2GiB", 2 << 30),
     ("3MB", 3 << 20)],
)  # fmt: skip
def test_sizes(text: str, value: int) -> None:
    assert size_bytes(text) == value


@pytest.mark.parametrize(
    ("text", "share"), [("20", 0.2), ("20%", 0.2), ("100", 1.0), ("0.5", 0.005)]
)
def test_percentages(text: str, share: float) -> None:
    assert percentage(text) == pytest.approx(share)


@pytest.mark.parametrize(
    ("parse", "text", "words"),
    [
        (size_bytes, "8X", "'8X' is no size"),
        (size_bytes, "-1", "'-1' is no size"),
        (percentage, "much", "'much' is no percentage"),
        (percentage, "0", "not above 0"),
        (percentage, "101", "not above 0"),
        (percentage, "nan", "not above 0"),
        (lambda text: plain_number(text, "plane"), "x", "'x' is no plane"),
        (lambda text: plain_number(text, "plane"), "-1", "'-1' is no plane"),
    ],
)
def test_what_is_wrong_is_said(parse: object, text: str, words: str) -> None:
    with pytest.raises(BadCommand, match=words):
        parse(text)  # type: ignore[operator]
