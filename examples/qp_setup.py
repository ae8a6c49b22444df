# SPDX-License-Identifier: Apache-2.0
"""Queue pairs from creation to RTS, a write with immediate between two hosts, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

from endpoint import verbs as mrc
from examples.virtual_fabric import VirtualFabric

BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class Card:
    """What one side tells the other, by whatever way: its QP, its NIC, and where to write."""

    qpn: int
    gid: bytes
    addr: int
    rkey: int


@dataclass
class Endpoint:
    """One side's objects."""

    device: mrc.ibv_context
    context: mrc.mrc_context
    pd: mrc.ibv_pd
    cq: mrc.mrc_cq
    qp: mrc.mrc_qp
    buffer: bytearray
    mr: mrc.ibv_mr

    @property
    def gid(self) -> bytes:
        """The address of its NIC."""
        return mrc.ibv_query_gid(self.device, 1, 0)

    @property
    def card(self) -> Card:
        """For the other side."""
        return Card(mrc.mrc_get_qpn(self.qp), self.gid, self.mr.addr, self.mr.rkey)


def create(device: mrc.ibv_context, buffer_bytes: int = BUFFER_BYTES) -> Endpoint:
    """A context, a protection domain, a CQ, and a QP in RESET."""
    _, supported = mrc.mrc_query_device(device)
    assert supported
    pd = mrc.ibv_alloc_pd(device)
    version = mrc.mrc_context_attr(mrc_api_version_used=mrc.MRC_API_CURRENT_VERSION)
    context = mrc.mrc_create_context(device, version)
    cq = mrc.mrc_create_cq(context, cqe=128)
    init_attr = mrc.mrc_qp_init_attr(
        send_cq=cq,
        recv_cq=cq,
        sq_sig_all=1,
        cap=mrc.ibv_qp_cap(max_send_wr=128, max_recv_wr=128, max_send_sge=1, max_recv_sge=1),
        pd=pd,
        send_ops_flags=mrc.IBV_QP_EX_WITH_RDMA_WRITE | mrc.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
    )
    qp = mrc.mrc_create_qp(context, init_attr)
    buffer = bytearray(buffer_bytes)
    access = mrc.IBV_ACCESS_LOCAL_WRITE | mrc.IBV_ACCESS_REMOTE_WRITE
    return Endpoint(device, context, pd, cq, qp, buffer, mrc.ibv_reg_mr(pd, buffer, access))


def to_init(end: Endpoint, ev_profile_id: int = 0, cc_profile_id: int = 0) -> None:
    """RESET → INIT: which profiles the QP uses (0: the device's own)."""
    attr = mrc.mrc_qp_attr(profile=mrc.mrc_qp_profile(ev_profile_id, cc_profile_id), qp_hint=None)
    mask = mrc.MRC_QP_EV_PROFILE_ID | mrc.MRC_QP_CC_PROFILE_ID | mrc.MRC_QP_HINT
    state = mrc.ibv_qp_attr(qp_state=mrc.IBV_QPS_INIT)
    mrc.mrc_modify_qp(end.qp, state, mrc.IBV_QP_STATE, attr, mask)


def to_rtr(end: Endpoint, peer: Card, rq_psn: int) -> None:
    """INIT → RTR: who the peer is, and what this side grants it."""
    port = mrc.ibv_query_port(end.device, 1)
    vattr = mrc.ibv_qp_attr(
        qp_state=mrc.IBV_QPS_RTR,
        path_mtu=port.active_mtu,
        dest_qp_num=peer.qpn,
        rq_psn=rq_psn,
        ah_attr=mrc.ibv_ah_attr(grh=mrc.ibv_global_route(dgid=peer.gid)),
    )
    vmask = (
        mrc.IBV_QP_STATE
        | mrc.IBV_QP_AV
        | mrc.IBV_QP_PATH_MTU
        | mrc.IBV_QP_DEST_QPN
        | mrc.IBV_QP_RQ_PSN
    )
    attr = mrc.mrc_qp_attr(
        mpr=mrc.mrc_qp_mpr(mpr_dest=8),
        wimm=mrc.mrc_qp_wimm(max_wimm_dest=128),
        cap=mrc.MRC_QP_CAP_DYNAMIC_MPR,
    )
    mask = mrc.MRC_QP_MPR_DEST | mrc.MRC_QP_MAX_WIMM_DEST | mrc.MRC_QP_CAP
    mrc.mrc_modify_qp(end.qp, vattr, vmask, attr, mask)


def to_rts(end: Endpoint, sq_psn: int, timeout: int = 8) -> None:
    """RTR → RTS: how this side sends."""
    vattr = mrc.ibv_qp_attr(qp_state=mrc.IBV_QPS_RTS, sq_psn=sq_psn)
    attr = mrc.mrc_qp_attr(
        mpr=mrc.mrc_qp_mpr(mpr=8),
        wimm=mrc.mrc_qp_wimm(max_wimm=128),
        timeout=timeout,
        retry=mrc.mrc_qp_retry(linear_cnt=7, exp_cnt=25),
    )
    mask = mrc.MRC_QP_MPR | mrc.MRC_QP_MAX_WIMM | mrc.MRC_QP_TIMEOUT | mrc.MRC_QP_RETRY_CNT
    mrc.mrc_modify_qp(end.qp, vattr, mrc.IBV_QP_STATE | mrc.IBV_QP_SQ_PSN, attr, mask)


def connect(a: Endpoint, b: Endpoint, ev_profile_id: int = 0) -> None:
    """Both sides to RTS; the profile is that of `a`."""
    to_init(a, ev_profile_id)
    to_init(b)
    to_rtr(a, b.card, rq_psn=200)
    to_rtr(b, a.card, rq_psn=100)
    to_rts(a, sq_psn=100)
    to_rts(b, sq_psn=200)


def write(a: Endpoint, b: Card, length: int, wr_id: int, imm: int | None = None) -> None:
    """Posts a write of the first bytes of one buffer to the start of the other side's."""
    opcode = mrc.IBV_WR_RDMA_WRITE if imm is None else mrc.IBV_WR_RDMA_WRITE_WITH_IMM
    wr = mrc.ibv_send_wr(
        wr_id=wr_id,
        sg_list=[mrc.ibv_sge(a.mr.addr, length, a.mr.lkey)],
        opcode=opcode,
        rdma=mrc.ibv_rdma(b.addr, b.rkey),
        imm_data=imm or 0,
    )
    mrc.mrc_post_send(a.qp, wr)


def destroy(end: Endpoint) -> None:
    """Everything of one side, leaves first."""
    mrc.mrc_destroy_qp(end.qp)
    mrc.mrc_destroy_cq(end.cq)
    mrc.mrc_destroy_context(end.context)
    mrc.ibv_dereg_mr(end.pd, end.mr)
    mrc.ibv_dealloc_pd(end.pd)


def main() -> None:
    """Sets up two QPs, writes, prints what completed."""
    world = VirtualFabric()
    a, b = create(world.devices[0]), create(world.devices[-1])
    connect(a, b)
    a.buffer[:] = bytes(i & 0xFF for i in range(BUFFER_BYTES))
    mrc.mrc_post_recv(b.qp, mrc.ibv_recv_wr(wr_id=7))
    write(a, b.card, BUFFER_BYTES, wr_id=1, imm=42)
    done: list[mrc.ibv_wc] = []

    def finished() -> bool:
        done.extend(mrc.mrc_poll_cq(a.cq, 8) + mrc.mrc_poll_cq(b.cq, 8))
        return len(done) == 2

    world.wait(finished)
    assert a.buffer == b.buffer
    for wc in done:
        print(f"QP {wc.qp_num}: {wc.opcode.name} {wc.status.name}, {wc.byte_len} bytes")
    vattr, attr, _ = mrc.mrc_query_qp(a.qp)
    print(f"{vattr.qp_state.name}, timeout {attr.timeout}, MPR {attr.mpr.mpr} x 128 PSNs")
    destroy(a)
    destroy(b)


if __name__ == "__main__":
    main()
