# SPDX-License-Identifier: Apache-2.0
"""Batches of endpoint operations: EV Probes and Port Status Updates to other NICs."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from endpoint.api_error import MrcError
from endpoint.control.objects import (
    MRC_CTL_EP_OP_EV_PROBE,
    mrc_ctl_ep_op_type,
    mrc_ctl_ep_req,
    mrc_ctl_ep_rsp,
)
from endpoint.path_plan import PlannedRoute
from endpoint.profiles.kinds import MRC_CTL_EV_FMT_MODE_SRV6, mrc_ctl_ev_fmt_mode
from endpoint.profiles.planning import PlannedEv, ProfilePlan, uplink_of
from endpoint.verbs.context import mrc_context
from endpoint.wire.endpoint_message import (
    OP_EV_PROBE,
    OP_PORT_STATUS_UPDATE,
    EndpointRequest,
)
from endpoint.wire.envelope import PathAddresses
from topologies.sids import ev_pack

MAX_REQUESTS = 1024


def mrc_ctl_ep_batch_send_wait(
    mrc_ctx: mrc_context,
    req_tc: int,
    op_type: mrc_ctl_ep_op_type,
    req: Sequence[mrc_ctl_ep_req],
    rsp_timeout: int,
) -> list[mrc_ctl_ep_rsp]:
    """Sends requests with a DSCP (`req_tc`, 6 bits) and waits for their responses, which come in
    the order of arrival, for at most `rsp_timeout` ns.

    MrcError: ETIMEDOUT when some are missing (those that came are its `responses`); EINVAL for a
    value out of its range, an id that is there twice, a path that there is not; EAGAIN for a port
    that is down. A Port Status Update is of a connection: without a QP to that NIC nobody answers.
    """
    if not 0 <= req_tc < 64 or rsp_timeout < 0:
        raise MrcError(errno.EINVAL, f"DSCP {req_tc} is not 6 bits, or a negative timeout")
    if not 1 <= len(req) <= MAX_REQUESTS:
        raise MrcError(errno.EINVAL, f"{len(req)} requests: 1 to {MAX_REQUESTS} in a batch")
    if len({one.req_id for one in req}) < len(req):
        raise MrcError(errno.EINVAL, "a request id is there twice")
    device = mrc_ctx.device
    desk = device.nic.desk
    asked = [(one, _path(mrc_ctx, one)) for one in req]
    keys: dict[int, int] = {}
    for one, path in asked:
        keys[_ask(mrc_ctx, one, path, op_type, req_tc)] = one.req_id
    device.driver.kick()
    device.driver.wait(lambda: len(desk.answers) >= len(req), device.now_ns + rsp_timeout)
    responses = [
        mrc_ctl_ep_rsp(keys[answer.key], answer.port + 1, answer.rtt_ns)
        for answer in desk.answers
        if answer.key in keys
    ]
    desk.forget()
    if len(responses) < len(req):
        error = MrcError(errno.ETIMEDOUT, f"{len(responses)} of {len(req)} responses came in time")
        error.responses = responses
        raise error
    return responses


def _path(mrc_ctx: mrc_context, one: mrc_ctl_ep_req) -> PathAddresses:
    """What the frames of a request carry, and its checks."""
    device = mrc_ctx.device
    nic, fabric = device.nic, device.nic.fabric
    if not 0 <= one.req_id < 1 << 16:
        raise MrcError(errno.EINVAL, f"request id {one.req_id} is not 16 bits")
    if one.sgid != nic.address:
        raise MrcError(errno.EINVAL, f"{one.sgid.hex()} is not the address of this NIC")
    if one.ev_fmt_mode not in list(mrc_ctl_ev_fmt_mode):
        raise MrcError(errno.EINVAL, f"one EV format mode, not {one.ev_fmt_mode!r}")
    plane = device.port(one.req_ev.port)
    if not nic.local_ports >> plane & 1:
        raise MrcError(errno.EAGAIN, f"port {one.req_ev.port} is down")
    value = one.req_ev.val
    is_srv6 = one.ev_fmt_mode is MRC_CTL_EV_FMT_MODE_SRV6
    segmented = is_srv6 and any(value[16:])
    ev = ev_pack(plane, uplink_of([value[:16], value[16:]]) if is_srv6 else 0, one.req_id)
    plan = ProfilePlan(one.ev_fmt_mode, segmented, [PlannedEv(ev, plane, value)])
    try:
        target = device.host_of(one.dgid)
        return PlannedRoute(fabric, nic.host_index, target, plan).addresses(ev)
    except ValueError as error:
        raise MrcError(errno.EINVAL, str(error)) from error


def _ask(
    mrc_ctx: mrc_context,
    one: mrc_ctl_ep_req,
    path: PathAddresses,
    op_type: mrc_ctl_ep_op_type,
    dscp: int,
) -> int:
    nic = mrc_ctx.device.nic
    peer = nic.known_peer(one.dgid)
    if op_type is MRC_CTL_EP_OP_EV_PROBE:
        request = EndpointRequest(OP_EV_PROBE)
        request_id = nic.desk.free_id() if peer is None else peer.claim_id()
    else:
        mask = one.port_status >> 1
        if one.port_status & 1 or mask >> nic.fabric.spec.planes:
            raise MrcError(errno.EINVAL, f"port status {one.port_status:#x} names other ports")
        request = EndpointRequest(OP_PORT_STATUS_UPDATE, mask)
        request_id = nic.desk.free_id() if peer is None else nic.announce_ports(peer, mask)
    port = one.req_ev.port - 1
    return nic.desk.ask(path, port, request_id, request, dscp, mrc_ctx.device.now_ns)
