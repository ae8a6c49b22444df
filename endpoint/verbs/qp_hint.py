# SPDX-License-Identifier: Apache-2.0
"""QP hints: what an application expects of its traffic. They are kept and change nothing here."""

from __future__ import annotations

import errno
from dataclasses import replace

from endpoint.api_error import MrcError
from endpoint.verbs.context import mrc_context
from endpoint.verbs.device import MAX_QP_HINTS
from endpoint.verbs.objects import (
    MRC_MAX_VENDOR_CFG_SIZE,
    MRC_QP_HINT_NUM_QPS_PER_PEER,
    MRC_QP_HINT_NUM_REMOTE_RECV_PEERS,
    MRC_QP_HINT_NUM_SEND_PEERS,
    MRC_QP_HINT_VENDOR_CFG,
    mrc_qp_hint_attr,
    mrc_qp_hint_attr_mask,
    mrc_qp_hint_init_attr,
)

_FIELDS = {
    MRC_QP_HINT_NUM_QPS_PER_PEER: "num_qps_per_peer",
    MRC_QP_HINT_NUM_SEND_PEERS: "num_send_peers",
    MRC_QP_HINT_NUM_REMOTE_RECV_PEERS: "num_remote_recv_peers",
    MRC_QP_HINT_VENDOR_CFG: "vendor_cfg",
}
_ALL = mrc_qp_hint_attr_mask(sum(_FIELDS))


class mrc_qp_hint:
    """`users`: QPs that it is assigned to."""

    def __init__(self, context: mrc_context, attr: mrc_qp_hint_attr) -> None:
        self.context = context
        self.attr = attr
        self.users = 0


def _checked(attr: mrc_qp_hint_attr, mask: int) -> None:
    if mask & ~_ALL:
        raise MrcError(errno.EINVAL, f"QP hint: mask {mask:#x} has unknown bits")
    for bit, name in _FIELDS.items():
        value = getattr(attr, name)
        if bit & mask and isinstance(value, int) and value < 0:
            raise MrcError(errno.EINVAL, f"QP hint: {name} {value} is negative")
    if len(attr.vendor_cfg) > MRC_MAX_VENDOR_CFG_SIZE:
        raise MrcError(errno.EINVAL, f"QP hint: vendor_cfg of {len(attr.vendor_cfg)} bytes")


def mrc_create_qp_hint(mrc_ctx: mrc_context, init_attr: mrc_qp_hint_init_attr) -> mrc_qp_hint:
    """A hint. MrcError(EINVAL) for a negative number, ENOMEM when there are too many."""
    _checked(init_attr.attr, _ALL)
    if mrc_ctx.children["QP hints"] >= MAX_QP_HINTS:
        raise MrcError(errno.ENOMEM, f"{MAX_QP_HINTS} QP hints are the most")
    mrc_ctx.children["QP hints"] += 1
    return mrc_qp_hint(mrc_ctx, replace(init_attr.attr))


def mrc_query_qp_hint(qp_hint: mrc_qp_hint, qp_hint_attr_mask: int = _ALL) -> mrc_qp_hint_attr:
    """The attributes, of which those in the mask are asked for. MrcError(EINVAL)."""
    _checked(qp_hint.attr, qp_hint_attr_mask)
    return replace(qp_hint.attr)


def mrc_modify_qp_hint(
    qp_hint: mrc_qp_hint, qp_hint_attr: mrc_qp_hint_attr, qp_hint_attr_mask: int
) -> None:
    """Takes over the attributes in the mask. MrcError(EINVAL)."""
    _checked(qp_hint_attr, qp_hint_attr_mask)
    for bit, name in _FIELDS.items():
        if bit & qp_hint_attr_mask:
            setattr(qp_hint.attr, name, getattr(qp_hint_attr, name))


def mrc_destroy_qp_hint(qp_hint: mrc_qp_hint) -> None:
    """MrcError(EBUSY) while a QP has it."""
    if qp_hint.users:
        raise MrcError(errno.EBUSY, f"{qp_hint.users} QPs have the hint")
    qp_hint.context.children["QP hints"] -= 1
