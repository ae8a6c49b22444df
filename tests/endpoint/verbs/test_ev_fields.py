# SPDX-License-Identifier: Apache-2.0
"""Proves the expansion of EVs by fields: initial value, mask bits most significant first, widths,
the restrictions of the API, and generation within min and max."""

import errno

import pytest
from api_lab import refused
from hypothesis import given
from hypothesis import strategies as st

from endpoint import control as c
from endpoint.profiles.ev_value import check_fields, combinations, expand, generate

Field, Format = c.mrc_ctl_ev_field, c.mrc_ctl_ev_fmt_field


def test_scattered_mask_bits_take_the_ev_from_its_front() -> None:
    fields = [Field(16, 0x1000, 0, 0xFF, 0x0F0F), Field(16, 0x2000, 0, 0xFF, 0x0F0F)]
    ev = c.mrc_ctl_ev(bytes.fromhex("a5c3"))
    assert expand(ev, fields, [Format(16)] * 2)[:4].hex() == "1a05" + "2c03"


def test_a_bit_under_the_mask_replaces_that_of_the_initial_value() -> None:
    (field,) = fields = [Field(8, 0xFF, 0, 3, 0b0010_0100)]
    results = [expand(c.mrc_ctl_ev.of(n, 2, 0), fields, [Format(8)])[0] for n in range(4)]
    assert results == [0b1101_1011, 0b1101_1111, 0b1111_1011, 0b1111_1111]
    assert field.expand(0) == results[0]


def test_a_locator_is_fixed_and_narrow_fields_are_filled_with_zeros_in_front() -> None:
    fields = [Field(32, 0x5F00_0000)] + [Field(4, 0, 1, 15, 15)] * 4
    formats = [Format(32)] + [Format(16)] * 4
    ev = c.mrc_ctl_ev(bytes.fromhex("1234"))
    assert expand(ev, fields, formats).hex() == "5f000000" + "0001000200030004" + "00" * 20


def test_formats_without_a_field_are_zero() -> None:
    fields = [Field(32, 0xDEADDEAD)] + [Field(16, 0, 0, 0, 0xFFFF)] * 2
    ev = c.mrc_ctl_ev(bytes.fromhex("11112222"))
    expanded = expand(ev, fields, [Format(32)] + [Format(16)] * 4)
    assert expanded.hex() == "deaddead" + "11112222" + "00" * 24


def test_without_fields_an_ev_is_what_packets_carry() -> None:
    ev = c.mrc_ctl_ev(bytes(range(1, 29)))
    widths = [Format(32)] + [Format(16)] * 6 + [Format(32)] + [Format(16)] * 4
    assert expand(ev, [], widths) == bytes(range(1, 29)) + bytes(4)
    refused(errno.EINVAL, lambda: expand(ev, [], widths[:-1]))


def test_bits_that_no_field_takes_are_refused() -> None:
    refused(
        errno.EINVAL,
        lambda: expand(c.mrc_ctl_ev(b"\xff\x80"), [Field(8, 0, 0, 255, 255)], [Format(8)]),
    )


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        (errno.E2BIG, [Field(1)] * 3),
        (errno.EINVAL, [Field(0)]),
        (errno.EINVAL, [Field(17)]),
        (errno.EINVAL, [Field(4, init_val=16)]),
        (errno.EINVAL, [Field(4, mask=0x10)]),
        (errno.EINVAL, [Field(8, max_val=4, mask=0x11)]),
        (errno.EINVAL, [Field(8, min_val=3, max_val=2, mask=0x11)]),
        (errno.EINVAL, [Field(8, max_val=1)]),
    ],
)
def test_each_restriction_of_the_api(code: int, fields: list[Field]) -> None:
    refused(code, lambda: check_fields(fields, [Format(16), Format(16)]))


FIELDS = st.lists(
    st.integers(0, 0xFF).flatmap(
        lambda mask: st.tuples(
            st.just(mask), st.integers(0, 0xFF), st.integers(0, (1 << mask.bit_count()) - 1)
        ).flatmap(lambda t: st.integers(0, t[2]).map(lambda low: Field(8, t[1], low, t[2], t[0])))
    ),
    min_size=1,
    max_size=4,
)


@given(FIELDS, st.integers(1, 40))
def test_generated_evs_differ_stay_in_range_and_keep_what_is_fixed(
    fields: list[Field], wanted: int
) -> None:
    formats = [Format(8)] * len(fields)
    check_fields(fields, formats)
    count = min(wanted, combinations(fields))
    evs = [c.mrc_ctl_ev.of(value, width, 1) for value, width in generate(fields, count)]
    expanded = {expand(ev, fields, formats) for ev in evs}
    assert len(expanded) == count
    for value in expanded:
        for byte, field in zip(value, fields, strict=False):
            assert byte & ~field.mask == field.init_val & ~field.mask
            bits = [byte >> at & 1 for at in reversed(range(8)) if field.mask >> at & 1]
            number = int("".join(map(str, bits)) or "0", 2)
            assert (field.min_val if field.mask else 0) <= number <= field.max_val


def test_all_combinations_come_once_and_fewer_are_spread_over_all() -> None:
    fields = [Field(4, 0, 2, 5, 15), Field(4, 0, 0, 3, 3)]
    assert combinations(fields) == 16
    values = [value for value, _ in generate(fields, 16)]
    assert values == [high << 2 | low for high in range(2, 6) for low in range(4)]
    assert [value >> 2 for value, _ in generate(fields, 4)] == [2, 3, 4, 5]
