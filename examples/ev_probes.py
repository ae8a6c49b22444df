# SPDX-License-Identifier: Apache-2.0
"""EV Probes: the round trip of every path to another NIC, without a connection."""

from __future__ import annotations

from endpoint import control as ctl
from endpoint import verbs as mrc
from examples.explicit_evs import srv6_evs
from examples.virtual_fabric import VirtualFabric

TIMEOUT_NS = 2_000_000


def main() -> list[ctl.mrc_ctl_ep_rsp]:
    """Probes all paths between the first and the last host; prints and returns the answers."""
    world = VirtualFabric()
    device, last = world.devices[0], len(world.devices) - 1
    ctx = mrc.mrc_create_context(device)
    assert ctl.mrc_ctl_query_device(device).opt_attr & ctl.MRC_CTL_OPT_CAP_EP_OP_EV_PROBE
    requests = [
        ctl.mrc_ctl_ep_req(
            req_id=number,
            sgid=mrc.ibv_query_gid(device, 1, 0),
            dgid=mrc.ibv_query_gid(world.devices[last], 1, 0),
            ev_fmt_mode=ctl.MRC_CTL_EV_FMT_MODE_SRV6,
            req_ev=ev,
        )
        for number, ev in enumerate(srv6_evs(world.fabric, 0, last), start=1)
    ]
    responses = ctl.mrc_ctl_ep_batch_send_wait(
        ctx, 0, ctl.MRC_CTL_EP_OP_EV_PROBE, requests, TIMEOUT_NS
    )
    for response in responses:
        print(f"request {response.req_id}: port {response.port}, {response.rtt} ns")
    return responses


if __name__ == "__main__":
    main()
