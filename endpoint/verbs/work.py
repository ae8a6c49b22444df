# SPDX-License-Identifier: Apache-2.0
"""Posting work requests."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from endpoint.api_error import MrcError
from endpoint.messages import MAX_MESSAGE_BYTES
from endpoint.verbs.ibv import (
    IBV_QP_EX_WITH_RDMA_WRITE,
    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
    IBV_QPS_ERR,
    IBV_QPS_RESET,
    IBV_QPS_RTS,
    IBV_SEND_INLINE,
    IBV_SEND_SIGNALED,
    IBV_WR_RDMA_WRITE,
    IBV_WR_RDMA_WRITE_WITH_IMM,
    ibv_recv_wr,
    ibv_send_wr,
    ibv_sge,
)
from endpoint.verbs.qp import Sending, mrc_qp

_NEEDED = {
    IBV_WR_RDMA_WRITE: IBV_QP_EX_WITH_RDMA_WRITE,
    IBV_WR_RDMA_WRITE_WITH_IMM: IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
}


def mrc_post_send(qp: mrc_qp, wr: ibv_send_wr | Sequence[ibv_send_wr]) -> None:
    """Posts a write, or several in order. The memory must stay as it is until the completion.

    MrcError carries the request it stopped at as `bad_wr`, those before it are posted: EINVAL
    (state, operation, key, bounds), ENOMEM (the send queue is full). In ERR they are flushed.
    """
    device = qp.context.device
    device.harvest()
    for request in (wr,) if isinstance(wr, ibv_send_wr) else wr:
        try:
            qp.send(_sending(qp, request))
        except MrcError as error:
            error.bad_wr = request
            device.driver.kick()
            raise
    device.driver.kick()


def _sending(qp: mrc_qp, wr: ibv_send_wr) -> Sending:
    if qp.state not in (IBV_QPS_RTS, IBV_QPS_ERR):
        raise MrcError(errno.EINVAL, f"QP {qp.qpn} cannot send in {qp.state.name}")
    needed = _NEEDED.get(wr.opcode)
    if needed is None or not qp.init.send_ops_flags & needed:
        raise MrcError(errno.EINVAL, f"QP {qp.qpn} was not made for {wr.opcode!r}")
    if len(qp.sends) + len(qp.backlog) >= qp.init.cap.max_send_wr:
        raise MrcError(errno.ENOMEM, f"QP {qp.qpn}: {qp.init.cap.max_send_wr} sends are posted")
    imm = wr.imm_data if wr.opcode is IBV_WR_RDMA_WRITE_WITH_IMM else None
    if imm is not None and not 0 <= imm < 1 << 32:
        raise MrcError(errno.EINVAL, f"immediate value {imm:#x} is not 32 bits")
    target = wr.rdma
    if not 0 <= target.rkey < 1 << 32 or not 0 <= target.remote_addr < 1 << 64:
        raise MrcError(errno.EINVAL, f"{target}: not a 64-bit address and a 32-bit key")
    signaled = bool(qp.init.sq_sig_all or wr.send_flags & IBV_SEND_SIGNALED)
    data = _gather(qp, wr)
    return Sending(wr.wr_id, data, target.remote_addr, target.rkey, imm, signaled)


def _gather(qp: mrc_qp, wr: ibv_send_wr) -> bytes | memoryview:
    """The data: a view of one piece of memory; a copy of several, and of inline data."""
    if len(wr.sg_list) > qp.init.cap.max_send_sge:
        raise MrcError(errno.EINVAL, f"{len(wr.sg_list)} pieces: {qp.init.cap.max_send_sge} fit")
    length = sum(sge.length for sge in wr.sg_list)
    if length > MAX_MESSAGE_BYTES:
        raise MrcError(errno.EINVAL, f"a write of {length} bytes: {MAX_MESSAGE_BYTES} are most")
    pieces = [_piece(qp, sge) for sge in wr.sg_list]
    if wr.send_flags & IBV_SEND_INLINE:
        if length > qp.init.cap.max_inline_data:
            raise MrcError(errno.EINVAL, f"{length} bytes inline: too many")
        return b"".join(pieces)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _piece(qp: mrc_qp, sge: ibv_sge) -> memoryview:
    mr = qp.init.pd.regions.get(sge.lkey)
    if mr is None:
        raise MrcError(errno.EINVAL, f"lkey {sge.lkey:#x} is not registered")
    start = sge.addr - mr.addr
    if sge.length < 0 or start < 0 or start + sge.length > mr.length:
        raise MrcError(errno.EINVAL, f"{sge} leaves its memory region")
    return mr.region.buffer[start : start + sge.length]


def mrc_post_recv(qp: mrc_qp, wr: ibv_recv_wr | Sequence[ibv_recv_wr]) -> None:
    """Posts receives, each for one WRITE_IMM of the peer. MrcError as for `mrc_post_send`."""
    device = qp.context.device
    device.harvest()
    for request in (wr,) if isinstance(wr, ibv_recv_wr) else wr:
        try:
            _check_receive(qp, request)
        except MrcError as error:
            error.bad_wr = request
            raise
        qp.receives += 1
        qp.engine.post_recv(request.wr_id, device.now_ns)


def _check_receive(qp: mrc_qp, wr: ibv_recv_wr) -> None:
    if qp.state is IBV_QPS_RESET:
        raise MrcError(errno.EINVAL, f"QP {qp.qpn} takes no receive in {qp.state.name}")
    if qp.receives >= qp.init.cap.max_recv_wr:
        raise MrcError(errno.ENOMEM, f"QP {qp.qpn}: {qp.receives} receives are posted")
    if len(wr.sg_list) > qp.init.cap.max_recv_sge:
        raise MrcError(errno.EINVAL, f"{len(wr.sg_list)} pieces: {qp.init.cap.max_recv_sge} fit")
