# SPDX-License-Identifier: Apache-2.0
"""Setting up and asking for EV profiles.

In one call settings come first, then the operation on EVs or fields, then the move to ONLINE; a
move to OFFLINE comes before both. What a state needs may have been given in an earlier call.
"""

from __future__ import annotations

import errno

from endpoint.api_error import MrcError
from endpoint.control.device import EV_OP_MAX_ENTRIES
from endpoint.control.masks import check_mask, check_vendor_cfg
from endpoint.control.objects import (
    MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
    MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS,
    MRC_CTL_EV_OP_F_ALL_COPIES,
    MRC_CTL_EV_OP_MODIFY_EV_STATE,
    MRC_CTL_EV_OP_QUERY_EV_ARRAY,
    MRC_CTL_EV_OP_QUERY_EV_STATE,
    MRC_CTL_EV_OP_REPLACE_EV,
    MRC_CTL_EV_PROFILE_COUNT,
    MRC_CTL_EV_PROFILE_CUR_STATE,
    MRC_CTL_EV_PROFILE_EV_FIELDS_OP,
    MRC_CTL_EV_PROFILE_EV_OP,
    MRC_CTL_EV_PROFILE_EVENT_MASK,
    MRC_CTL_EV_PROFILE_FMT_ID,
    MRC_CTL_EV_PROFILE_MIN_ACTIVE,
    MRC_CTL_EV_PROFILE_MODE,
    MRC_CTL_EV_PROFILE_STATE,
    MRC_CTL_EV_PROFILE_VENDOR_CFG,
    mrc_ctl_ev_op_attr,
    mrc_ctl_ev_op_entry,
    mrc_ctl_ev_profile_attr,
    mrc_ctl_ev_profile_attr_mask,
)
from endpoint.profiles.ev_profile import EvProfile
from endpoint.profiles.ev_value import check_fields
from endpoint.profiles.kinds import (
    MRC_CTL_EV_ASSUMED_BAD,
    MRC_CTL_EV_GOOD,
    MRC_CTL_EV_MODE_AUTO,
    MRC_CTL_EV_MODE_GEN,
    MRC_CTL_PROFILE_INIT,
    MRC_CTL_PROFILE_OFFLINE,
    MRC_CTL_PROFILE_ONLINE,
    check_transition,
    mrc_ctl_ev_mode,
    mrc_ctl_ev_state,
    mrc_ctl_profile_state,
)
from endpoint.profiles.store import MAX_EVS, MAX_EVS_A_PROFILE, OWN_PROFILE
from endpoint.verbs.context import mrc_context

_OFFLINE_ONLY = (
    MRC_CTL_EV_PROFILE_MODE
    | MRC_CTL_EV_PROFILE_FMT_ID
    | MRC_CTL_EV_PROFILE_COUNT
    | MRC_CTL_EV_PROFILE_MIN_ACTIVE
)
_BOTH_OPS = MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP


def mrc_ctl_modify_ev_profile(
    mrc_ctx: mrc_context, ev_profile_id: int, attr: mrc_ctl_ev_profile_attr, attr_mask: int
) -> None:
    """Changes an EV profile, its EVs, its fields, its state.

    MrcError: EINVAL (a transition or value that there is not, something missing), E2BIG (more EVs
    or fields than fit), ENOENT (an EV that is not in the array), EBUSY (QPs use it). An operation
    on EVs stops at the first entry that fails; `entry` of the error is its index, those before it
    are done.
    """
    mask = check_mask(mrc_ctl_ev_profile_attr_mask, attr_mask)
    mrc_ctx.device.harvest()
    profile = _modifiable(mrc_ctx, ev_profile_id)
    what = f"EV profile {ev_profile_id}"
    _check_ops(what, mask)
    old, new = profile.state, profile.state
    if mask & MRC_CTL_EV_PROFILE_CUR_STATE and attr.cur_profile_state is not old:
        raise MrcError(errno.EINVAL, f"{what} is {old.name}")
    if mask & MRC_CTL_EV_PROFILE_STATE:
        new = mrc_ctl_profile_state(attr.profile_state)
        check_transition(what, old, new)
    if mask & MRC_CTL_EV_PROFILE_VENDOR_CFG:
        check_vendor_cfg(attr.vendor_cfg)
    if old is MRC_CTL_PROFILE_INIT and new is old:
        raise MrcError(errno.EINVAL, f"{what} is INIT: nothing changes but its state")
    if old is MRC_CTL_PROFILE_ONLINE:
        if mask & _OFFLINE_ONLY:
            raise MrcError(errno.EINVAL, f"{what} is ONLINE: this changes OFFLINE only")
        if new is not old:
            _go_offline(what, profile)
    if new is MRC_CTL_PROFILE_INIT:
        _clear(profile)
        return
    before = profile.settings()
    try:
        _set(mrc_ctx, what, profile, attr, mask)
        if mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP:
            _set_fields(what, profile, attr)
        if old is MRC_CTL_PROFILE_INIT:
            _check_offline(what, profile)
            profile.state = MRC_CTL_PROFILE_OFFLINE
    except MrcError:
        profile.restore(before)
        raise
    if mask & MRC_CTL_EV_PROFILE_EV_OP:
        _operate(mrc_ctx, profile, attr.ev_op)
    if new is MRC_CTL_PROFILE_ONLINE and old is not new:
        _go_online(what, profile)
    mrc_ctx.device.driver.kick()


def _modifiable(mrc_ctx: mrc_context, profile_id: int) -> EvProfile:
    if profile_id == OWN_PROFILE:
        raise MrcError(errno.EINVAL, "EV profile 0 is the device's own")
    return mrc_ctx.device.profiles.ev(profile_id)


def _check_ops(what: str, mask: mrc_ctl_ev_profile_attr_mask) -> None:
    if mask & _BOTH_OPS == _BOTH_OPS:
        raise MrcError(errno.EINVAL, f"{what}: one operation in a call, on EVs or on fields")


# -- settings -----------------------------------------------------------------------------------


def _set(
    mrc_ctx: mrc_context,
    what: str,
    profile: EvProfile,
    attr: mrc_ctl_ev_profile_attr,
    mask: mrc_ctl_ev_profile_attr_mask,
) -> None:
    profiles = mrc_ctx.device.profiles
    if mask & MRC_CTL_EV_PROFILE_MODE:
        if attr.ev_mode not in list(mrc_ctl_ev_mode):
            raise MrcError(errno.EINVAL, f"{what}: one EV mode, not {attr.ev_mode!r}")
        if attr.ev_mode is not profile.mode:
            profile.mode, profile.fields, profile.entries = attr.ev_mode, (), []
    if mask & MRC_CTL_EV_PROFILE_FMT_ID:
        form = profiles.format(attr.ev_fmt_profile_id)
        if form.state is not MRC_CTL_PROFILE_ONLINE:
            raise MrcError(errno.EINVAL, f"{what}: its format {form.profile_id} is not ONLINE")
        profile.format = form
    if mask & MRC_CTL_EV_PROFILE_COUNT and profile.mode is not MRC_CTL_EV_MODE_AUTO:
        free = MAX_EVS - profiles.ev_count + len(profile.entries)
        if not 1 <= attr.ev_count <= min(MAX_EVS_A_PROFILE, free):
            most = min(MAX_EVS_A_PROFILE, free)
            raise MrcError(errno.E2BIG, f"{what}: {attr.ev_count} EVs are not 1 to {most}")
        profile.resize(attr.ev_count)
    if mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE:
        count = len(profile.entries)
        if profile.mode is not MRC_CTL_EV_MODE_AUTO and not 0 <= attr.ev_min_active <= count:
            raise MrcError(
                errno.EINVAL, f"{what}: ev_min_active {attr.ev_min_active} of {count} EVs"
            )
        profile.min_active = attr.ev_min_active
    if mask & MRC_CTL_EV_PROFILE_EVENT_MASK:
        if attr.ev_event_mask & ~(MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD):
            raise MrcError(errno.EINVAL, f"{what}: events are of GOOD and ASSUMED_BAD only")
        profile.event_mask = mrc_ctl_ev_state(attr.ev_event_mask)


def _set_fields(what: str, profile: EvProfile, attr: mrc_ctl_ev_profile_attr) -> None:
    if attr.ev_fields_op.op is not MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS:
        raise MrcError(errno.EINVAL, f"{what}: to ask for fields is not to modify")
    if profile.format is None:
        raise MrcError(errno.EINVAL, f"{what}: fields need a format")
    if profile.is_used:
        raise MrcError(errno.EBUSY, f"{what}: QPs use it, so its fields stay")
    fields = tuple(attr.ev_fields_op.fields)
    check_fields(fields, profile.format.fields)
    profile.fields = fields
    if profile.mode is MRC_CTL_EV_MODE_GEN:
        profile.generate()
    if profile.state is MRC_CTL_PROFILE_ONLINE:
        profile.go_online()


def _check_offline(what: str, profile: EvProfile) -> None:
    missing = [
        name
        for name, there in (
            ("MODE", profile.mode is not None),
            ("FMT_ID", profile.format is not None or profile.mode is MRC_CTL_EV_MODE_AUTO),
            ("COUNT", bool(profile.entries) or profile.mode is MRC_CTL_EV_MODE_AUTO),
            ("MODIFY_FIELDS", bool(profile.fields) or profile.mode is not MRC_CTL_EV_MODE_GEN),
        )
        if not there
    ]
    if missing:
        raise MrcError(errno.EINVAL, f"{what}: OFFLINE needs {', '.join(missing)}")


def _go_online(what: str, profile: EvProfile) -> None:
    for name, value in (
        ("MIN_ACTIVE", profile.min_active),
        ("EVENT_MASK", profile.event_mask),
    ):
        if value is None:
            raise MrcError(errno.EINVAL, f"{what}: ONLINE needs {name}")
    assert profile.min_active is not None
    if profile.mode is not MRC_CTL_EV_MODE_AUTO:
        assert profile.format is not None
        if profile.format.state is not MRC_CTL_PROFILE_ONLINE:
            raise MrcError(errno.EINVAL, f"{what}: its format is not ONLINE")
        if profile.min_active > len(profile.entries):
            raise MrcError(errno.EINVAL, f"{what}: ev_min_active is above ev_count")
        profile.go_online()
        profile.format.users.add(profile.profile_id)
    profile.state = MRC_CTL_PROFILE_ONLINE


def _go_offline(what: str, profile: EvProfile) -> None:
    if profile.is_used:
        raise MrcError(errno.EBUSY, f"{what}: {len(profile.users)} QPs use it")
    if profile.format is not None:
        profile.format.users.discard(profile.profile_id)
    profile.state = MRC_CTL_PROFILE_OFFLINE


def _clear(profile: EvProfile) -> None:
    profile.state = MRC_CTL_PROFILE_INIT
    profile.mode = profile.format = profile.min_active = profile.event_mask = None
    profile.fields, profile.entries = (), []


# -- EVs ----------------------------------------------------------------------------------------


def _operate(mrc_ctx: mrc_context, profile: EvProfile, ev_op: mrc_ctl_ev_op_attr) -> None:
    if ev_op.op not in (MRC_CTL_EV_OP_REPLACE_EV, MRC_CTL_EV_OP_MODIFY_EV_STATE):
        raise MrcError(errno.EINVAL, "to ask for EVs is not to modify")
    if len(ev_op.entries) > EV_OP_MAX_ENTRIES:
        raise MrcError(errno.E2BIG, f"{len(ev_op.entries)} entries: {EV_OP_MAX_ENTRIES} are most")
    now_ns = mrc_ctx.device.now_ns
    for index, entry in enumerate(ev_op.entries):
        try:
            _operate_one(profile, ev_op, entry, now_ns)
        except MrcError as error:
            error.entry = index
            raise


def _operate_one(
    profile: EvProfile, ev_op: mrc_ctl_ev_op_attr, entry: mrc_ctl_ev_op_entry, now_ns: int
) -> None:
    places = profile.find(entry.ev, all_copies=bool(entry.flags & MRC_CTL_EV_OP_F_ALL_COPIES))
    for place in places:
        if ev_op.op is MRC_CTL_EV_OP_MODIFY_EV_STATE:
            profile.set_state(place, entry.state, now_ns)
        elif not profile.is_explicit:
            raise MrcError(errno.EINVAL, "only explicit EVs are replaced")
        else:
            profile.replace(place, entry.ev_new, entry.state, now_ns)


def mrc_ctl_query_ev_profile(
    mrc_ctx: mrc_context, ev_profile_id: int, attr: mrc_ctl_ev_profile_attr, attr_mask: int
) -> mrc_ctl_ev_profile_attr:
    """Fills `attr` with what the mask asks for, and returns it.

    For QUERY_EV_STATE the EVs are those in `attr.ev_op.entries`. MrcError: EINVAL, ENOENT.
    """
    mask = check_mask(mrc_ctl_ev_profile_attr_mask, attr_mask)
    mrc_ctx.device.harvest()
    profile = mrc_ctx.device.profiles.ev(ev_profile_id)
    _check_ops(f"EV profile {ev_profile_id}", mask)
    if mask & (MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_CUR_STATE):
        attr.profile_state = attr.cur_profile_state = profile.state
    if mask & MRC_CTL_EV_PROFILE_MODE and profile.mode is not None:
        attr.ev_mode = profile.mode
    if mask & MRC_CTL_EV_PROFILE_FMT_ID and profile.format is not None:
        attr.ev_fmt_profile_id = profile.format.profile_id
    if mask & MRC_CTL_EV_PROFILE_COUNT:
        attr.ev_count = len(profile.entries)
    if mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE:
        attr.ev_min_active = profile.min_active or 0
    if mask & MRC_CTL_EV_PROFILE_EVENT_MASK:
        attr.ev_event_mask = profile.event_mask or mrc_ctl_ev_state(0)
    if mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP:
        if attr.ev_fields_op.op is not MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS:
            raise MrcError(errno.EINVAL, "to modify fields is not to ask")
        attr.ev_fields_op.fields = list(profile.fields)
    if mask & MRC_CTL_EV_PROFILE_EV_OP:
        _ask(profile, attr.ev_op)
    return attr


def _ask(profile: EvProfile, ev_op: mrc_ctl_ev_op_attr) -> None:
    if ev_op.op is MRC_CTL_EV_OP_QUERY_EV_ARRAY:
        ev_op.entries = [
            mrc_ctl_ev_op_entry(place.value, state=profile.state_of(place))
            for place in profile.entries
        ]
    elif ev_op.op is MRC_CTL_EV_OP_QUERY_EV_STATE:
        for entry in ev_op.entries:
            entry.state = profile.state_of(profile.find(entry.ev, all_copies=False)[0])
    else:
        raise MrcError(errno.EINVAL, "to modify EVs is not to ask")
