# SPDX-License-Identifier: Apache-2.0
"""Enums and structures of `mrc.h` 1.0.1, under its names."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntFlag
from typing import TYPE_CHECKING, Any, Final

from endpoint.verbs.ibv import ibv_event_type, ibv_qp_cap, ibv_qp_create_send_ops_flags

if TYPE_CHECKING:
    from endpoint.verbs.context import mrc_context
    from endpoint.verbs.cq import mrc_cq
    from endpoint.verbs.device import ibv_pd
    from endpoint.verbs.qp import mrc_qp
    from endpoint.verbs.qp_hint import mrc_qp_hint

MRC_MAX_VENDOR_CFG_SIZE: Final = 128


class mrc_protocol_version(IntFlag):
    """Versions of the wire protocol, a bit each; 0 leaves the choice to the device."""

    MRC_PROTOCOL_VERSION_0 = 0
    MRC_PROTOCOL_VERSION_1 = 1 << 0


MRC_PROTOCOL_VERSION_0 = mrc_protocol_version.MRC_PROTOCOL_VERSION_0
MRC_PROTOCOL_VERSION_1 = mrc_protocol_version.MRC_PROTOCOL_VERSION_1


class mrc_device_cap(IntFlag):
    """What a device can do beyond the least."""

    MRC_DEVICE_CAP_TRIM_NACK = 1 << 0
    MRC_DEVICE_CAP_DYNAMIC_MPR = 1 << 1
    MRC_DEVICE_CAP_SVC_TIME = 1 << 2


MRC_DEVICE_CAP_TRIM_NACK, MRC_DEVICE_CAP_DYNAMIC_MPR, MRC_DEVICE_CAP_SVC_TIME = mrc_device_cap


@dataclass(frozen=True, slots=True)
class mrc_wimm_attr:
    """Most WRITE_IMM messages in flight, as requester and as responder."""

    max_wimm: int
    max_wimm_dest: int


@dataclass(frozen=True, slots=True)
class mrc_mpr_attr:
    """Largest MPR and its granularity, in units of 128 PSNs."""

    max_mpr: int
    mpr_resolution: int


@dataclass(frozen=True, slots=True)
class mrc_qp_limits:
    """`max_qp_hint`: how many QP hints there can be."""

    max_qp_hint: int


@dataclass(frozen=True, slots=True)
class mrc_device_attr:
    """What a device can do."""

    mrc_protocol_version: mrc_protocol_version
    wimm_attr: mrc_wimm_attr
    mpr_attr: mrc_mpr_attr
    qp_attr: mrc_qp_limits
    cap: mrc_device_cap


@dataclass(frozen=True, slots=True)
class mrc_context_attr:
    """Versions that an application was written for; 0 leaves the choice to the library."""

    mrc_api_version_used: int = 0
    mrc_vendor_api_version_used: int = 0


@dataclass(slots=True)
class mrc_qp_hint_attr:
    """What an application expects of its traffic; counts of QPs and of peers, from 0."""

    num_qps_per_peer: int = 0
    num_send_peers: int = 0
    num_remote_recv_peers: int = 0
    vendor_cfg: bytes = b""


class mrc_qp_hint_attr_mask(IntFlag):
    """Which fields of an `mrc_qp_hint_attr` count."""

    MRC_QP_HINT_NUM_QPS_PER_PEER = 1 << 0
    MRC_QP_HINT_NUM_SEND_PEERS = 1 << 1
    MRC_QP_HINT_NUM_REMOTE_RECV_PEERS = 1 << 2
    MRC_QP_HINT_VENDOR_CFG = 1 << 31


(
    MRC_QP_HINT_NUM_QPS_PER_PEER, MRC_QP_HINT_NUM_SEND_PEERS,
    MRC_QP_HINT_NUM_REMOTE_RECV_PEERS, MRC_QP_HINT_VENDOR_CFG,
) = mrc_qp_hint_attr_mask  # fmt: skip


@dataclass(slots=True)
class mrc_qp_hint_init_attr:
    """What a QP hint starts with."""

    attr: mrc_qp_hint_attr = field(default_factory=mrc_qp_hint_attr)


class mrc_qp_attr_mask(IntFlag):
    """Which fields of an `mrc_qp_attr` count."""

    MRC_QP_MAX_WIMM = 1 << 0
    MRC_QP_MAX_WIMM_DEST = 1 << 1
    MRC_QP_MPR = 1 << 2
    MRC_QP_MPR_DEST = 1 << 3
    MRC_QP_TIMEOUT = 1 << 4
    MRC_QP_EV_PROFILE_ID = 1 << 5
    MRC_QP_CC_PROFILE_ID = 1 << 6
    MRC_QP_HINT = 1 << 7
    MRC_QP_RETRY_CNT = 1 << 8
    MRC_QP_CAP = 1 << 9
    MRC_QP_VENDOR_CFG = 1 << 31


(
    MRC_QP_MAX_WIMM, MRC_QP_MAX_WIMM_DEST, MRC_QP_MPR, MRC_QP_MPR_DEST, MRC_QP_TIMEOUT,
    MRC_QP_EV_PROFILE_ID, MRC_QP_CC_PROFILE_ID, MRC_QP_HINT, MRC_QP_RETRY_CNT, MRC_QP_CAP,
    MRC_QP_VENDOR_CFG,
) = mrc_qp_attr_mask  # fmt: skip


class mrc_qp_cap(IntFlag):
    """Abilities of one QP or of its peer."""

    MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED = 1 << 0
    MRC_QP_CAP_DYNAMIC_MPR = 1 << 1
    MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED = 1 << 2


(
    MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED, MRC_QP_CAP_DYNAMIC_MPR,
    MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED,
) = mrc_qp_cap  # fmt: skip


@dataclass(slots=True)
class mrc_qp_mpr:
    """MPR as requester and as responder, in units of 128 PSNs, 1 to 255."""

    mpr: int = 8
    mpr_dest: int = 8


@dataclass(slots=True)
class mrc_qp_wimm:
    """Most WRITE_IMM messages in flight as requester; kept without a receive as responder."""

    max_wimm: int = 16
    max_wimm_dest: int = 16


@dataclass(slots=True)
class mrc_qp_profile:
    """Which profiles the QP uses; 0 is the device's own."""

    ev_profile_id: int = 0
    cc_profile_id: int = 0


@dataclass(slots=True)
class mrc_qp_retry:
    """Linear retries, 0 to 7; exponential ones, 0 to 25, where 25 stands for no end."""

    linear_cnt: int = 7
    exp_cnt: int = 10


@dataclass(slots=True)
class mrc_qp_attr:
    """Attributes of a QP that are MRC's own. `timeout`: 1.024 µs × 2**timeout, 0 to 24."""

    mpr: mrc_qp_mpr = field(default_factory=mrc_qp_mpr)
    wimm: mrc_qp_wimm = field(default_factory=mrc_qp_wimm)
    timeout: int = 8
    profile: mrc_qp_profile = field(default_factory=mrc_qp_profile)
    retry: mrc_qp_retry = field(default_factory=mrc_qp_retry)
    qp_hint: mrc_qp_hint | None = None
    cap: mrc_qp_cap = mrc_qp_cap(0)  # noqa: RUF009
    vendor_cfg: bytes = b""


@dataclass(slots=True)
class mrc_qp_init_attr:
    """What a QP is made with. `sq_sig_all`: every send reports its completion."""

    send_cq: mrc_cq
    recv_cq: mrc_cq
    pd: ibv_pd
    cap: ibv_qp_cap = field(default_factory=ibv_qp_cap)
    sq_sig_all: int = 0
    send_ops_flags: ibv_qp_create_send_ops_flags = (
        ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_RDMA_WRITE
        | ibv_qp_create_send_ops_flags.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
    )
    protocol_version: mrc_protocol_version = MRC_PROTOCOL_VERSION_0
    qp_context: Any = None


@dataclass(frozen=True, slots=True)
class mrc_async_event:
    """Something that happened to a CQ, a QP, or a port (`element`: its number, from 1)."""

    element: mrc_cq | mrc_qp | int
    event_type: ibv_event_type
    context: mrc_context = field(repr=False, compare=False)
