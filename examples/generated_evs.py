# SPDX-License-Identifier: Apache-2.0
"""A generated EV profile: fixed locator and T0, generated T1, the rest filled in by the NIC."""

from __future__ import annotations

from endpoint import control as ctl
from endpoint import verbs as mrc
from examples.explicit_evs import EVENTS, SRV6_FIELDS, move, query, set_format
from examples.qp_setup import connect, create, destroy, write
from examples.virtual_fabric import VirtualFabric
from topologies import Fabric
from topologies.sids import TIER_T0, TIER_T1, usid


def fields(fabric: Fabric, src: int) -> list[ctl.mrc_ctl_ev_field]:
    """Locator, T0 and T1; the mask leaves plane and tier of the T1 as they are."""
    last = fabric.spec.t1s - 1
    mask = (1 << last.bit_length()) - 1
    return [
        ctl.mrc_ctl_ev_field(width=32, init_val=fabric.sid_block),
        ctl.mrc_ctl_ev_field(width=16, init_val=usid(0, TIER_T0, fabric.hosts[src].t0)),
        ctl.mrc_ctl_ev_field(
            width=16, init_val=usid(0, TIER_T1, 0), min_val=0, max_val=last, mask=mask
        ),
    ]


def set_generated(
    ctx: mrc.mrc_context, profile_id: int, count: int, parts: list[ctl.mrc_ctl_ev_field]
) -> None:
    """INIT → OFFLINE → ONLINE; there is nothing to populate."""
    attr = ctl.mrc_ctl_ev_profile_attr(
        profile_state=ctl.MRC_CTL_PROFILE_OFFLINE,
        ev_mode=ctl.MRC_CTL_EV_MODE_GEN,
        ev_fmt_profile_id=14,
        ev_count=count,
        ev_min_active=count // 4,
        ev_event_mask=EVENTS,
        ev_fields_op=ctl.mrc_ctl_ev_fields_op_attr(ctl.MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, parts),
    )
    mask = (
        ctl.MRC_CTL_EV_PROFILE_STATE
        | ctl.MRC_CTL_EV_PROFILE_MODE
        | ctl.MRC_CTL_EV_PROFILE_FMT_ID
        | ctl.MRC_CTL_EV_PROFILE_COUNT
        | ctl.MRC_CTL_EV_PROFILE_MIN_ACTIVE
        | ctl.MRC_CTL_EV_PROFILE_EVENT_MASK
        | ctl.MRC_CTL_EV_PROFILE_EV_FIELDS_OP
    )
    ctl.mrc_ctl_modify_ev_profile(ctx, profile_id, attr, mask)
    move(ctx, profile_id, ctl.MRC_CTL_PROFILE_ONLINE)


def main() -> None:
    """One generated profile serves QPs to two peers."""
    world = VirtualFabric()
    fabric = world.fabric
    a = create(world.devices[0])
    set_format(a.context, 14, ctl.MRC_CTL_EV_FMT_MODE_SRV6, SRV6_FIELDS)
    parts = fields(fabric, 0)
    set_generated(a.context, 1, fabric.spec.planes * fabric.spec.t1s, parts)
    for entry in query(a.context, 1):
        width = sum(part.taken for part in parts)
        print(f"EV {entry.ev.bits(width):#x} on port {entry.ev.port}: {entry.state.name}")
    for peer in (len(world.devices) - 1, len(world.devices) - 2):
        b = create(world.devices[peer])
        connect(a, b, ev_profile_id=1)
        a.buffer[:] = bytes([peer]) * len(a.buffer)
        write(a, b.card, len(a.buffer), wr_id=peer)
        world.wait(lambda: bool(mrc.mrc_poll_cq(a.cq, 1)))
        assert a.buffer == b.buffer
        print(f"wrote {len(a.buffer)} bytes to {fabric.hosts[peer].name}")
        destroy(b)
        reset = mrc.ibv_qp_attr(qp_state=mrc.IBV_QPS_RESET)
        mrc.mrc_modify_qp(a.qp, reset, mrc.IBV_QP_STATE)
    destroy(a)


if __name__ == "__main__":
    main()
