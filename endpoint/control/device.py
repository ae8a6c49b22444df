# SPDX-License-Identifier: Apache-2.0
"""What a device's control can do, and the administrative state of its ports."""

from __future__ import annotations

import errno

from endpoint import congestion
from endpoint.api_error import MrcError
from endpoint.control.objects import (
    MRC_CTL_OPT_CAP_EP_OP_EV_PROBE,
    MRC_CTL_OPT_CAP_EV_EVENT,
    MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT,
    MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE,
    MRC_CTL_PORT_ADMIN_DISABLED,
    MRC_CTL_PORT_ADMIN_ENABLED,
    MRC_CTL_PORT_ADMIN_STATE,
    MRC_CTL_PROTOCOL_VERSION_1,
    mrc_ctl_cc_attr,
    mrc_ctl_device_attr,
    mrc_ctl_ev_attr,
    mrc_ctl_port_admin_state,
    mrc_ctl_port_attr,
)
from endpoint.profiles.ev_value import MAX_BITS
from endpoint.profiles.kinds import mrc_ctl_ev_fmt_mode, mrc_ctl_ev_mode
from endpoint.profiles.store import (
    MAX_CC_PROFILES,
    MAX_EV_PROFILES,
    MAX_EVS,
    MAX_EVS_A_PROFILE,
    MAX_FORMATS,
)
from endpoint.verbs.context import mrc_context
from endpoint.verbs.device import ibv_context

EV_OP_MAX_ENTRIES = 4096


def mrc_ctl_query_device_ex(
    context: ibv_context, mcontext: mrc_context | None = None
) -> tuple[mrc_ctl_device_attr, bool]:
    """Limits and features, and whether the device does MRC at all (always)."""
    ev = mrc_ctl_ev_attr(
        ev_max_fmt_profiles=MAX_FORMATS,
        ev_max_profiles=MAX_EV_PROFILES,
        ev_max_count=MAX_EVS,
        ev_free_count=MAX_EVS - context.profiles.ev_count,
        ev_max_count_profile=MAX_EVS_A_PROFILE,
        ev_count_align=1,
        ev_max_width=MAX_BITS,
        ev_fmt_mode_mask=mrc_ctl_ev_fmt_mode(sum(mrc_ctl_ev_fmt_mode)),
        ev_mode_mask=mrc_ctl_ev_mode(sum(mrc_ctl_ev_mode)),
        ev_op_max_entries=EV_OP_MAX_ENTRIES,
    )
    attr = mrc_ctl_device_attr(
        MRC_CTL_PROTOCOL_VERSION_1,
        ev,
        mrc_ctl_cc_attr(MAX_CC_PROFILES, tuple(congestion.names())),
        sum(1 << port + 1 for port in range(context.nic.fabric.spec.planes)),
        MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE
        | MRC_CTL_OPT_CAP_EV_EVENT
        | MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT
        | MRC_CTL_OPT_CAP_EP_OP_EV_PROBE,
    )
    return attr, True


def mrc_ctl_query_device(context: ibv_context) -> mrc_ctl_device_attr:
    """As `mrc_ctl_query_device_ex`, for applications that know version 1.0.0 only."""
    return mrc_ctl_query_device_ex(context)[0]


def _check_mask(attr_mask: int) -> None:
    if attr_mask & ~MRC_CTL_PORT_ADMIN_STATE:
        raise MrcError(errno.EINVAL, f"port: mask {attr_mask:#x} has unknown bits")


def mrc_ctl_query_port(
    context: mrc_context, port_num: int, attr_mask: int = MRC_CTL_PORT_ADMIN_STATE
) -> mrc_ctl_port_attr:
    """The administrative state of a port (from 1). MrcError(EINVAL)."""
    _check_mask(attr_mask)
    disabled = context.device.disabled >> context.device.port(port_num) & 1
    return mrc_ctl_port_attr(
        MRC_CTL_PORT_ADMIN_DISABLED if disabled else MRC_CTL_PORT_ADMIN_ENABLED
    )


def mrc_ctl_modify_port(
    context: mrc_context, port_num: int, attr: mrc_ctl_port_attr, attr_mask: int
) -> None:
    """Enables or disables a port (from 1): peers are told as when it lost its carrier.

    MrcError(EINVAL).
    """
    _check_mask(attr_mask)
    device = context.device
    bit = 1 << device.port(port_num)
    if not attr_mask & MRC_CTL_PORT_ADMIN_STATE:
        return
    if mrc_ctl_port_admin_state(attr.port_admin_state) is MRC_CTL_PORT_ADMIN_DISABLED:
        device.disabled |= bit
    else:
        device.disabled &= ~bit
    device.apply_ports()
