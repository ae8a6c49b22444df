# SPDX-License-Identifier: Apache-2.0
"""Enums and structures of `mrc_ctl.h` 1.0.1, under its names.

Arrays are lists; the counts that C passes beside them are their lengths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any, Final

from endpoint.profiles.ev_value import (
    MRC_CTL_EV_UNPOPULATED,
    mrc_ctl_ev,
    mrc_ctl_ev_field,
    mrc_ctl_ev_fmt_field,
)
from endpoint.profiles.kinds import (
    MRC_CTL_EV_FMT_MODE_SRV6,
    MRC_CTL_EV_GOOD,
    MRC_CTL_EV_MODE_AUTO,
    MRC_CTL_EV_UNKNOWN,
    MRC_CTL_PROFILE_INIT,
    mrc_ctl_ev_fmt_mode,
    mrc_ctl_ev_mode,
    mrc_ctl_ev_state,
    mrc_ctl_profile_state,
)

MRC_CTL_MAX_VENDOR_CFG_SIZE: Final = 128


class mrc_ctl_protocol_version(IntFlag):
    """Versions of the control protocol, a bit each."""

    MRC_CTL_PROTOCOL_VERSION_0 = 0
    MRC_CTL_PROTOCOL_VERSION_1 = 1 << 0


MRC_CTL_PROTOCOL_VERSION_0 = mrc_ctl_protocol_version.MRC_CTL_PROTOCOL_VERSION_0
MRC_CTL_PROTOCOL_VERSION_1 = mrc_ctl_protocol_version.MRC_CTL_PROTOCOL_VERSION_1


class mrc_ctl_attr_opt(IntFlag):
    """What a device's control can do beyond the least."""

    MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE = 1 << 0
    MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE = 1 << 1
    MRC_CTL_OPT_CAP_EV_EVENT = 1 << 2
    MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE = 1 << 3
    MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT = 1 << 4
    MRC_CTL_OPT_CAP_EP_OP_EV_PROBE = 1 << 5


(
    MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE, MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE,
    MRC_CTL_OPT_CAP_EV_EVENT, MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE,
    MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT, MRC_CTL_OPT_CAP_EP_OP_EV_PROBE,
) = mrc_ctl_attr_opt  # fmt: skip


@dataclass(frozen=True, slots=True)
class mrc_ctl_ev_attr:
    """Limits of EV and EV format profiles; counts, `ev_max_width` in bits."""

    ev_max_fmt_profiles: int
    ev_max_profiles: int
    ev_max_count: int
    ev_free_count: int
    ev_max_count_profile: int
    ev_count_align: int
    ev_max_width: int
    ev_fmt_mode_mask: mrc_ctl_ev_fmt_mode
    ev_mode_mask: mrc_ctl_ev_mode
    ev_op_max_entries: int


@dataclass(frozen=True, slots=True)
class mrc_ctl_cc_attr:
    """How many CC profiles there can be, and the names of the algorithms."""

    cc_max_profiles: int
    algorithms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class mrc_ctl_device_attr:
    """What a device's control can do. `phy_port_mask`: bit N is port N, from 1."""

    mrc_ctl_protocol_version: mrc_ctl_protocol_version
    ev: mrc_ctl_ev_attr
    cc: mrc_ctl_cc_attr
    phy_port_mask: int
    opt_attr: mrc_ctl_attr_opt


# -- ports --------------------------------------------------------------------------------------


class mrc_ctl_port_admin_state(IntEnum):
    """Whether the operator lets a port be used."""

    MRC_CTL_PORT_ADMIN_DISABLED = 0
    MRC_CTL_PORT_ADMIN_ENABLED = 1


MRC_CTL_PORT_ADMIN_DISABLED, MRC_CTL_PORT_ADMIN_ENABLED = mrc_ctl_port_admin_state


class mrc_ctl_port_attr_mask(IntFlag):
    """Which fields of an `mrc_ctl_port_attr` count."""

    MRC_CTL_PORT_ADMIN_STATE = 1 << 0


(MRC_CTL_PORT_ADMIN_STATE,) = mrc_ctl_port_attr_mask


@dataclass(slots=True)
class mrc_ctl_port_attr:
    """Attributes of a port."""

    port_admin_state: mrc_ctl_port_admin_state = MRC_CTL_PORT_ADMIN_ENABLED


# -- EV formats ---------------------------------------------------------------------------------


class mrc_ctl_ev_fmt_op(IntEnum):
    """What to do with the fields of an EV format."""

    MRC_CTL_EV_FMT_OP_MODIFY_FIELDS = 0
    MRC_CTL_EV_FMT_OP_QUERY_FIELDS = 1


MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, MRC_CTL_EV_FMT_OP_QUERY_FIELDS = mrc_ctl_ev_fmt_op


class mrc_ctl_ev_fmt_profile_attr_mask(IntFlag):
    """Which fields of an `mrc_ctl_ev_fmt_profile_attr` count."""

    MRC_CTL_EV_FMT_PROFILE_STATE = 1 << 0
    MRC_CTL_EV_FMT_PROFILE_CUR_STATE = 1 << 1
    MRC_CTL_EV_FMT_PROFILE_MODE = 1 << 2
    MRC_CTL_EV_FMT_PROFILE_OP = 1 << 3
    MRC_CTL_EV_FMT_VENDOR_CFG = 1 << 31


(
    MRC_CTL_EV_FMT_PROFILE_STATE, MRC_CTL_EV_FMT_PROFILE_CUR_STATE,
    MRC_CTL_EV_FMT_PROFILE_MODE, MRC_CTL_EV_FMT_PROFILE_OP, MRC_CTL_EV_FMT_VENDOR_CFG,
) = mrc_ctl_ev_fmt_profile_attr_mask  # fmt: skip


@dataclass(slots=True)
class mrc_ctl_ev_fmt_op_attr:
    """An operation on the fields of an EV format."""

    op: mrc_ctl_ev_fmt_op = MRC_CTL_EV_FMT_OP_QUERY_FIELDS
    fmt_fields: list[mrc_ctl_ev_fmt_field] = field(default_factory=list)


@dataclass(slots=True)
class mrc_ctl_ev_fmt_profile_attr:
    """Attributes of an EV format profile."""

    profile_state: mrc_ctl_profile_state = MRC_CTL_PROFILE_INIT
    cur_profile_state: mrc_ctl_profile_state = MRC_CTL_PROFILE_INIT
    ev_fmt_mode: mrc_ctl_ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6
    ev_fmt_op: mrc_ctl_ev_fmt_op_attr = field(default_factory=mrc_ctl_ev_fmt_op_attr)
    vendor_cfg: bytes = b""


# -- EV profiles --------------------------------------------------------------------------------


class mrc_ctl_ev_op(IntEnum):
    """What to do with EVs."""

    MRC_CTL_EV_OP_REPLACE_EV = 0
    MRC_CTL_EV_OP_MODIFY_EV_STATE = 1
    MRC_CTL_EV_OP_QUERY_EV_STATE = 2
    MRC_CTL_EV_OP_QUERY_EV_ARRAY = 3


(
    MRC_CTL_EV_OP_REPLACE_EV, MRC_CTL_EV_OP_MODIFY_EV_STATE, MRC_CTL_EV_OP_QUERY_EV_STATE,
    MRC_CTL_EV_OP_QUERY_EV_ARRAY,
) = mrc_ctl_ev_op  # fmt: skip


class mrc_ctl_ev_fields_op(IntEnum):
    """What to do with the fields of an EV profile."""

    MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS = 0
    MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS = 1


MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS = mrc_ctl_ev_fields_op


class mrc_ctl_ev_profile_attr_mask(IntFlag):
    """Which fields of an `mrc_ctl_ev_profile_attr` count."""

    MRC_CTL_EV_PROFILE_STATE = 1 << 0
    MRC_CTL_EV_PROFILE_CUR_STATE = 1 << 1
    MRC_CTL_EV_PROFILE_MODE = 1 << 2
    MRC_CTL_EV_PROFILE_FMT_ID = 1 << 3
    MRC_CTL_EV_PROFILE_COUNT = 1 << 4
    MRC_CTL_EV_PROFILE_MIN_ACTIVE = 1 << 5
    MRC_CTL_EV_PROFILE_EVENT_MASK = 1 << 6
    MRC_CTL_EV_PROFILE_EV_OP = 1 << 7
    MRC_CTL_EV_PROFILE_EV_FIELDS_OP = 1 << 8
    MRC_CTL_EV_PROFILE_VENDOR_CFG = 1 << 31


(
    MRC_CTL_EV_PROFILE_STATE, MRC_CTL_EV_PROFILE_CUR_STATE, MRC_CTL_EV_PROFILE_MODE,
    MRC_CTL_EV_PROFILE_FMT_ID, MRC_CTL_EV_PROFILE_COUNT, MRC_CTL_EV_PROFILE_MIN_ACTIVE,
    MRC_CTL_EV_PROFILE_EVENT_MASK, MRC_CTL_EV_PROFILE_EV_OP, MRC_CTL_EV_PROFILE_EV_FIELDS_OP,
    MRC_CTL_EV_PROFILE_VENDOR_CFG,
) = mrc_ctl_ev_profile_attr_mask  # fmt: skip


class mrc_ctl_ev_op_flags(IntFlag):
    """ALL_COPIES: the operation is on every occurrence of the EV, not on one."""

    MRC_CTL_EV_OP_F_ALL_COPIES = 1 << 0


(MRC_CTL_EV_OP_F_ALL_COPIES,) = mrc_ctl_ev_op_flags


@dataclass(slots=True)
class mrc_ctl_ev_op_entry:
    """One EV of an operation."""

    ev: mrc_ctl_ev = MRC_CTL_EV_UNPOPULATED
    ev_new: mrc_ctl_ev = MRC_CTL_EV_UNPOPULATED
    state: mrc_ctl_ev_state = MRC_CTL_EV_GOOD
    flags: mrc_ctl_ev_op_flags = mrc_ctl_ev_op_flags(0)  # noqa: RUF009


@dataclass(slots=True)
class mrc_ctl_ev_op_attr:
    """An operation on EVs, the same on all entries."""

    op: mrc_ctl_ev_op = MRC_CTL_EV_OP_QUERY_EV_ARRAY
    entries: list[mrc_ctl_ev_op_entry] = field(default_factory=list)


@dataclass(slots=True)
class mrc_ctl_ev_fields_op_attr:
    """An operation on the fields of an EV profile."""

    op: mrc_ctl_ev_fields_op = MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS
    fields: list[mrc_ctl_ev_field] = field(default_factory=list)


@dataclass(slots=True)
class mrc_ctl_ev_profile_attr:
    """Attributes of an EV profile. `ev_event_mask`: GOOD and ASSUMED_BAD only."""

    profile_state: mrc_ctl_profile_state = MRC_CTL_PROFILE_INIT
    cur_profile_state: mrc_ctl_profile_state = MRC_CTL_PROFILE_INIT
    ev_mode: mrc_ctl_ev_mode = MRC_CTL_EV_MODE_AUTO
    ev_fmt_profile_id: int = 0
    ev_count: int = 0
    ev_min_active: int = 0
    ev_event_mask: mrc_ctl_ev_state = mrc_ctl_ev_state(0)  # noqa: RUF009
    ev_op: mrc_ctl_ev_op_attr = field(default_factory=mrc_ctl_ev_op_attr)
    ev_fields_op: mrc_ctl_ev_fields_op_attr = field(default_factory=mrc_ctl_ev_fields_op_attr)
    vendor_cfg: bytes = b""


# -- congestion control -------------------------------------------------------------------------


class mrc_ctl_cc_profile_attr_mask(IntFlag):
    """Which fields of an `mrc_ctl_cc_profile_attr` count."""

    MRC_CTL_CC_PROFILE_STATE = 1 << 0
    MRC_CTL_CC_PROFILE_CUR_STATE = 1 << 1
    MRC_CTL_CC_PROFILE_ALGORITHM = 1 << 2
    MRC_CTL_CC_PROFILE_CONFIG = 1 << 3
    MRC_CTL_CC_PROFILE_VENDOR_CFG = 1 << 31


(
    MRC_CTL_CC_PROFILE_STATE, MRC_CTL_CC_PROFILE_CUR_STATE, MRC_CTL_CC_PROFILE_ALGORITHM,
    MRC_CTL_CC_PROFILE_CONFIG, MRC_CTL_CC_PROFILE_VENDOR_CFG,
) = mrc_ctl_cc_profile_attr_mask  # fmt: skip


@dataclass(slots=True)
class mrc_ctl_cc_nscc_cfg:
    """Settings of NSCC: delays in ns, thresholds and windows in bytes; None follows from the
    network."""

    disable_qa: int = 0
    adjust_bytes_threshold: int | None = None
    adjust_period_threshold: int | None = None
    base_rtt: int | None = None
    eta: float | None = None
    fi: float | None = None
    fi_scale: float | None = None
    gamma: float = 0.8
    max_md_jump: float = 0.5
    max_cwnd: int | None = None
    qa_gate: int = 3
    qa_threshold: int | None = None
    target_delay: int | None = None


@dataclass(slots=True)
class mrc_ctl_cc_profile_attr:
    """Attributes of a CC profile. `algorithm` None disables congestion control; `cc_config` is
    the algorithm's own type, None for what follows from the network."""

    profile_state: mrc_ctl_profile_state = MRC_CTL_PROFILE_INIT
    cur_profile_state: mrc_ctl_profile_state = MRC_CTL_PROFILE_INIT
    algorithm: str | None = None
    cc_config: Any | None = None
    vendor_cfg: bytes = b""


# -- events and endpoint operations -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class mrc_ctl_ev_event:
    """An EV changed its state. `drop_count`: events lost between the one before and this one."""

    profile_id: int
    ev: mrc_ctl_ev
    drop_count: int
    state: mrc_ctl_ev_state = MRC_CTL_EV_UNKNOWN


class mrc_ctl_ep_op_type(IntEnum):
    """What an endpoint request asks for."""

    MRC_CTL_EP_OP_EV_PROBE = 0
    MRC_CTL_EP_OP_PORT_STATUS_UPDATE = 1


MRC_CTL_EP_OP_EV_PROBE, MRC_CTL_EP_OP_PORT_STATUS_UPDATE = mrc_ctl_ep_op_type


@dataclass(frozen=True, slots=True)
class mrc_ctl_ep_req:
    """A request. `sgid`, `dgid`: addresses of the NICs, 16 bytes; `port_status`: usable ports,
    bit N is port N, from 1."""

    req_id: int
    sgid: bytes
    dgid: bytes
    ev_fmt_mode: mrc_ctl_ev_fmt_mode
    req_ev: mrc_ctl_ev
    port_status: int = 0


@dataclass(frozen=True, slots=True)
class mrc_ctl_ep_rsp:
    """A response: port (from 1) that it came on, round trip in ns, and whether the responder's
    own time was taken off (never)."""

    req_id: int
    port: int
    rtt: int
    adj_svc_time: int = 0
