# SPDX-License-Identifier: Apache-2.0
"""Two devices of the API, with nothing between them but a delay: explicit time, chosen losses."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from endpoint import verbs as v
from endpoint.nic import Nic, NicConfig
from endpoint.wire.frame import parse_frame
from topologies import load


class LabDriver:
    """The world of one NIC of the lab."""

    def __init__(self, lab: VerbsLab) -> None:
        self.lab = lab

    def now_ns(self) -> int:
        return self.lab.now

    def kick(self) -> None:
        """The lab asks every NIC at every step."""

    def wait(self, done: Callable[[], bool], deadline_ns: int) -> None:
        while not done() and self.lab.step(deadline_ns):
            pass


class VerbsLab:
    """`drop(source, port, frame)` says which frames are lost."""

    def __init__(self, fabric: str = "demo", hosts: tuple[int, int] = (0, 4), seed: int = 1):
        self.fabric = load(fabric)
        self.now = 0
        self.delay = 2_500
        self.nics = [Nic(NicConfig(self.fabric, i), random.Random(f"{seed} {i}")) for i in hosts]
        self.devices = [v.ibv_open_device(nic, LabDriver(self)) for nic in self.nics]
        self.drop: Callable[[int, int, bytes], bool] = lambda source, port, frame: False
        self.sent: list[tuple[int, int, bytes]] = []
        self._heap: list[tuple[int, int, int, int, bytes]] = []

    def step(self, until: int) -> bool:
        """The next thing that happens; False when nothing does until then."""
        for source, nic in enumerate(self.nics):
            room = [4] * self.fabric.spec.planes
            for port, frame, _ in nic.frames_to_send(self.now, room):
                self.sent.append((source, port, frame))
                if not self.drop(source, port, frame):
                    entry = (self.now + self.delay, len(self.sent), 1 - source, port, frame)
                    heappush(self._heap, entry)
        timers = [t for nic in self.nics if (t := nic.next_timer_ns()) is not None]
        arrival = self._heap[0][0] if self._heap else None
        at = min([*timers, *([] if arrival is None else [arrival])], default=None)
        if at is None or at > until:
            self.now = max(self.now, until)
            return False
        self.now = max(self.now, at)
        if arrival is not None and arrival <= at:
            _, _, target, port, frame = heappop(self._heap)
            self.nics[target].receive(port, frame, self.now)
        else:
            for nic in self.nics:
                if (due := nic.next_timer_ns()) is not None and due <= self.now:
                    nic.on_timer(self.now)
        return True

    def run(self, duration_ns: int = 10_000_000) -> None:
        until = self.now + duration_ns
        while self.step(until):
            pass

    def parsed(self, source: int = 0) -> list[object]:
        """What a NIC sent."""
        dscp = self.nics[source].dscp
        return [parse_frame(frame, dscp) for origin, _, frame in self.sent if origin == source]


@dataclass
class End:
    """One side: context, queues, and a QP."""

    device: v.ibv_context
    context: v.mrc_context
    pd: v.ibv_pd
    cq: v.mrc_cq
    qp: v.mrc_qp
    buffer: bytearray
    mr: v.ibv_mr


INIT_MASK = v.MRC_QP_EV_PROFILE_ID | v.MRC_QP_CC_PROFILE_ID | v.MRC_QP_HINT
RTR_IBV = v.IBV_QP_STATE | v.IBV_QP_AV | v.IBV_QP_PATH_MTU | v.IBV_QP_DEST_QPN | v.IBV_QP_RQ_PSN
RTR_MASK = v.MRC_QP_MPR_DEST | v.MRC_QP_MAX_WIMM_DEST | v.MRC_QP_CAP
RTS_IBV = v.IBV_QP_STATE | v.IBV_QP_SQ_PSN
RTS_MASK = v.MRC_QP_MPR | v.MRC_QP_MAX_WIMM | v.MRC_QP_TIMEOUT | v.MRC_QP_RETRY_CNT


def make_end(device: v.ibv_context, size: int = 1 << 20, cqe: int = 256, **cap: int) -> End:
    """A QP in RESET and what it needs."""
    context = v.mrc_create_context(device)
    pd = v.ibv_alloc_pd(device)
    cq = v.mrc_create_cq(context, cqe)
    init = v.mrc_qp_init_attr(send_cq=cq, recv_cq=cq, pd=pd, sq_sig_all=1, cap=v.ibv_qp_cap(**cap))
    qp = v.mrc_create_qp(context, init)
    buffer = bytearray(size)
    mr = v.ibv_reg_mr(pd, buffer, v.IBV_ACCESS_LOCAL_WRITE | v.IBV_ACCESS_REMOTE_WRITE)
    return End(device, context, pd, cq, qp, buffer, mr)


def to_init(end: End, ev: int = 0, cc: int = 0) -> None:
    attr = v.mrc_qp_attr(profile=v.mrc_qp_profile(ev, cc))
    v.mrc_modify_qp(end.qp, v.ibv_qp_attr(v.IBV_QPS_INIT), v.IBV_QP_STATE, attr, INIT_MASK)


def to_rtr(
    end: End, peer: End, rq_psn: int = 7, mtu: v.ibv_mtu | None = None, **attr: object
) -> None:
    gid = v.ibv_query_gid(peer.device, 1, 0)
    vattr = v.ibv_qp_attr(
        v.IBV_QPS_RTR,
        path_mtu=mtu or v.ibv_query_port(end.device, 1).active_mtu,
        dest_qp_num=v.mrc_get_qpn(peer.qp),
        rq_psn=rq_psn,
        ah_attr=v.ibv_ah_attr(v.ibv_global_route(dgid=gid)),
    )
    v.mrc_modify_qp(end.qp, vattr, RTR_IBV, v.mrc_qp_attr(**attr), RTR_MASK)


def to_rts(end: End, sq_psn: int = 7, **attr: object) -> None:
    vattr = v.ibv_qp_attr(v.IBV_QPS_RTS, sq_psn=sq_psn)
    v.mrc_modify_qp(end.qp, vattr, RTS_IBV, v.mrc_qp_attr(**attr), RTS_MASK)


def connected(lab: VerbsLab, ev: int = 0, cc: int = 0, **kwargs: int) -> tuple[End, End]:
    """Two ends in RTS."""
    a, b = (make_end(device, **kwargs) for device in lab.devices)
    for end in (a, b):
        to_init(end, ev if end is a else 0, cc if end is a else 0)
    for end, peer in ((a, b), (b, a)):
        to_rtr(end, peer)
    for end in (a, b):
        to_rts(end)
    return a, b


def write(a: End, b: End, length: int, wr_id: int = 1, imm: int | None = None, flags: int = 0):
    """A write request from the start of one buffer to the start of the other."""
    opcode = v.IBV_WR_RDMA_WRITE if imm is None else v.IBV_WR_RDMA_WRITE_WITH_IMM
    return v.ibv_send_wr(
        wr_id,
        [v.ibv_sge(a.mr.addr, length, a.mr.lkey)],
        opcode,
        v.ibv_send_flags(flags),
        v.ibv_rdma(b.mr.addr, b.mr.rkey),
        imm or 0,
    )
