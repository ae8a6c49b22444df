# SPDX-License-Identifier: Apache-2.0
"""Setting up and asking for EV format profiles."""

from __future__ import annotations

import errno

from endpoint.api_error import MrcError
from endpoint.control.masks import check_mask, check_vendor_cfg
from endpoint.control.objects import (
    MRC_CTL_EV_FMT_OP_MODIFY_FIELDS,
    MRC_CTL_EV_FMT_OP_QUERY_FIELDS,
    MRC_CTL_EV_FMT_PROFILE_CUR_STATE,
    MRC_CTL_EV_FMT_PROFILE_MODE,
    MRC_CTL_EV_FMT_PROFILE_OP,
    MRC_CTL_EV_FMT_PROFILE_STATE,
    MRC_CTL_EV_FMT_VENDOR_CFG,
    mrc_ctl_ev_fmt_profile_attr,
    mrc_ctl_ev_fmt_profile_attr_mask,
)
from endpoint.profiles.ev_format import EvFormat, check_format
from endpoint.profiles.ev_value import mrc_ctl_ev_fmt_field
from endpoint.profiles.kinds import (
    MRC_CTL_PROFILE_INIT,
    MRC_CTL_PROFILE_ONLINE,
    check_transition,
    mrc_ctl_ev_fmt_mode,
    mrc_ctl_profile_state,
)
from endpoint.verbs.context import mrc_context

_SETTINGS = MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP


def mrc_ctl_modify_ev_fmt_profile(
    mrc_ctx: mrc_context, ev_fmt_profile_id: int, attr: mrc_ctl_ev_fmt_profile_attr, attr_mask: int
) -> None:
    """Changes an EV format profile: mode and fields in OFFLINE or on the way there, its state.

    MrcError: EINVAL (a transition or a value that there is not, something missing), EBUSY while
    an EV profile that uses it is ONLINE, E2BIG for more bits than the format has room for.
    """
    mask = check_mask(mrc_ctl_ev_fmt_profile_attr_mask, attr_mask)
    profile = mrc_ctx.device.profiles.format(ev_fmt_profile_id)
    what = f"EV format profile {ev_fmt_profile_id}"
    old, new = profile.state, profile.state
    if mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE and attr.cur_profile_state is not old:
        raise MrcError(errno.EINVAL, f"{what} is {old.name}")
    if mask & MRC_CTL_EV_FMT_PROFILE_STATE:
        new = mrc_ctl_profile_state(attr.profile_state)
        check_transition(what, old, new)
    if mask & MRC_CTL_EV_FMT_VENDOR_CFG:
        check_vendor_cfg(attr.vendor_cfg)
    if mask & _SETTINGS and (
        old is MRC_CTL_PROFILE_ONLINE or (MRC_CTL_PROFILE_INIT in (new, old) and new is old)
    ):
        raise MrcError(errno.EINVAL, f"{what}: mode and fields change OFFLINE only")
    mode, fields = profile.mode, profile.fields
    if mask & MRC_CTL_EV_FMT_PROFILE_MODE:
        mode = _mode(attr.ev_fmt_mode)
    if mask & MRC_CTL_EV_FMT_PROFILE_OP:
        if attr.ev_fmt_op.op is not MRC_CTL_EV_FMT_OP_MODIFY_FIELDS:
            raise MrcError(errno.EINVAL, f"{what}: to ask for fields is not to modify")
        fields = tuple(attr.ev_fmt_op.fmt_fields)
    if new is not MRC_CTL_PROFILE_INIT:
        _check(what, mode, fields, new)
    if old is MRC_CTL_PROFILE_ONLINE and profile.users:
        raise MrcError(errno.EBUSY, f"{what}: EV profiles {sorted(profile.users)} are ONLINE")
    profile.mode, profile.fields, profile.state = mode, fields, new
    if new is MRC_CTL_PROFILE_INIT:
        profile.mode, profile.fields = None, ()


def _mode(mode: mrc_ctl_ev_fmt_mode) -> mrc_ctl_ev_fmt_mode:
    if mode not in list(mrc_ctl_ev_fmt_mode):
        raise MrcError(errno.EINVAL, f"one EV format mode, not {mode!r}")
    return mrc_ctl_ev_fmt_mode(mode)


def _check(
    what: str,
    mode: mrc_ctl_ev_fmt_mode | None,
    fields: tuple[mrc_ctl_ev_fmt_field, ...],
    new: mrc_ctl_profile_state,
) -> None:
    if mode is None:
        raise MrcError(errno.EINVAL, f"{what}: {new.name} needs MODE")
    if fields or new is MRC_CTL_PROFILE_ONLINE:
        check_format(mode, fields)


def mrc_ctl_query_ev_fmt_profile(
    mrc_ctx: mrc_context, ev_fmt_profile_id: int, attr: mrc_ctl_ev_fmt_profile_attr, attr_mask: int
) -> mrc_ctl_ev_fmt_profile_attr:
    """Fills `attr` with what the mask asks for, and returns it. MrcError(EINVAL)."""
    mask = check_mask(mrc_ctl_ev_fmt_profile_attr_mask, attr_mask)
    profile: EvFormat = mrc_ctx.device.profiles.format(ev_fmt_profile_id)
    if mask & (MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_CUR_STATE):
        attr.profile_state = attr.cur_profile_state = profile.state
    if mask & MRC_CTL_EV_FMT_PROFILE_MODE and profile.mode is not None:
        attr.ev_fmt_mode = profile.mode
    if mask & MRC_CTL_EV_FMT_PROFILE_OP:
        if attr.ev_fmt_op.op is not MRC_CTL_EV_FMT_OP_QUERY_FIELDS:
            raise MrcError(errno.EINVAL, "to modify fields is not to ask")
        attr.ev_fmt_op.fmt_fields = list(profile.fields)
    return attr
