# SPDX-License-Identifier: Apache-2.0
"""EV format profiles: where in packets EVs go, and what an expanded EV makes of a packet."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, field

from endpoint.api_error import MrcError
from endpoint.profiles.ev_value import MAX_BITS, MAX_FIELD_BITS, mrc_ctl_ev_fmt_field
from endpoint.profiles.kinds import (
    MRC_CTL_EV_FMT_MODE_SRV6,
    MRC_CTL_EV_FMT_MODE_STEV,
    MRC_CTL_EV_FMT_MODE_UDP,
    MRC_CTL_PROFILE_INIT,
    mrc_ctl_ev_fmt_mode,
    mrc_ctl_profile_state,
)

ADDRESS_BITS = 128
WIDTHS = {
    MRC_CTL_EV_FMT_MODE_STEV: 32,
    MRC_CTL_EV_FMT_MODE_SRV6: MAX_BITS,
    MRC_CTL_EV_FMT_MODE_UDP: 16,
}
"""Most bits of an EV, by format."""


def check_format(mode: mrc_ctl_ev_fmt_mode, fields: Sequence[mrc_ctl_ev_fmt_field]) -> None:
    """MrcError: EINVAL for no field or one of no or too great width, E2BIG for more bits than the
    format has room for, EINVAL for SRv6 fields of more than 128 bits of which the first do not
    fill an address exactly."""
    if not fields:
        raise MrcError(errno.EINVAL, "an EV format needs fields")
    at = 0
    boundaries = set()
    for number, part in enumerate(fields):
        if not 1 <= part.width <= MAX_FIELD_BITS:
            raise MrcError(errno.EINVAL, f"format field {number}: width {part.width}, not 1..32")
        at += part.width
        boundaries.add(at)
    if at > WIDTHS[mode]:
        raise MrcError(errno.E2BIG, f"{at} bits of EV: {mode.name} has {WIDTHS[mode]}")
    if at > ADDRESS_BITS and ADDRESS_BITS not in boundaries:
        raise MrcError(errno.EINVAL, "a format field crosses from the address into the segment")


@dataclass(slots=True)
class EvFormat:
    """One EV format profile; `users` are the ids of ONLINE EV profiles that refer to it."""

    profile_id: int
    state: mrc_ctl_profile_state = MRC_CTL_PROFILE_INIT
    mode: mrc_ctl_ev_fmt_mode | None = None
    fields: tuple[mrc_ctl_ev_fmt_field, ...] = ()
    users: set[int] = field(default_factory=set)

    @property
    def width(self) -> int:
        """Bits of an expanded EV."""
        return sum(part.width for part in self.fields)

    @property
    def has_segment(self) -> bool:
        """Whether packets have an SRH: SRv6 with more than one address."""
        return self.width > ADDRESS_BITS
