# SPDX-License-Identifier: Apache-2.0
"""Moving a queue pair through its states: which attributes each transition needs and takes.

`mrc.h` says which MRC attributes a transition requires; those of libibverbs are as for a reliable
connection, less what `mrc.h` excludes. Everything is checked before anything changes.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from endpoint.api_error import MrcError
from endpoint.nic import Nic
from endpoint.qp_config import PeerInfo
from endpoint.responder import ResponderConfig
from endpoint.retry_timer import RetryPolicy
from endpoint.verbs.ibv import (
    IBV_QP_ACCESS_FLAGS,
    IBV_QP_AV,
    IBV_QP_CUR_STATE,
    IBV_QP_DEST_QPN,
    IBV_QP_PATH_MTU,
    IBV_QP_PKEY_INDEX,
    IBV_QP_RQ_PSN,
    IBV_QP_SQ_PSN,
    IBV_QP_STATE,
    IBV_QPS_ERR,
    IBV_QPS_INIT,
    IBV_QPS_RESET,
    IBV_QPS_RTR,
    IBV_QPS_RTS,
    ibv_qp_attr,
    ibv_qp_attr_mask,
    ibv_qp_state,
)
from endpoint.verbs.objects import (
    MRC_MAX_VENDOR_CFG_SIZE,
    MRC_QP_CAP,
    MRC_QP_CAP_DYNAMIC_MPR,
    MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED,
    MRC_QP_CC_PROFILE_ID,
    MRC_QP_EV_PROFILE_ID,
    MRC_QP_HINT,
    MRC_QP_MAX_WIMM,
    MRC_QP_MAX_WIMM_DEST,
    MRC_QP_MPR,
    MRC_QP_MPR_DEST,
    MRC_QP_RETRY_CNT,
    MRC_QP_TIMEOUT,
    MRC_QP_VENDOR_CFG,
    mrc_qp_attr,
    mrc_qp_attr_mask,
    mrc_qp_cap,
)
from endpoint.verbs.qp import mrc_qp

_V = ibv_qp_attr_mask
_M = mrc_qp_attr_mask


@dataclass(frozen=True, slots=True)
class Rule:
    """Attributes that a transition needs and those that it also takes."""

    needs: ibv_qp_attr_mask = _V(0)  # noqa: RUF009
    takes: ibv_qp_attr_mask = _V(0)  # noqa: RUF009
    mrc_needs: mrc_qp_attr_mask = _M(0)  # noqa: RUF009
    mrc_takes: mrc_qp_attr_mask = _M(0)  # noqa: RUF009


_ALWAYS = IBV_QP_STATE | IBV_QP_CUR_STATE
_INIT_MRC = MRC_QP_HINT | MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID
_RTR_MRC = MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR_DEST | MRC_QP_CAP
_RTS_MRC = MRC_QP_MAX_WIMM | MRC_QP_MPR | MRC_QP_RETRY_CNT | MRC_QP_TIMEOUT
_INIT_IBV = IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS

TRANSITIONS: dict[tuple[ibv_qp_state, ibv_qp_state], Rule] = {
    (IBV_QPS_RESET, IBV_QPS_INIT): Rule(
        takes=_INIT_IBV, mrc_needs=_INIT_MRC, mrc_takes=MRC_QP_VENDOR_CFG
    ),
    (IBV_QPS_INIT, IBV_QPS_INIT): Rule(takes=_INIT_IBV, mrc_takes=_INIT_MRC | MRC_QP_VENDOR_CFG),
    (IBV_QPS_INIT, IBV_QPS_RTR): Rule(
        needs=IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
        takes=_INIT_IBV,
        mrc_needs=_RTR_MRC,
        mrc_takes=MRC_QP_MAX_WIMM | MRC_QP_MPR | MRC_QP_VENDOR_CFG,
    ),
    (IBV_QPS_RTR, IBV_QPS_RTS): Rule(
        needs=IBV_QP_SQ_PSN,
        takes=IBV_QP_ACCESS_FLAGS,
        mrc_needs=_RTS_MRC,
        mrc_takes=MRC_QP_VENDOR_CFG,
    ),
    (IBV_QPS_RTS, IBV_QPS_RTS): Rule(
        takes=IBV_QP_ACCESS_FLAGS, mrc_takes=MRC_QP_MAX_WIMM | MRC_QP_HINT | MRC_QP_VENDOR_CFG
    ),
}
"""What is not here is refused; to RESET and to ERR leads from every state, with no attribute."""

_MaskT = TypeVar("_MaskT", ibv_qp_attr_mask, mrc_qp_attr_mask)


def mrc_modify_qp(
    qp: mrc_qp,
    vattr: ibv_qp_attr,
    vattr_mask: int,
    mrc_attr: mrc_qp_attr | None = None,
    mrc_attr_mask: int = 0,
) -> None:
    """Sets attributes and moves a QP to `vattr.qp_state` (if IBV_QP_STATE is in the mask).

    MrcError(EINVAL) names what is missing, not taken in this transition, or out of its range,
    and says when a profile is not ONLINE. Nothing has changed then.
    """
    device = qp.context.device
    device.harvest()
    old = qp.state
    vmask, mmask = _V(vattr_mask), _M(mrc_attr_mask)
    new = ibv_qp_state(vattr.qp_state) if vmask & IBV_QP_STATE else old
    if vmask & IBV_QP_CUR_STATE and vattr.cur_qp_state is not old:
        raise _refused(qp, old, new, f"the state is not {vattr.cur_qp_state.name}")
    if new in (IBV_QPS_RESET, IBV_QPS_ERR):
        if vmask & ~_ALWAYS or mmask:
            raise _refused(qp, old, new, "takes no other attribute")
        (_reset if new is IBV_QPS_RESET else _break)(qp)
        device.driver.kick()
        return
    rule = TRANSITIONS.get((old, new))
    if rule is None:
        raise _refused(qp, old, new, "there is no such transition")
    _check_mask(qp, old, new, vmask & ~_ALWAYS, rule.needs, rule.takes)
    _check_mask(qp, old, new, mmask, rule.mrc_needs, rule.mrc_takes)
    wanted = _merged(qp, mrc_attr or mrc_qp_attr(), mmask)
    address = _merged_ibv(qp, vattr, vmask)
    try:
        _check_values(device.nic, address, wanted)
        _ACTIONS[old, new](qp, address, wanted)
    except ValueError as error:
        raise _refused(qp, old, new, str(error)) from error
    qp.use_hint(wanted)
    qp.vattr, qp.attr, qp.reached = address, wanted, new
    device.driver.kick()


def _refused(qp: mrc_qp, old: ibv_qp_state, new: ibv_qp_state, why: str) -> MrcError:
    return MrcError(errno.EINVAL, f"QP {qp.qpn}, {old.name} to {new.name}: {why}")


def _check_mask(
    qp: mrc_qp, old: ibv_qp_state, new: ibv_qp_state, mask: _MaskT, needs: _MaskT, takes: _MaskT
) -> None:
    missing, alien = needs & ~mask, mask & ~(needs | takes)
    if missing:
        names = ", ".join(str(bit.name) for bit in type(mask) if bit & missing)
        raise _refused(qp, old, new, f"needs {names}")
    if alien:
        names = ", ".join(str(bit.name) for bit in type(mask) if bit & alien) or hex(alien)
        raise _refused(qp, old, new, f"does not take {names}")


def _merged(qp: mrc_qp, new: mrc_qp_attr, mask: mrc_qp_attr_mask) -> mrc_qp_attr:
    """The QP's MRC attributes with those of `new` that the mask names."""
    old = qp.attr

    def pick(bit: mrc_qp_attr_mask) -> mrc_qp_attr:
        return new if mask & bit else old

    return mrc_qp_attr(
        replace(
            old.mpr,
            mpr=pick(MRC_QP_MPR).mpr.mpr,
            mpr_dest=pick(MRC_QP_MPR_DEST).mpr.mpr_dest,
        ),
        replace(
            old.wimm,
            max_wimm=pick(MRC_QP_MAX_WIMM).wimm.max_wimm,
            max_wimm_dest=pick(MRC_QP_MAX_WIMM_DEST).wimm.max_wimm_dest,
        ),
        pick(MRC_QP_TIMEOUT).timeout,
        replace(
            old.profile,
            ev_profile_id=pick(MRC_QP_EV_PROFILE_ID).profile.ev_profile_id,
            cc_profile_id=pick(MRC_QP_CC_PROFILE_ID).profile.cc_profile_id,
        ),
        replace(pick(MRC_QP_RETRY_CNT).retry),
        pick(MRC_QP_HINT).qp_hint,
        pick(MRC_QP_CAP).cap,
        pick(MRC_QP_VENDOR_CFG).vendor_cfg,
    )


_IBV_FIELDS = (
    (IBV_QP_ACCESS_FLAGS, "qp_access_flags"),
    (IBV_QP_PKEY_INDEX, "pkey_index"),
    (IBV_QP_AV, "ah_attr"),
    (IBV_QP_PATH_MTU, "path_mtu"),
    (IBV_QP_DEST_QPN, "dest_qp_num"),
    (IBV_QP_RQ_PSN, "rq_psn"),
    (IBV_QP_SQ_PSN, "sq_psn"),
)


def _merged_ibv(qp: mrc_qp, new: ibv_qp_attr, mask: ibv_qp_attr_mask) -> ibv_qp_attr:
    merged = replace(qp.vattr)
    for bit, name in _IBV_FIELDS:
        if mask & bit:
            setattr(merged, name, getattr(new, name))
    return merged


def _check_values(nic: Nic, vattr: ibv_qp_attr, attr: mrc_qp_attr) -> None:
    if vattr.pkey_index != 0:
        raise ValueError(f"pkey_index {vattr.pkey_index}: there is one partition, 0")
    for name in ("dest_qp_num", "rq_psn", "sq_psn"):
        if not 0 <= getattr(vattr, name) < 1 << 24:
            raise ValueError(f"{name} {getattr(vattr, name):#x} is not 24 bits")
    for name, value, least, most in (
        ("mpr", attr.mpr.mpr, 1, 255),
        ("mpr_dest", attr.mpr.mpr_dest, 1, 255),
        ("max_wimm", attr.wimm.max_wimm, 1, 0xFFFF),
        ("max_wimm_dest", attr.wimm.max_wimm_dest, 0, 0xFFFF),
        ("vendor_cfg bytes", len(attr.vendor_cfg), 0, MRC_MAX_VENDOR_CFG_SIZE),
        ("cap", int(attr.cap), 0, sum(mrc_qp_cap)),
    ):
        if not least <= value <= most:
            raise ValueError(f"{name} {value} is outside {least}..{most}")
    _retry(attr)


def _retry(attr: mrc_qp_attr) -> RetryPolicy:
    return RetryPolicy(attr.timeout, attr.retry.linear_cnt, attr.retry.exp_cnt)


# -- the transitions ----------------------------------------------------------------------------


def _init(qp: mrc_qp, vattr: ibv_qp_attr, attr: mrc_qp_attr) -> None:
    """Associates the QP with its profiles, which must be ONLINE."""
    profiles = qp.context.device.profiles
    ev = profiles.usable_ev(attr.profile.ev_profile_id)
    cc = profiles.usable_cc(attr.profile.cc_profile_id)
    qp.use_profiles(ev, cc)


def _ready_to_receive(qp: mrc_qp, vattr: ibv_qp_attr, attr: mrc_qp_attr) -> None:
    device = qp.context.device
    nic, ev, cc = device.nic, qp.ev_profile, qp.cc_profile
    assert ev is not None and cc is not None
    base = nic.config.qp
    qp.engine.configure(
        replace(
            base,
            path_mtu=vattr.path_mtu.payload,
            plan=ev.plan(),
            min_active=ev.min_active_of_qps(),
            congestion=cc.engine_name(base.congestion),
            congestion_config=cc.engine_config(base.congestion_config),
            trimmable=not attr.cap & MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED,
            dynamic_mpr=bool(attr.cap & MRC_QP_CAP_DYNAMIC_MPR),
            responder=ResponderConfig(attr.mpr.mpr_dest, attr.wimm.max_wimm_dest),
        )
    )
    gid = vattr.ah_attr.grh.dgid
    peer = PeerInfo(device.host_of(gid), vattr.dest_qp_num, vattr.rq_psn, gid, attr.mpr.mpr)
    qp.engine.ready_to_receive(peer, device.now_ns)
    ev.joined(qp.engine, device.now_ns)


def _ready_to_send(qp: mrc_qp, vattr: ibv_qp_attr, attr: mrc_qp_attr) -> None:
    qp.engine.ready_to_send(
        qp.context.device.now_ns,
        first_psn=vattr.sq_psn,
        retry=_retry(attr),
        mpr_units=attr.mpr.mpr,
    )


def _stay(qp: mrc_qp, vattr: ibv_qp_attr, attr: mrc_qp_attr) -> None:
    """Only attributes change."""


_ACTIONS: dict[
    tuple[ibv_qp_state, ibv_qp_state], Callable[[mrc_qp, ibv_qp_attr, mrc_qp_attr], None]
] = {
    (IBV_QPS_RESET, IBV_QPS_INIT): _init,
    (IBV_QPS_INIT, IBV_QPS_INIT): _init,
    (IBV_QPS_INIT, IBV_QPS_RTR): _ready_to_receive,
    (IBV_QPS_RTR, IBV_QPS_RTS): _ready_to_send,
    (IBV_QPS_RTS, IBV_QPS_RTS): _stay,
}


def _break(qp: mrc_qp) -> None:
    qp.error_expected = True
    qp.fail("moved to ERR by the application")
    qp.context.device.harvest()


def _reset(qp: mrc_qp) -> None:
    """Back to the state after creation, with the same number; what is posted is forgotten, and
    so are its completions that nobody took (as libibverbs does)."""
    device = qp.context.device
    qp.error_expected = True
    qp.backlog.clear()
    qp.engine = device.nic.reset_qp(qp.qpn, device.now_ns)
    device.harvest()
    for cq in (qp.init.send_cq, qp.init.recv_cq):
        kept = [wc for wc in cq.entries if wc.qp_num != qp.qpn]
        cq.entries.clear()
        cq.entries.extend(kept)
    qp.release()
    qp.sends.clear()
    qp.wimms = qp.receives = 0
    qp.vattr, qp.attr = ibv_qp_attr(cap=qp.init.cap), mrc_qp_attr()
    qp.reached = IBV_QPS_RESET
    qp.error_expected = False
