# SPDX-License-Identifier: Apache-2.0
"""Profiles for tests of the control API."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from endpoint import control as c
from endpoint import verbs as v
from topologies import Fabric

STATE_MODE_OP = (
    c.MRC_CTL_EV_FMT_PROFILE_STATE | c.MRC_CTL_EV_FMT_PROFILE_MODE | c.MRC_CTL_EV_FMT_PROFILE_OP
)
OFFLINE_MASK = (
    c.MRC_CTL_EV_PROFILE_STATE
    | c.MRC_CTL_EV_PROFILE_MODE
    | c.MRC_CTL_EV_PROFILE_FMT_ID
    | c.MRC_CTL_EV_PROFILE_COUNT
    | c.MRC_CTL_EV_PROFILE_MIN_ACTIVE
    | c.MRC_CTL_EV_PROFILE_EVENT_MASK
)
EVENTS = c.MRC_CTL_EV_GOOD | c.MRC_CTL_EV_ASSUMED_BAD


def refused(code: int, call: Callable[[], object]) -> v.MrcError:
    with pytest.raises(v.MrcError) as caught:
        call()
    assert caught.value.errno == code, caught.value
    return caught.value


def set_format(
    ctx: v.mrc_context, number: int, mode: c.mrc_ctl_ev_fmt_mode, widths: Sequence[int]
) -> None:
    """An EV format, ONLINE."""
    fields = [c.mrc_ctl_ev_fmt_field(width) for width in widths]
    op = c.mrc_ctl_ev_fmt_op_attr(c.MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields)
    attr = c.mrc_ctl_ev_fmt_profile_attr(c.MRC_CTL_PROFILE_OFFLINE, ev_fmt_mode=mode, ev_fmt_op=op)
    c.mrc_ctl_modify_ev_fmt_profile(ctx, number, attr, STATE_MODE_OP)
    format_state(ctx, number, c.MRC_CTL_PROFILE_ONLINE)


def format_state(ctx: v.mrc_context, number: int, state: c.mrc_ctl_profile_state) -> None:
    attr = c.mrc_ctl_ev_fmt_profile_attr(state)
    c.mrc_ctl_modify_ev_fmt_profile(ctx, number, attr, c.MRC_CTL_EV_FMT_PROFILE_STATE)


def set_offline(
    ctx: v.mrc_context,
    number: int,
    count: int,
    mode: c.mrc_ctl_ev_mode = c.MRC_CTL_EV_MODE_EXP,
    fields: Sequence[c.mrc_ctl_ev_field] = (),
    fmt: int = 13,
    min_active: int = 0,
) -> None:
    """An EV profile, OFFLINE."""
    fields_op = c.mrc_ctl_ev_fields_op_attr(c.MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, list(fields))
    attr = c.mrc_ctl_ev_profile_attr(
        c.MRC_CTL_PROFILE_OFFLINE,
        ev_mode=mode,
        ev_fmt_profile_id=fmt,
        ev_count=count,
        ev_min_active=min_active,
        ev_event_mask=EVENTS,
        ev_fields_op=fields_op,
    )
    mask = OFFLINE_MASK | (c.MRC_CTL_EV_PROFILE_EV_FIELDS_OP if fields else 0)
    c.mrc_ctl_modify_ev_profile(ctx, number, attr, mask)


def ev_state(ctx: v.mrc_context, number: int, state: c.mrc_ctl_profile_state) -> None:
    """Moves an EV profile."""
    attr = c.mrc_ctl_ev_profile_attr(state)
    c.mrc_ctl_modify_ev_profile(ctx, number, attr, c.MRC_CTL_EV_PROFILE_STATE)


def operate(ctx: v.mrc_context, number: int, op: c.mrc_ctl_ev_op, *entries: object) -> None:
    """An operation on EVs."""
    attr = c.mrc_ctl_ev_profile_attr(ev_op=c.mrc_ctl_ev_op_attr(op, list(entries)))
    c.mrc_ctl_modify_ev_profile(ctx, number, attr, c.MRC_CTL_EV_PROFILE_EV_OP)


def populate(ctx: v.mrc_context, number: int, evs: Sequence[c.mrc_ctl_ev]) -> None:
    """Fills the places of an explicit profile."""
    entries = [c.mrc_ctl_ev_op_entry(c.MRC_CTL_EV_UNPOPULATED, ev) for ev in evs]
    operate(ctx, number, c.MRC_CTL_EV_OP_REPLACE_EV, *entries)


def array(ctx: v.mrc_context, number: int) -> list[c.mrc_ctl_ev_op_entry]:
    """The EVs of a profile with their states."""
    attr = c.mrc_ctl_ev_profile_attr()
    return c.mrc_ctl_query_ev_profile(ctx, number, attr, c.MRC_CTL_EV_PROFILE_EV_OP).ev_op.entries


def srv6_evs(fabric: Fabric, src: int, dst: int) -> list[c.mrc_ctl_ev]:
    """Every path between two NICs, as whole addresses."""
    template = fabric.path_template(src, dst)
    return [
        c.mrc_ctl_ev(template.address(plane, uplink), plane + 1)
        for plane in range(fabric.spec.planes)
        for uplink in range(fabric.spec.t1s)
    ]


def explicit(ctx: v.mrc_context, number: int, evs: Sequence[c.mrc_ctl_ev], **kwargs: int) -> None:
    """An explicit EV profile, ONLINE."""
    set_offline(ctx, number, len(evs), **kwargs)
    populate(ctx, number, evs)
    ev_state(ctx, number, c.MRC_CTL_PROFILE_ONLINE)
