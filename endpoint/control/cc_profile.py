# SPDX-License-Identifier: Apache-2.0
"""Setting up and asking for congestion control profiles."""

from __future__ import annotations

import errno
from dataclasses import asdict
from typing import Any

from endpoint import congestion
from endpoint.api_error import MrcError
from endpoint.congestion.nscc_config import NsccConfig
from endpoint.congestion.registry import config_type
from endpoint.control.masks import check_mask, check_vendor_cfg
from endpoint.control.objects import (
    MRC_CTL_CC_PROFILE_ALGORITHM,
    MRC_CTL_CC_PROFILE_CONFIG,
    MRC_CTL_CC_PROFILE_CUR_STATE,
    MRC_CTL_CC_PROFILE_STATE,
    MRC_CTL_CC_PROFILE_VENDOR_CFG,
    mrc_ctl_cc_nscc_cfg,
    mrc_ctl_cc_profile_attr,
    mrc_ctl_cc_profile_attr_mask,
)
from endpoint.profiles.cc_profile import CcProfile
from endpoint.profiles.kinds import (
    MRC_CTL_PROFILE_INIT,
    MRC_CTL_PROFILE_ONLINE,
    check_transition,
    mrc_ctl_profile_state,
)
from endpoint.profiles.store import OWN_PROFILE
from endpoint.verbs.context import mrc_context

_SETTINGS = MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG


def mrc_ctl_modify_cc_profile(
    mrc_ctx: mrc_context, cc_profile_id: int, attr: mrc_ctl_cc_profile_attr, attr_mask: int
) -> None:
    """Changes a CC profile: algorithm and settings OFFLINE or on the way there, its state.

    MrcError: EINVAL (a transition, algorithm or setting that there is not, something missing),
    EBUSY while QPs use it.
    """
    mask = check_mask(mrc_ctl_cc_profile_attr_mask, attr_mask)
    if cc_profile_id == OWN_PROFILE:
        raise MrcError(errno.EINVAL, "CC profile 0 is the device's own")
    profile = mrc_ctx.device.profiles.cc(cc_profile_id)
    what = f"CC profile {cc_profile_id}"
    old, new = profile.state, profile.state
    if mask & MRC_CTL_CC_PROFILE_CUR_STATE and attr.cur_profile_state is not old:
        raise MrcError(errno.EINVAL, f"{what} is {old.name}")
    if mask & MRC_CTL_CC_PROFILE_STATE:
        new = mrc_ctl_profile_state(attr.profile_state)
        check_transition(what, old, new)
    if mask & MRC_CTL_CC_PROFILE_VENDOR_CFG:
        check_vendor_cfg(attr.vendor_cfg)
    if mask & _SETTINGS and (old is MRC_CTL_PROFILE_ONLINE or old is new is MRC_CTL_PROFILE_INIT):
        raise MrcError(errno.EINVAL, f"{what}: algorithm and settings change OFFLINE only")
    if old is MRC_CTL_PROFILE_ONLINE and new is not old and profile.users:
        raise MrcError(errno.EBUSY, f"{what}: {len(profile.users)} QPs use it")
    if new is MRC_CTL_PROFILE_INIT:
        mrc_ctx.device.profiles.ccs[cc_profile_id] = CcProfile(cc_profile_id)
        return
    _set(what, profile, attr, mask, new)
    profile.state = new


def _set(
    what: str,
    profile: CcProfile,
    attr: mrc_ctl_cc_profile_attr,
    mask: mrc_ctl_cc_profile_attr_mask,
    new: mrc_ctl_profile_state,
) -> None:
    algorithm, given = profile.algorithm, profile.cc_config
    names = bool(mask & MRC_CTL_CC_PROFILE_ALGORITHM)
    configures = bool(mask & MRC_CTL_CC_PROFILE_CONFIG)
    if names:
        algorithm, given = attr.algorithm, None
        if algorithm is not None and algorithm not in congestion.names():
            known = ", ".join(congestion.names())
            raise MrcError(errno.EINVAL, f"{what}: no algorithm {algorithm!r}; known are {known}")
    if not names and not profile.has_algorithm:
        raise MrcError(errno.EINVAL, f"{what}: {new.name} needs CC_ALGORITHM")
    if configures:
        given = attr.cc_config
    elif new is MRC_CTL_PROFILE_ONLINE and (names or not profile.has_config):
        raise MrcError(errno.EINVAL, f"{what}: ONLINE needs CC_CONFIG")
    config = _engine_config(what, algorithm, given)
    profile.algorithm, profile.has_algorithm = algorithm, True
    profile.has_config = configures or (profile.has_config and not names)
    profile.config, profile.cc_config = config, given


def _engine_config(what: str, algorithm: str | None, given: Any | None) -> Any | None:
    if given is None or algorithm is None:
        return None
    try:
        if isinstance(given, mrc_ctl_cc_nscc_cfg):
            values = asdict(given)
            values["disable_qa"] = bool(given.disable_qa)
            given = NsccConfig(**values)
        wanted = config_type(algorithm)
    except (ValueError, TypeError) as error:
        raise MrcError(errno.EINVAL, f"{what}: {error}") from error
    if wanted is None or not isinstance(given, wanted):
        raise MrcError(errno.EINVAL, f"{what}: {type(given).__name__} is not of {algorithm}")
    return given


def mrc_ctl_query_cc_profile(
    mrc_ctx: mrc_context, cc_profile_id: int, attr: mrc_ctl_cc_profile_attr, attr_mask: int
) -> mrc_ctl_cc_profile_attr:
    """Fills `attr` with what the mask asks for, and returns it. MrcError(EINVAL)."""
    mask = check_mask(mrc_ctl_cc_profile_attr_mask, attr_mask)
    profile = mrc_ctx.device.profiles.cc(cc_profile_id)
    if mask & (MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CUR_STATE):
        attr.profile_state = attr.cur_profile_state = profile.state
    if mask & MRC_CTL_CC_PROFILE_ALGORITHM:
        default = mrc_ctx.device.nic.config.qp.congestion
        attr.algorithm = default if profile.is_default else profile.algorithm
    if mask & MRC_CTL_CC_PROFILE_CONFIG:
        attr.cc_config = profile.cc_config
    return attr
