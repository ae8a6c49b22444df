# SPDX-License-Identifier: Apache-2.0
"""Explicit EV profiles: SRv6 addresses and addresses with one SRH segment, DENY, replace, query."""

from __future__ import annotations

from collections.abc import Sequence

from endpoint import control as ctl
from endpoint import verbs as mrc
from examples.qp_setup import connect, create, destroy, write
from examples.virtual_fabric import VirtualFabric
from topologies import Fabric
from topologies.sids import TIER_NIC, TIER_T0, TIER_T1, address_int, usid

SRV6_FIELDS = (32, 16, 16, 16, 16)
SRH_FIELDS = (32, 16, 16, 16, 16, 16, 16, 32, 16, 16, 16, 16)
EVENTS = ctl.MRC_CTL_EV_GOOD | ctl.MRC_CTL_EV_ASSUMED_BAD


def set_format(
    ctx: mrc.mrc_context, profile_id: int, mode: ctl.mrc_ctl_ev_fmt_mode, widths: Sequence[int]
) -> None:
    """An EV format, INIT → OFFLINE → ONLINE."""
    fields = [ctl.mrc_ctl_ev_fmt_field(width) for width in widths]
    attr = ctl.mrc_ctl_ev_fmt_profile_attr(
        profile_state=ctl.MRC_CTL_PROFILE_OFFLINE,
        ev_fmt_mode=mode,
        ev_fmt_op=ctl.mrc_ctl_ev_fmt_op_attr(ctl.MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields),
    )
    mask = (
        ctl.MRC_CTL_EV_FMT_PROFILE_STATE
        | ctl.MRC_CTL_EV_FMT_PROFILE_MODE
        | ctl.MRC_CTL_EV_FMT_PROFILE_OP
    )
    ctl.mrc_ctl_modify_ev_fmt_profile(ctx, profile_id, attr, mask)
    attr = ctl.mrc_ctl_ev_fmt_profile_attr(profile_state=ctl.MRC_CTL_PROFILE_ONLINE)
    ctl.mrc_ctl_modify_ev_fmt_profile(ctx, profile_id, attr, ctl.MRC_CTL_EV_FMT_PROFILE_STATE)


def move(ctx: mrc.mrc_context, profile_id: int, state: ctl.mrc_ctl_profile_state) -> None:
    """An EV profile to another state."""
    attr = ctl.mrc_ctl_ev_profile_attr(profile_state=state)
    ctl.mrc_ctl_modify_ev_profile(ctx, profile_id, attr, ctl.MRC_CTL_EV_PROFILE_STATE)


def operate(
    ctx: mrc.mrc_context,
    profile_id: int,
    op: ctl.mrc_ctl_ev_op,
    entries: list[ctl.mrc_ctl_ev_op_entry],
) -> None:
    """One operation on EVs of a profile."""
    attr = ctl.mrc_ctl_ev_profile_attr(ev_op=ctl.mrc_ctl_ev_op_attr(op, entries))
    ctl.mrc_ctl_modify_ev_profile(ctx, profile_id, attr, ctl.MRC_CTL_EV_PROFILE_EV_OP)


def set_explicit(
    ctx: mrc.mrc_context, profile_id: int, fmt_id: int, evs: list[ctl.mrc_ctl_ev]
) -> None:
    """An explicit EV profile: OFFLINE, every place filled, ONLINE."""
    attr = ctl.mrc_ctl_ev_profile_attr(
        profile_state=ctl.MRC_CTL_PROFILE_OFFLINE,
        ev_mode=ctl.MRC_CTL_EV_MODE_EXP,
        ev_fmt_profile_id=fmt_id,
        ev_count=len(evs),
        ev_min_active=len(evs) // 4,
        ev_event_mask=EVENTS,
    )
    mask = (
        ctl.MRC_CTL_EV_PROFILE_STATE
        | ctl.MRC_CTL_EV_PROFILE_MODE
        | ctl.MRC_CTL_EV_PROFILE_FMT_ID
        | ctl.MRC_CTL_EV_PROFILE_COUNT
        | ctl.MRC_CTL_EV_PROFILE_MIN_ACTIVE
        | ctl.MRC_CTL_EV_PROFILE_EVENT_MASK
    )
    ctl.mrc_ctl_modify_ev_profile(ctx, profile_id, attr, mask)
    entries = [ctl.mrc_ctl_ev_op_entry(ctl.MRC_CTL_EV_UNPOPULATED, ev_new=ev) for ev in evs]
    operate(ctx, profile_id, ctl.MRC_CTL_EV_OP_REPLACE_EV, entries)
    move(ctx, profile_id, ctl.MRC_CTL_PROFILE_ONLINE)


def query(ctx: mrc.mrc_context, profile_id: int) -> list[ctl.mrc_ctl_ev_op_entry]:
    """The EVs of a profile and their states."""
    attr = ctl.mrc_ctl_ev_profile_attr()
    ctl.mrc_ctl_query_ev_profile(ctx, profile_id, attr, ctl.MRC_CTL_EV_PROFILE_EV_OP)
    return attr.ev_op.entries


def srv6_evs(fabric: Fabric, src: int, dst: int) -> list[ctl.mrc_ctl_ev]:
    """Every path between two hosts as an address."""
    template = fabric.path_template(src, dst)
    return [
        ctl.mrc_ctl_ev(template.address(plane, uplink), port=plane + 1)
        for plane in range(fabric.spec.planes)
        for uplink in range(fabric.spec.t1s)
    ]


def srh_evs(fabric: Fabric, src: int, dst: int) -> list[ctl.mrc_ctl_ev]:
    """The same paths, broken in two: to the T1 by the address, then on by the segment."""
    here, there = fabric.hosts[src], fabric.hosts[dst]
    evs = []
    for plane in range(fabric.spec.planes):
        for t1 in range(fabric.spec.t1s):
            to_t1 = usid(plane, TIER_T0, here.t0), usid(plane, TIER_T1, t1)
            onward = usid(plane, TIER_T0, there.t0), usid(plane, TIER_NIC, there.downlink)
            value = b"".join(
                address_int(fabric.sid_block, *part).to_bytes(16, "big") for part in (to_t1, onward)
            )
            evs.append(ctl.mrc_ctl_ev(value, port=plane + 1))
    return evs


def main() -> None:
    """Sends over both kinds of profile; denies and replaces an EV in between."""
    world = VirtualFabric()
    last = len(world.devices) - 1
    a, b = create(world.devices[0]), create(world.devices[last])
    ctx = a.context
    modes = ctl.mrc_ctl_query_device(a.device).ev.ev_mode_mask
    assert modes & ctl.MRC_CTL_EV_MODE_EXP
    set_format(ctx, 14, ctl.MRC_CTL_EV_FMT_MODE_SRV6, SRV6_FIELDS)
    set_format(ctx, 15, ctl.MRC_CTL_EV_FMT_MODE_SRV6, SRH_FIELDS)
    for profile_id, fmt_id, evs in (
        (1, 14, srv6_evs(world.fabric, 0, last)),
        (2, 15, srh_evs(world.fabric, 0, last)),
    ):
        set_explicit(ctx, profile_id, fmt_id, evs)
        denied = ctl.mrc_ctl_ev_op_entry(evs[0], state=ctl.MRC_CTL_EV_DENIED)
        operate(ctx, profile_id, ctl.MRC_CTL_EV_OP_MODIFY_EV_STATE, [denied])
        connect(a, b, ev_profile_id=profile_id)
        a.buffer[:] = bytes([profile_id]) * len(a.buffer)
        write(a, b.card, len(a.buffer), wr_id=profile_id)
        world.wait(lambda: bool(mrc.mrc_poll_cq(a.cq, 1)))
        assert a.buffer == b.buffer
        states = [entry.state.name for entry in query(ctx, profile_id)]
        print(f"profile {profile_id}: {len(evs)} EVs, {states.count('MRC_CTL_EV_DENIED')} denied")
        for end in (a, b):
            reset = mrc.ibv_qp_attr(qp_state=mrc.IBV_QPS_RESET)
            mrc.mrc_modify_qp(end.qp, reset, mrc.IBV_QP_STATE)
        move(ctx, profile_id, ctl.MRC_CTL_PROFILE_OFFLINE)
        move(ctx, profile_id, ctl.MRC_CTL_PROFILE_INIT)
    destroy(a)
    destroy(b)


if __name__ == "__main__":
    main()
