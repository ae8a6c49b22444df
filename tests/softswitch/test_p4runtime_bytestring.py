# SPDX-License-Identifier: Apache-2.0
"""P4Runtime bytestrings are canonical when written, and padded ones read but never overflow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softswitch.p4rt import bytestring

# P4Runtime specification 1.4.1, tables of valid and invalid encodings (unsigned rows).
ACCEPTED = [
    (8, b"\x63", 99),
    (16, b"\x00\x63", 99),
    (16, b"\x63", 99),
    (16, b"\x30\x64", 12388),
    (16, b"\x00\x30\x64", 12388),
    (12, b"\x00\x63", 99),
    (12, b"\x00\x00\x63", 99),
]
REFUSED = [
    (8, b"\x01\x63"),
    (8, b""),
    (16, b"\x01\x00\x63"),
    (12, b"\x10\x63"),
    (12, b"\x01\x00\x63"),
    (12, b"\x00\x40\x63"),
]


@pytest.mark.parametrize(("width", "data", "value"), ACCEPTED)
def test_valid_rows_of_the_specification_decode(width, data, value):
    assert bytestring.decode(data, width) == value


@pytest.mark.parametrize(("width", "data"), REFUSED)
def test_invalid_rows_of_the_specification_are_refused(width, data):
    with pytest.raises(bytestring.BytestringError):
        bytestring.decode(data, width)


def test_zero_takes_one_byte():
    assert bytestring.encode(0) == b"\x00"


@given(st.integers(1, 200), st.data(), st.integers(0, 5))
def test_every_value_survives_with_any_padding(width, data, padding):
    value = data.draw(st.integers(0, (1 << width) - 1))
    encoded = bytestring.encode(value)
    assert len(encoded) == 1 or encoded[0] != 0
    assert bytestring.decode(bytes(padding) + encoded, width) == value


@given(st.integers(1, 200), st.data())
def test_a_value_one_bit_too_wide_is_refused(width, data):
    value = data.draw(st.integers(1 << width, (1 << width + 1) - 1))
    with pytest.raises(bytestring.BytestringError, match=f"does not fit in {width} bits"):
        bytestring.decode(bytestring.encode(value), width)
