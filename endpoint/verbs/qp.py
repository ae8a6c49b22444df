# SPDX-License-Identifier: Apache-2.0
"""Queue pairs: creation, destruction, query, and what their completions become."""

from __future__ import annotations

import errno
from collections import deque
from copy import deepcopy
from dataclasses import dataclass, replace

from endpoint.api_error import MrcError
from endpoint.events import Completion, WorkOpcode, WorkStatus
from endpoint.profiles.cc_profile import CcProfile
from endpoint.profiles.ev_profile import EvProfile
from endpoint.qp_states import QpState
from endpoint.queue_pair import QueuePair
from endpoint.verbs.context import mrc_context
from endpoint.verbs.ibv import (
    IBV_QP_EX_WITH_RDMA_WRITE,
    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
    IBV_QPS_ERR,
    IBV_QPS_RESET,
    IBV_WC_LOC_ACCESS_ERR,
    IBV_WC_RDMA_WRITE,
    IBV_WC_RECV_RDMA_WITH_IMM,
    IBV_WC_REM_ACCESS_ERR,
    IBV_WC_REM_OP_ERR,
    IBV_WC_RETRY_EXC_ERR,
    IBV_WC_SUCCESS,
    IBV_WC_WITH_IMM,
    IBV_WC_WR_FLUSH_ERR,
    ibv_qp_attr,
    ibv_qp_attr_mask,
    ibv_qp_state,
    ibv_wc,
    ibv_wc_flags,
)
from endpoint.verbs.objects import (
    MRC_PROTOCOL_VERSION_0,
    MRC_PROTOCOL_VERSION_1,
    mrc_qp_attr,
    mrc_qp_attr_mask,
    mrc_qp_init_attr,
)

MAX_WR = 1 << 15
MAX_SGE = 16
MAX_INLINE = 1024

_STATUS = {
    WorkStatus.SUCCESS: IBV_WC_SUCCESS,
    WorkStatus.FLUSHED: IBV_WC_WR_FLUSH_ERR,
    WorkStatus.RETRY_EXCEEDED: IBV_WC_RETRY_EXC_ERR,
    WorkStatus.REMOTE_ACCESS_ERROR: IBV_WC_REM_ACCESS_ERR,
    WorkStatus.LOCAL_ACCESS_ERROR: IBV_WC_LOC_ACCESS_ERR,
    WorkStatus.FATAL_NACK: IBV_WC_REM_OP_ERR,
}
_ALL_IBV = ibv_qp_attr_mask(sum(ibv_qp_attr_mask))
_ALL_MRC = mrc_qp_attr_mask(sum(mrc_qp_attr_mask))


@dataclass(frozen=True, slots=True)
class Sending:
    """A posted write: what the engine is told, and how its completion is reported."""

    wr_id: int
    data: bytes | memoryview
    remote_addr: int
    rkey: int
    imm: int | None
    signaled: bool


class mrc_qp:
    """A queue pair of the API, on top of one of the engine.

    `vattr` and `attr` are what it was set to. Writes beyond `max_wimm` wait in `backlog`, in
    order; `sends` are those that the engine has.
    """

    def __init__(self, context: mrc_context, engine: QueuePair, init: mrc_qp_init_attr) -> None:
        self.context = context
        self.engine = engine
        self.init = init
        self.vattr = ibv_qp_attr(cap=init.cap)
        self.attr = mrc_qp_attr()
        self.reached = IBV_QPS_RESET
        self.ev_profile: EvProfile | None = None
        self.cc_profile: CcProfile | None = None
        self.sends: deque[Sending] = deque()
        self.backlog: deque[Sending] = deque()
        self.wimms = 0
        self.receives = 0
        self.error_expected = False
        context.device.on_completion[engine.qpn] = self.completed

    @property
    def qpn(self) -> int:
        """Its number, 24 bits."""
        return self.engine.qpn

    @property
    def state(self) -> ibv_qp_state:
        """Its state; ERR as soon as the engine is there."""
        return IBV_QPS_ERR if self.engine.state is QpState.ERROR else self.reached

    def fail(self, reason: str) -> None:
        """To ERROR; what is posted is flushed."""
        self.engine.fail(WorkStatus.FLUSHED, reason, self.context.device.now_ns)

    # -- work -----------------------------------------------------------------------------------

    def send(self, work: Sending) -> None:
        """Hands a write on, or keeps it while as many WRITE_IMM as allowed are in flight."""
        if self.backlog or (work.imm is not None and self.wimms >= self.attr.wimm.max_wimm):
            self.backlog.append(work)
        else:
            self._to_engine(work)

    def _to_engine(self, work: Sending) -> None:
        self.sends.append(work)
        self.wimms += work.imm is not None
        self.engine.post_write(
            work.wr_id,
            work.data,
            work.remote_addr,
            work.rkey,
            work.imm,
            now_ns=self.context.device.now_ns,
        )

    def completed(self, done: Completion) -> None:
        """The engine finished a work request; sends finish in the order of posting."""
        if done.opcode is WorkOpcode.RECV_WRITE_IMM:
            self.receives -= 1
            flags = IBV_WC_WITH_IMM if done.imm is not None else ibv_wc_flags(0)
            wc = ibv_wc(
                done.wr_id, _STATUS[done.status], IBV_WC_RECV_RDMA_WITH_IMM, done.byte_len,
                self.qpn, done.imm or 0, flags, time_ns=done.time_ns,
            )  # fmt: skip
            self.init.recv_cq.push(wc, self, solicited=True)
            return
        work = self.sends.popleft()
        self.wimms -= work.imm is not None
        if work.signaled or done.status is not WorkStatus.SUCCESS:
            wc = ibv_wc(
                done.wr_id, _STATUS[done.status], IBV_WC_RDMA_WRITE, done.byte_len, self.qpn,
                time_ns=done.time_ns,
            )  # fmt: skip
            self.init.send_cq.push(wc, self, solicited=False)
        self._from_backlog()

    def _from_backlog(self) -> None:
        backlog, most = self.backlog, self.attr.wimm.max_wimm
        moved = False
        while backlog and (
            backlog[0].imm is None or self.wimms < most or self.state is IBV_QPS_ERR
        ):
            self._to_engine(backlog.popleft())
            moved = True
        if moved:
            self.context.device.driver.kick()

    # -- what it holds --------------------------------------------------------------------------

    def use_profiles(self, ev: EvProfile | None, cc: CcProfile | None) -> None:
        """Changes the profiles that it is a user of."""
        for old, new in ((self.ev_profile, ev), (self.cc_profile, cc)):
            if old is not None:
                old.users.pop(self.qpn, None)
            if new is not None:
                new.users[self.qpn] = self.engine
        self.ev_profile, self.cc_profile = ev, cc

    def use_hint(self, attr: mrc_qp_attr) -> None:
        """Changes the hint that it is a user of, to that of `attr`."""
        if self.attr.qp_hint is not None:
            self.attr.qp_hint.users -= 1
        self.attr.qp_hint = attr.qp_hint
        if attr.qp_hint is not None:
            attr.qp_hint.users += 1

    def release(self) -> None:
        """Lets go of profiles and hint."""
        self.use_profiles(None, None)
        self.use_hint(mrc_qp_attr())


def _check_init(mrc_ctx: mrc_context, attr: mrc_qp_init_attr) -> None:
    cap = attr.cap
    for name, value, most in (
        ("max_send_wr", cap.max_send_wr, MAX_WR),
        ("max_recv_wr", cap.max_recv_wr, MAX_WR),
        ("max_send_sge", cap.max_send_sge, MAX_SGE),
        ("max_recv_sge", cap.max_recv_sge, MAX_SGE),
        ("max_inline_data", cap.max_inline_data, MAX_INLINE),
    ):
        if not 0 <= value <= most:
            raise MrcError(errno.EINVAL, f"QP: {name} {value} is outside 0..{most}")
    possible = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
    if attr.send_ops_flags & ~possible:
        raise MrcError(errno.ENOTSUP, "QP: MRC has RDMA WRITE and WRITE with immediate only")
    if attr.protocol_version not in (MRC_PROTOCOL_VERSION_0, MRC_PROTOCOL_VERSION_1):
        raise MrcError(errno.EINVAL, f"QP: one protocol version, not {attr.protocol_version!r}")
    for name, cq in (("send_cq", attr.send_cq), ("recv_cq", attr.recv_cq)):
        if cq.context is not mrc_ctx:
            raise MrcError(errno.EINVAL, f"QP: {name} belongs to another context")
    if attr.pd.context is not mrc_ctx.device:
        raise MrcError(errno.EINVAL, "QP: pd belongs to another device")


def mrc_create_qp(mrc_ctx: mrc_context, mrc_qp_attr: mrc_qp_init_attr) -> mrc_qp:
    """A QP in RESET. MrcError: EINVAL for a value out of its range, ENOTSUP for operations that
    MRC does not have, ENOMEM when all numbers are taken."""
    _check_init(mrc_ctx, mrc_qp_attr)
    init = replace(mrc_qp_attr, cap=replace(mrc_qp_attr.cap))
    try:
        engine = mrc_ctx.device.nic.create_qp()
    except RuntimeError as error:
        raise MrcError(errno.ENOMEM, str(error)) from error
    qp = mrc_qp(mrc_ctx, engine, init)
    init.send_cq.users += 1
    init.recv_cq.users += 1
    init.pd.users += 1
    mrc_ctx.qps[qp.qpn] = qp
    mrc_ctx.children["QPs"] += 1
    return qp


def mrc_destroy_qp(qp: mrc_qp) -> None:
    """Flushes and forgets a QP. MrcError: EBUSY while an event of it is not acknowledged, EINVAL
    when it was destroyed before."""
    context, device = qp.context, qp.context.device
    if context.qps.get(qp.qpn) is not qp:
        raise MrcError(errno.EINVAL, f"QP {qp.qpn} is destroyed")
    device.harvest()
    context.forget(qp)
    qp.error_expected = True
    qp.backlog.clear()
    device.nic.destroy_qp(qp.qpn, device.now_ns)
    device.harvest()
    del device.on_completion[qp.qpn]
    qp.release()
    qp.init.send_cq.users -= 1
    qp.init.recv_cq.users -= 1
    qp.init.pd.users -= 1
    del context.qps[qp.qpn]
    context.children["QPs"] -= 1
    device.driver.kick()


def mrc_get_qpn(qp: mrc_qp) -> int:
    """The QP's number, 24 bits."""
    return qp.qpn


def mrc_query_qp(
    qp: mrc_qp,
    vattr_mask: int = _ALL_IBV,
    mrc_attr_mask: int = _ALL_MRC,
) -> tuple[ibv_qp_attr, mrc_qp_attr, mrc_qp_init_attr]:
    """All attributes; those in the masks are asked for, the others come along.

    MrcError(EINVAL) for a mask with unknown bits.
    """
    if vattr_mask & ~_ALL_IBV or mrc_attr_mask & ~_ALL_MRC:
        raise MrcError(errno.EINVAL, f"QP {qp.qpn}: a mask has unknown bits")
    qp.context.device.harvest()
    vattr = replace(deepcopy(qp.vattr), qp_state=qp.state, cur_qp_state=qp.state)
    hint, qp.attr.qp_hint = qp.attr.qp_hint, None
    attr = deepcopy(qp.attr)
    attr.qp_hint = qp.attr.qp_hint = hint
    return vattr, attr, replace(qp.init, cap=replace(qp.init.cap))
