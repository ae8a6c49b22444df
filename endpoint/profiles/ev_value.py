# SPDX-License-Identifier: Apache-2.0
"""EVs as the control API gives them: 32 bytes and a port; and the fields that expand them.

A value is a string of bits, the first byte's highest bit first (decision: the API leaves the
order of bytes open). It stands at the front of the 32 bytes, the rest is zero.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from endpoint.api_error import MrcError

MRC_CTL_EV_MAX_BYTES: Final = 32
MAX_BITS: Final = 8 * MRC_CTL_EV_MAX_BYTES
MAX_FIELD_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class mrc_ctl_ev:
    """An EV: `val`, up to 32 bytes (shorter ones are filled with zeros), and the NIC port that
    packets leave by, from 1. Port 0 with zeros is an entry that nobody has filled."""

    val: bytes = bytes(MRC_CTL_EV_MAX_BYTES)
    port: int = 0

    def __post_init__(self) -> None:
        if len(self.val) > MRC_CTL_EV_MAX_BYTES:
            raise MrcError(errno.EINVAL, f"an EV of {len(self.val)} bytes: 32 are the most")
        object.__setattr__(self, "val", self.val.ljust(MRC_CTL_EV_MAX_BYTES, b"\0"))

    @classmethod
    def of(cls, value: int, width: int, port: int) -> mrc_ctl_ev:
        """The EV with a number of `width` bits (up to 256) at its front."""
        return cls((value << MAX_BITS - width).to_bytes(MRC_CTL_EV_MAX_BYTES, "big"), port)

    def bits(self, width: int) -> int:
        """The first `width` bits as a number."""
        return int.from_bytes(self.val, "big") >> MAX_BITS - width


MRC_CTL_EV_UNPOPULATED: Final = mrc_ctl_ev()


@dataclass(frozen=True, slots=True)
class mrc_ctl_ev_fmt_field:
    """A field of an EV in packets: its width, 1 to 32 bits."""

    width: int


@dataclass(frozen=True, slots=True)
class mrc_ctl_ev_field:
    """How a field is made from an EV.

    It starts as `init_val`; then each bit set in `mask`, the most significant first, is replaced
    by the next bit of the EV. Generated EVs take, for the bits under the mask, the values
    `min_val` to `max_val`. A field with mask 0 is fixed.
    """

    width: int
    init_val: int = 0
    min_val: int = 0
    max_val: int = 0
    mask: int = 0

    @property
    def taken(self) -> int:
        """How many bits of the EV it takes."""
        return self.mask.bit_count()

    @property
    def choices(self) -> int:
        """How many values it has when EVs are generated."""
        return self.max_val - self.min_val + 1 if self.mask else 1

    def expand(self, bits: int) -> int:
        """Its value, with `taken` bits of the EV."""
        value, left = self.init_val, self.taken
        for place in reversed(range(self.width)):
            if self.mask >> place & 1:
                left -= 1
                value = value & ~(1 << place) | (bits >> left & 1) << place
        return value


def check_fields(
    fields: Sequence[mrc_ctl_ev_field], formats: Sequence[mrc_ctl_ev_fmt_field]
) -> None:
    """The restrictions of the API. MrcError(E2BIG) for more fields or bits than the format has,
    EINVAL for a value that does not fit its field; it names the field by its number from 0."""
    if len(fields) > len(formats):
        raise MrcError(errno.E2BIG, f"{len(fields)} EV fields, the format has {len(formats)}")
    for number, (field, form) in enumerate(zip(fields, formats, strict=False)):
        most = (1 << field.width) - 1
        if not 1 <= field.width <= MAX_FIELD_BITS:
            raise _misfit(number, f"width {field.width} is outside 1..{MAX_FIELD_BITS}")
        if field.width > form.width:
            raise _misfit(number, f"width {field.width}, in the format {form.width}")
        if not 0 <= field.init_val <= most:
            raise _misfit(number, f"init_val {field.init_val:#x} is wider than the field")
        if not 0 <= field.mask <= most:
            raise _misfit(number, f"mask {field.mask:#x} is wider than the field")
        if not 0 <= field.max_val < 1 << field.taken:
            raise _misfit(number, f"max_val {field.max_val} is wider than the mask's bits")
        if not 0 <= field.min_val <= field.max_val:
            raise _misfit(number, f"min_val {field.min_val} is above max_val {field.max_val}")


def _misfit(number: int, why: str) -> MrcError:
    return MrcError(errno.EINVAL, f"EV field {number}: {why}")


def expand(
    ev: mrc_ctl_ev, fields: Sequence[mrc_ctl_ev_field], formats: Sequence[mrc_ctl_ev_fmt_field]
) -> bytes:
    """The 32 bytes that an EV becomes: each field in the width of its format, zeros in front of a
    narrower one and for formats without a field. Without fields the EV is taken as it is.

    MrcError(EINVAL) when the EV has bits beyond those that the fields take.
    """
    if not fields:
        total = sum(form.width for form in formats)
        if ev.bits(MAX_BITS) & (1 << MAX_BITS - total) - 1:
            raise MrcError(errno.EINVAL, f"EV {ev.val.hex()} has more than {total} bits")
        return ev.val
    left = ev.bits(MAX_BITS)
    result = used = taken = 0
    for field, form in zip(fields, formats, strict=False):
        bits = left >> MAX_BITS - taken - field.taken & (1 << field.taken) - 1
        taken += field.taken
        result = result << form.width | field.expand(bits)
        used += form.width
    if left & (1 << MAX_BITS - taken) - 1:
        raise MrcError(errno.EINVAL, f"EV {ev.val.hex()} has more bits than the fields' {taken}")
    return (result << MAX_BITS - used).to_bytes(MRC_CTL_EV_MAX_BYTES, "big")


def combinations(fields: Sequence[mrc_ctl_ev_field]) -> int:
    """How many different EVs the fields can generate."""
    return prod(field.choices for field in fields)


def generate(fields: Sequence[mrc_ctl_ev_field], count: int) -> Iterator[tuple[int, int]]:
    """`count` different EVs (at most `combinations`), spread evenly over all: (number, width).

    The last field changes fastest.
    """
    total = combinations(fields)
    width = sum(field.taken for field in fields)
    for index in range(count):
        rest, value, shift = index * total // count, 0, 0
        for field in reversed(fields):
            rest, choice = divmod(rest, field.choices)
            if field.mask:
                value |= (field.min_val + choice) << shift
                shift += field.taken
        yield value, width
