# SPDX-License-Identifier: Apache-2.0
"""The parts of libibverbs that `mrc.h` builds on, under their names and with their numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag

from endpoint.memory import MemoryRegion


class ibv_qp_state(IntEnum):
    """States of a queue pair. MRC has no SQD and no SQE: moving there is refused."""

    IBV_QPS_RESET = 0
    IBV_QPS_INIT = 1
    IBV_QPS_RTR = 2
    IBV_QPS_RTS = 3
    IBV_QPS_SQD = 4
    IBV_QPS_SQE = 5
    IBV_QPS_ERR = 6


(
    IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
    IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR,
) = ibv_qp_state  # fmt: skip


class ibv_qp_attr_mask(IntFlag):
    """Which fields of an `ibv_qp_attr` count."""

    IBV_QP_STATE = 1 << 0
    IBV_QP_CUR_STATE = 1 << 1
    IBV_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2
    IBV_QP_ACCESS_FLAGS = 1 << 3
    IBV_QP_PKEY_INDEX = 1 << 4
    IBV_QP_PORT = 1 << 5
    IBV_QP_QKEY = 1 << 6
    IBV_QP_AV = 1 << 7
    IBV_QP_PATH_MTU = 1 << 8
    IBV_QP_TIMEOUT = 1 << 9
    IBV_QP_RETRY_CNT = 1 << 10
    IBV_QP_RNR_RETRY = 1 << 11
    IBV_QP_RQ_PSN = 1 << 12
    IBV_QP_MAX_QP_RD_ATOMIC = 1 << 13
    IBV_QP_ALT_PATH = 1 << 14
    IBV_QP_MIN_RNR_TIMER = 1 << 15
    IBV_QP_SQ_PSN = 1 << 16
    IBV_QP_MAX_DEST_RD_ATOMIC = 1 << 17
    IBV_QP_PATH_MIG_STATE = 1 << 18
    IBV_QP_CAP = 1 << 19
    IBV_QP_DEST_QPN = 1 << 20


(
    IBV_QP_STATE, IBV_QP_CUR_STATE, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_ACCESS_FLAGS,
    IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_QKEY, IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_TIMEOUT,
    IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY, IBV_QP_RQ_PSN, IBV_QP_MAX_QP_RD_ATOMIC,
    IBV_QP_ALT_PATH, IBV_QP_MIN_RNR_TIMER, IBV_QP_SQ_PSN, IBV_QP_MAX_DEST_RD_ATOMIC,
    IBV_QP_PATH_MIG_STATE, IBV_QP_CAP, IBV_QP_DEST_QPN,
) = ibv_qp_attr_mask  # fmt: skip


class ibv_mtu(IntEnum):
    """Path MTU: payload bytes of a packet."""

    IBV_MTU_256 = 1
    IBV_MTU_512 = 2
    IBV_MTU_1024 = 3
    IBV_MTU_2048 = 4
    IBV_MTU_4096 = 5

    @property
    def payload(self) -> int:
        """In bytes."""
        return 128 << self.value


IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096 = ibv_mtu


class ibv_access_flags(IntFlag):
    """Rights on a memory region or of a queue pair."""

    IBV_ACCESS_LOCAL_WRITE = 1 << 0
    IBV_ACCESS_REMOTE_WRITE = 1 << 1


IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE = ibv_access_flags


class ibv_qp_create_send_ops_flags(IntFlag):
    """Operations that a queue pair is made for; others than these two do not exist in MRC."""

    IBV_QP_EX_WITH_RDMA_WRITE = 1 << 0
    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM = 1 << 1


IBV_QP_EX_WITH_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM = ibv_qp_create_send_ops_flags


class ibv_wr_opcode(IntEnum):
    """What a work request asks for."""

    IBV_WR_RDMA_WRITE = 0
    IBV_WR_RDMA_WRITE_WITH_IMM = 1
    IBV_WR_SEND = 2
    IBV_WR_SEND_WITH_IMM = 3
    IBV_WR_RDMA_READ = 4


(
    IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
    IBV_WR_RDMA_READ,
) = ibv_wr_opcode  # fmt: skip


class ibv_send_flags(IntFlag):
    """Of a send work request."""

    IBV_SEND_FENCE = 1 << 0
    IBV_SEND_SIGNALED = 1 << 1
    IBV_SEND_SOLICITED = 1 << 2
    IBV_SEND_INLINE = 1 << 3


IBV_SEND_FENCE, IBV_SEND_SIGNALED, IBV_SEND_SOLICITED, IBV_SEND_INLINE = ibv_send_flags


class ibv_wc_status(IntEnum):
    """How a work request ended; only what MRC can report."""

    IBV_WC_SUCCESS = 0
    IBV_WC_WR_FLUSH_ERR = 5
    IBV_WC_LOC_ACCESS_ERR = 8
    IBV_WC_REM_ACCESS_ERR = 10
    IBV_WC_REM_OP_ERR = 11
    IBV_WC_RETRY_EXC_ERR = 12


(
    IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR,
    IBV_WC_REM_OP_ERR, IBV_WC_RETRY_EXC_ERR,
) = ibv_wc_status  # fmt: skip


class ibv_wc_opcode(IntEnum):
    """What a completion completes."""

    IBV_WC_RDMA_WRITE = 1
    IBV_WC_RECV_RDMA_WITH_IMM = 129


IBV_WC_RDMA_WRITE, IBV_WC_RECV_RDMA_WITH_IMM = ibv_wc_opcode


class ibv_wc_flags(IntFlag):
    """Which optional fields of a completion are there."""

    IBV_WC_WITH_IMM = 1 << 1


(IBV_WC_WITH_IMM,) = ibv_wc_flags


class ibv_event_type(IntEnum):
    """Asynchronous events; only what MRC can report."""

    IBV_EVENT_CQ_ERR = 0
    IBV_EVENT_QP_FATAL = 1
    IBV_EVENT_QP_ACCESS_ERR = 3
    IBV_EVENT_PORT_ACTIVE = 9
    IBV_EVENT_PORT_ERR = 10


(
    IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL, IBV_EVENT_QP_ACCESS_ERR,
    IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR,
) = ibv_event_type  # fmt: skip


class ibv_port_state(IntEnum):
    """State of a port; MRC's are down or active."""

    IBV_PORT_DOWN = 1
    IBV_PORT_ACTIVE = 4


IBV_PORT_DOWN, IBV_PORT_ACTIVE = ibv_port_state


@dataclass(slots=True)
class ibv_port_attr:
    """A port: its state, its MTU, its rate in bit/s."""

    state: ibv_port_state
    active_mtu: ibv_mtu
    rate_bps: int


@dataclass(slots=True)
class ibv_qp_cap:
    """Depths of the queues (work requests) and scatter/gather entries a request."""

    max_send_wr: int = 128
    max_recv_wr: int = 128
    max_send_sge: int = 1
    max_recv_sge: int = 1
    max_inline_data: int = 0


@dataclass(slots=True)
class ibv_global_route:
    """`dgid`: the peer NIC's IPv6 address, 16 bytes."""

    dgid: bytes = bytes(16)
    sgid_index: int = 0
    hop_limit: int = 64
    traffic_class: int = 0
    flow_label: int = 0


@dataclass(slots=True)
class ibv_ah_attr:
    """The address vector; only `grh.dgid` has a meaning, paths are the EV profile's."""

    grh: ibv_global_route = field(default_factory=ibv_global_route)
    is_global: int = 1


@dataclass(slots=True)
class ibv_qp_attr:
    """Attributes of a queue pair that libibverbs knows; the mask says which count.

    PSNs and `dest_qp_num` have 24 bits.
    """

    qp_state: ibv_qp_state = IBV_QPS_RESET
    cur_qp_state: ibv_qp_state = IBV_QPS_RESET
    path_mtu: ibv_mtu = IBV_MTU_4096
    rq_psn: int = 0
    sq_psn: int = 0
    dest_qp_num: int = 0
    qp_access_flags: ibv_access_flags = IBV_ACCESS_REMOTE_WRITE
    cap: ibv_qp_cap = field(default_factory=ibv_qp_cap)
    ah_attr: ibv_ah_attr = field(default_factory=ibv_ah_attr)
    pkey_index: int = 0


@dataclass(slots=True)
class ibv_sge:
    """A piece of local memory: address and key as of `ibv_reg_mr`, length in bytes."""

    addr: int
    length: int
    lkey: int


@dataclass(slots=True)
class ibv_rdma:
    """Where a write goes: the peer's address and key."""

    remote_addr: int = 0
    rkey: int = 0


@dataclass(slots=True)
class ibv_send_wr:
    """A send work request. `imm_data`: 32 bits, in host order."""

    wr_id: int = 0
    sg_list: list[ibv_sge] = field(default_factory=list)
    opcode: ibv_wr_opcode = IBV_WR_RDMA_WRITE
    send_flags: ibv_send_flags = ibv_send_flags(0)  # noqa: RUF009
    rdma: ibv_rdma = field(default_factory=ibv_rdma)
    imm_data: int = 0


@dataclass(slots=True)
class ibv_recv_wr:
    """A receive work request; a WRITE_IMM consumes it and does not use its memory."""

    wr_id: int = 0
    sg_list: list[ibv_sge] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ibv_wc:
    """A completion. `byte_len` of a receive: payload of the message; `imm_data` in host order.
    `vendor_err` is not used. `time_ns`, ours: when it completed."""

    wr_id: int
    status: ibv_wc_status
    opcode: ibv_wc_opcode
    byte_len: int
    qp_num: int
    imm_data: int = 0
    wc_flags: ibv_wc_flags = ibv_wc_flags(0)  # noqa: RUF009
    vendor_err: int = 0
    time_ns: int = 0


@dataclass(frozen=True, slots=True)
class ibv_mr:
    """A registered buffer: what local work requests (`addr`, `lkey`) and the peer (`addr`,
    `rkey`) name it by."""

    addr: int
    length: int
    lkey: int
    rkey: int
    region: MemoryRegion = field(repr=False)
