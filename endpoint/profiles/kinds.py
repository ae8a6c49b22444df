# SPDX-License-Identifier: Apache-2.0
"""Enums of `mrc_ctl.h` 1.0.1 that describe profiles, under its names, and the common states."""

from __future__ import annotations

import errno
from enum import IntEnum, IntFlag

from endpoint.api_error import MrcError


class mrc_ctl_profile_state(IntEnum):
    """INIT (nothing set) → OFFLINE (set up, not usable) → ONLINE (usable), and back."""

    MRC_CTL_PROFILE_INIT = 0
    MRC_CTL_PROFILE_OFFLINE = 1
    MRC_CTL_PROFILE_ONLINE = 2


MRC_CTL_PROFILE_INIT, MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_ONLINE = mrc_ctl_profile_state

TRANSITIONS = frozenset(
    {
        (MRC_CTL_PROFILE_INIT, MRC_CTL_PROFILE_OFFLINE),
        (MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_ONLINE),
        (MRC_CTL_PROFILE_ONLINE, MRC_CTL_PROFILE_OFFLINE),
        (MRC_CTL_PROFILE_OFFLINE, MRC_CTL_PROFILE_INIT),
    }
)
"""Of every kind of profile; all others are refused."""


def check_transition(what: str, old: mrc_ctl_profile_state, new: mrc_ctl_profile_state) -> None:
    """MrcError(EINVAL) for a move that is not in the table."""
    if (old, new) not in TRANSITIONS:
        raise MrcError(errno.EINVAL, f"{what}: no way from {old.name} to {new.name}")


class mrc_ctl_ev_fmt_mode(IntFlag):
    """Where packets carry an EV.

    STEV: UDP source port and flow label, 32 bits. SRV6: the outer destination address, and for
    longer paths one segment of an SRH. UDP: the UDP source port, 16 bits.
    """

    MRC_CTL_EV_FMT_MODE_STEV = 1 << 0
    MRC_CTL_EV_FMT_MODE_SRV6 = 1 << 1
    MRC_CTL_EV_FMT_MODE_UDP = 1 << 2


(
    MRC_CTL_EV_FMT_MODE_STEV, MRC_CTL_EV_FMT_MODE_SRV6, MRC_CTL_EV_FMT_MODE_UDP,
) = mrc_ctl_ev_fmt_mode  # fmt: skip


class mrc_ctl_ev_mode(IntFlag):
    """Who chooses EVs: the device, the controller one by one, or the controller by fields."""

    MRC_CTL_EV_MODE_AUTO = 1 << 0
    MRC_CTL_EV_MODE_EXP = 1 << 1
    MRC_CTL_EV_MODE_GEN = 1 << 2


MRC_CTL_EV_MODE_AUTO, MRC_CTL_EV_MODE_EXP, MRC_CTL_EV_MODE_GEN = mrc_ctl_ev_mode


class mrc_ctl_ev_state(IntFlag):
    """State of an EV; SKIP, which lasts one turn, counts as GOOD."""

    MRC_CTL_EV_GOOD = 1 << 0
    MRC_CTL_EV_ASSUMED_BAD = 1 << 1
    MRC_CTL_EV_DENIED = 1 << 2
    MRC_CTL_EV_UNKNOWN = 1 << 31


(
    MRC_CTL_EV_GOOD, MRC_CTL_EV_ASSUMED_BAD, MRC_CTL_EV_DENIED, MRC_CTL_EV_UNKNOWN,
) = mrc_ctl_ev_state  # fmt: skip
