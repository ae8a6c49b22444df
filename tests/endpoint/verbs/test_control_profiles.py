# SPDX-License-Identifier: Apache-2.0
"""Proves the life of EV format, EV and CC profiles: what each state takes and needs, EV operations,
errno."""

import errno

import pytest
from api_lab import (
    EVENTS,
    OFFLINE_MASK,
    STATE_MODE_OP,
    array,
    ev_state,
    explicit,
    format_state,
    operate,
    populate,
    refused,
    set_format,
    set_offline,
    srv6_evs,
)
from verbs_lab import VerbsLab, connected, make_end, to_init

from endpoint import control as c
from endpoint import verbs as v

INIT, OFFLINE, ONLINE = c.mrc_ctl_profile_state
STEV, SRV6, UDP = c.mrc_ctl_ev_fmt_mode
Ev = c.mrc_ctl_ev


@pytest.fixture
def ctx() -> v.mrc_context:
    return v.mrc_create_context(VerbsLab().devices[0])


def stev(number: int, port: int = 1) -> c.mrc_ctl_ev:
    return Ev.of(number << 16 | number, 32, port)


# -- formats ------------------------------------------------------------------------------------


def test_a_format_goes_from_init_to_online_and_back(ctx: v.mrc_context) -> None:
    set_format(ctx, 13, SRV6, [32, 16, 16, 16, 16])
    attr = c.mrc_ctl_ev_fmt_profile_attr()
    c.mrc_ctl_query_ev_fmt_profile(ctx, 13, attr, STATE_MODE_OP)
    assert (attr.profile_state, attr.ev_fmt_mode) == (ONLINE, SRV6)
    assert [part.width for part in attr.ev_fmt_op.fmt_fields] == [32, 16, 16, 16, 16]
    refused(errno.EINVAL, lambda: format_state(ctx, 13, INIT))
    format_state(ctx, 13, OFFLINE)
    format_state(ctx, 13, INIT)
    refused(errno.EINVAL, lambda: format_state(ctx, 13, ONLINE))


@pytest.mark.parametrize(
    ("code", "mode", "widths"),
    [
        (errno.E2BIG, STEV, [32, 1]),
        (errno.E2BIG, UDP, [16, 1]),
        (errno.E2BIG, SRV6, [32] * 8 + [1]),
        (errno.EINVAL, SRV6, [32, 32, 32, 31, 2]),
        (errno.EINVAL, STEV, []),
        (errno.EINVAL, STEV, [0]),
        (errno.EINVAL, STEV, [33]),
    ],
)
def test_formats_that_do_not_fit(
    ctx: v.mrc_context, code: int, mode: c.mrc_ctl_ev_fmt_mode, widths: list[int]
) -> None:
    refused(code, lambda: set_format(ctx, 13, mode, widths))


def test_a_format_in_use_stays_online(ctx: v.mrc_context) -> None:
    set_format(ctx, 13, STEV, [16, 16])
    explicit(ctx, 1, [stev(1)])
    refused(errno.EBUSY, lambda: format_state(ctx, 13, OFFLINE))
    ev_state(ctx, 1, OFFLINE)
    format_state(ctx, 13, OFFLINE)
    refused(errno.EINVAL, lambda: ev_state(ctx, 1, ONLINE))


# -- EV profiles --------------------------------------------------------------------------------


def test_each_state_names_what_it_needs(ctx: v.mrc_context) -> None:
    set_format(ctx, 13, STEV, [16, 16])
    attr = c.mrc_ctl_ev_profile_attr(
        OFFLINE, ev_mode=c.MRC_CTL_EV_MODE_EXP, ev_fmt_profile_id=13, ev_count=1
    )
    for bit, name in (
        (c.MRC_CTL_EV_PROFILE_MODE, "MODE"),
        (c.MRC_CTL_EV_PROFILE_FMT_ID, "FMT_ID"),
        (c.MRC_CTL_EV_PROFILE_COUNT, "COUNT"),
    ):
        call = lambda bit=bit: c.mrc_ctl_modify_ev_profile(ctx, 1, attr, OFFLINE_MASK & ~bit)  # noqa: E731
        assert name in str(refused(errno.EINVAL, call))
    least = OFFLINE_MASK & ~c.MRC_CTL_EV_PROFILE_MIN_ACTIVE & ~c.MRC_CTL_EV_PROFILE_EVENT_MASK
    c.mrc_ctl_modify_ev_profile(ctx, 1, attr, least)
    online = c.mrc_ctl_ev_profile_attr(ONLINE, ev_event_mask=EVENTS)
    state, minimum, events = (
        c.MRC_CTL_EV_PROFILE_STATE,
        c.MRC_CTL_EV_PROFILE_MIN_ACTIVE,
        c.MRC_CTL_EV_PROFILE_EVENT_MASK,
    )
    go = lambda mask: c.mrc_ctl_modify_ev_profile(ctx, 1, online, mask)  # noqa: E731
    assert "MIN_ACTIVE" in str(refused(errno.EINVAL, lambda: go(state | events)))
    assert "not populated" in str(refused(errno.EINVAL, lambda: go(state | minimum)))
    populate(ctx, 1, [stev(5)])
    go(state)
    refused(errno.EINVAL, lambda: go(minimum))
    gen = c.mrc_ctl_ev_profile_attr(
        OFFLINE, ev_mode=c.MRC_CTL_EV_MODE_GEN, ev_fmt_profile_id=13, ev_count=1
    )
    call = lambda: c.mrc_ctl_modify_ev_profile(ctx, 2, gen, OFFLINE_MASK)  # noqa: E731
    assert "MODIFY_FIELDS" in str(refused(errno.EINVAL, call))


def test_an_explicit_array_starts_unpopulated_and_is_replaced_place_by_place(
    ctx: v.mrc_context,
) -> None:
    set_format(ctx, 13, STEV, [16, 16])
    set_offline(ctx, 1, 3)
    assert [(e.ev, e.state) for e in array(ctx, 1)] == [
        (c.MRC_CTL_EV_UNPOPULATED, c.MRC_CTL_EV_UNKNOWN)
    ] * 3
    populate(ctx, 1, [stev(1), stev(2, 2)])
    entry = c.mrc_ctl_ev_op_entry
    missing = refused(
        errno.ENOENT,
        lambda: operate(
            ctx, 1, c.MRC_CTL_EV_OP_REPLACE_EV, entry(stev(1), stev(7)), entry(stev(9), stev(8))
        ),
    )
    assert missing.entry == 1
    assert [e.ev for e in array(ctx, 1)] == [stev(7), stev(2, 2), c.MRC_CTL_EV_UNPOPULATED]
    all_copies = entry(c.MRC_CTL_EV_UNPOPULATED, stev(3, 4), flags=c.MRC_CTL_EV_OP_F_ALL_COPIES)
    operate(ctx, 1, c.MRC_CTL_EV_OP_REPLACE_EV, all_copies)
    for port in (0, 5):
        bad = entry(stev(7), stev(1, port))
        refused(errno.EINVAL, lambda bad=bad: operate(ctx, 1, c.MRC_CTL_EV_OP_REPLACE_EV, bad))
    ev_state(ctx, 1, ONLINE)
    assert {e.state for e in array(ctx, 1)} == {c.MRC_CTL_EV_GOOD}


def test_all_copies_are_replaced_at_once(ctx: v.mrc_context) -> None:
    set_format(ctx, 13, STEV, [16, 16])
    set_offline(ctx, 1, 3)
    populate(ctx, 1, [stev(1)] * 3)
    refused(errno.EINVAL, lambda: ev_state(ctx, 1, ONLINE))
    entry = c.mrc_ctl_ev_op_entry(stev(1), stev(2), flags=c.MRC_CTL_EV_OP_F_ALL_COPIES)
    operate(ctx, 1, c.MRC_CTL_EV_OP_REPLACE_EV, entry)
    assert [e.ev for e in array(ctx, 1)] == [stev(2)] * 3


def test_states_can_be_set_and_asked_for(ctx: v.mrc_context) -> None:
    set_format(ctx, 13, STEV, [16, 16])
    explicit(ctx, 1, [stev(1), stev(2)])
    entry = c.mrc_ctl_ev_op_entry(stev(2), state=c.MRC_CTL_EV_DENIED)
    operate(ctx, 1, c.MRC_CTL_EV_OP_MODIFY_EV_STATE, entry)
    assert [e.state for e in array(ctx, 1)] == [c.MRC_CTL_EV_GOOD, c.MRC_CTL_EV_DENIED]
    op = c.mrc_ctl_ev_op_attr(c.MRC_CTL_EV_OP_QUERY_EV_STATE, [c.mrc_ctl_ev_op_entry(stev(2))])
    attr = c.mrc_ctl_ev_profile_attr(ev_op=op)
    c.mrc_ctl_query_ev_profile(ctx, 1, attr, c.MRC_CTL_EV_PROFILE_EV_OP)
    assert attr.ev_op.entries[0].state is c.MRC_CTL_EV_DENIED
    entry.state = c.MRC_CTL_EV_UNKNOWN
    refused(errno.EINVAL, lambda: operate(ctx, 1, c.MRC_CTL_EV_OP_MODIFY_EV_STATE, entry))


def test_limits_and_exclusive_operations(ctx: v.mrc_context) -> None:
    set_format(ctx, 13, STEV, [16, 16])
    limits = c.mrc_ctl_query_device(ctx.device).ev
    refused(errno.E2BIG, lambda: set_offline(ctx, 1, limits.ev_max_count_profile + 1))
    refused(errno.EINVAL, lambda: set_offline(ctx, 1, 4, min_active=5))
    attr = c.mrc_ctl_ev_profile_attr()
    both = c.MRC_CTL_EV_PROFILE_EV_OP | c.MRC_CTL_EV_PROFILE_EV_FIELDS_OP
    refused(errno.EINVAL, lambda: c.mrc_ctl_modify_ev_profile(ctx, 1, attr, both))
    refused(errno.EINVAL, lambda: c.mrc_ctl_query_ev_profile(ctx, 1, attr, both))
    refused(errno.EINVAL, lambda: ev_state(ctx, 0, OFFLINE))
    before = c.mrc_ctl_query_device(ctx.device).ev.ev_free_count
    set_offline(ctx, 2, 100)
    assert c.mrc_ctl_query_device(ctx.device).ev.ev_free_count == before - 100


def test_a_call_that_is_refused_changes_no_setting(ctx: v.mrc_context) -> None:
    set_format(ctx, 13, STEV, [16, 16])
    refused(errno.EINVAL, lambda: set_offline(ctx, 1, 4, fmt=99))
    attr = c.mrc_ctl_ev_profile_attr(OFFLINE, ev_fmt_profile_id=13, ev_count=2)
    mask = OFFLINE_MASK & ~c.MRC_CTL_EV_PROFILE_MODE
    assert "MODE" in str(
        refused(errno.EINVAL, lambda: c.mrc_ctl_modify_ev_profile(ctx, 1, attr, mask))
    )
    explicit(ctx, 1, [stev(1), stev(2)])
    narrow = c.mrc_ctl_ev_fields_op_attr(
        c.MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, [c.mrc_ctl_ev_field(8, 0, 0, 255, 255)]
    )
    change = c.mrc_ctl_ev_profile_attr(ev_fields_op=narrow)
    modify = lambda: c.mrc_ctl_modify_ev_profile(  # noqa: E731
        ctx, 1, change, c.MRC_CTL_EV_PROFILE_EV_FIELDS_OP
    )
    refused(errno.EINVAL, modify)
    assert [(e.ev, e.state) for e in array(ctx, 1)] == [
        (stev(1), c.MRC_CTL_EV_GOOD),
        (stev(2), c.MRC_CTL_EV_GOOD),
    ]


def test_generated_evs_take_ports_in_turn_and_fields_can_be_asked_for(ctx: v.mrc_context) -> None:
    set_format(ctx, 13, STEV, [8, 4, 4])
    fields = [c.mrc_ctl_ev_field(8, 0, 0, 179, 0xFF), c.mrc_ctl_ev_field(4, 0, 0, 15, 0xF)]
    set_offline(ctx, 1, 64, c.MRC_CTL_EV_MODE_GEN, fields)
    ev_state(ctx, 1, ONLINE)
    evs = [e.ev for e in array(ctx, 1)]
    assert len(set(evs)) == 64 and [ev.port for ev in evs[:5]] == [1, 2, 3, 4, 1]
    assert max(ev.bits(8) for ev in evs) <= 179
    attr = c.mrc_ctl_ev_profile_attr()
    c.mrc_ctl_query_ev_profile(ctx, 1, attr, c.MRC_CTL_EV_PROFILE_EV_FIELDS_OP)
    assert attr.ev_fields_op.fields == fields
    few = [c.mrc_ctl_ev_field(8, 0, 0, 2, 3)]
    call = lambda: set_offline(ctx, 2, 4, c.MRC_CTL_EV_MODE_GEN, few)  # noqa: E731
    refused(errno.EINVAL, call)


def test_a_qp_needs_profiles_that_are_online_and_keeps_them(ctx: v.mrc_context) -> None:
    lab = VerbsLab()
    a = make_end(lab.devices[0])
    set_format(a.context, 13, SRV6, [32] + [16] * 6)
    refused(errno.EINVAL, lambda: to_init(a, ev=1))
    explicit(a.context, 1, srv6_evs(lab.fabric, 0, 4))
    refused(errno.EINVAL, lambda: to_init(a, ev=1, cc=9))
    to_init(a, ev=1)
    refused(errno.EBUSY, lambda: ev_state(a.context, 1, OFFLINE))
    v.mrc_destroy_qp(a.qp)
    ev_state(a.context, 1, OFFLINE)
    ev_state(a.context, 1, INIT)


# -- congestion control -------------------------------------------------------------------------


def cc(
    ctx: v.mrc_context, number: int, state: c.mrc_ctl_profile_state, mask: int, **kwargs: object
) -> None:
    attr = c.mrc_ctl_cc_profile_attr(state, **kwargs)
    c.mrc_ctl_modify_cc_profile(ctx, number, attr, mask | c.MRC_CTL_CC_PROFILE_STATE)


ALGORITHM, CONFIG = c.MRC_CTL_CC_PROFILE_ALGORITHM, c.MRC_CTL_CC_PROFILE_CONFIG


def test_a_cc_profile_configures_nscc_of_its_qps() -> None:
    lab = VerbsLab()
    ctx = v.mrc_create_context(lab.devices[0])
    assert "uet-1.0-nscc" in c.mrc_ctl_query_device(ctx.device).cc.algorithms
    refused(errno.EINVAL, lambda: cc(ctx, 5, OFFLINE, CONFIG))
    refused(errno.EINVAL, lambda: cc(ctx, 5, OFFLINE, ALGORITHM, algorithm="cubic"))
    cc(ctx, 5, OFFLINE, ALGORITHM, algorithm="uet-1.0-nscc")
    refused(errno.EINVAL, lambda: cc(ctx, 5, ONLINE, 0))
    wrong = c.mrc_ctl_cc_nscc_cfg(gamma=2.0)
    refused(errno.EINVAL, lambda: cc(ctx, 5, ONLINE, CONFIG, cc_config=wrong))
    config = c.mrc_ctl_cc_nscc_cfg(max_cwnd=123_456, disable_qa=1)
    cc(ctx, 5, ONLINE, CONFIG, cc_config=config)
    a, _ = connected(lab, cc=5)
    control = a.qp.engine.requester.congestion
    assert type(control).__name__ == "NsccControl" and control.window == 123_456
    assert control.values.disable_qa is True
    refused(errno.EBUSY, lambda: cc(ctx, 5, OFFLINE, 0))
    attr = c.mrc_ctl_query_cc_profile(ctx, 5, c.mrc_ctl_cc_profile_attr(), ALGORITHM | CONFIG)
    assert (attr.algorithm, attr.cc_config) == ("uet-1.0-nscc", config)


def test_no_algorithm_is_no_congestion_control() -> None:
    lab = VerbsLab()
    ctx = v.mrc_create_context(lab.devices[0])
    cc(ctx, 5, OFFLINE, ALGORITHM)
    cc(ctx, 5, ONLINE, CONFIG)
    a, _ = connected(lab, cc=5)
    assert a.qp.engine.requester.congestion.can_send(1 << 50, 4096)


# -- the device ---------------------------------------------------------------------------------


def test_versions_ports_and_features_are_told(ctx: v.mrc_context) -> None:
    assert c.mrc_ctl_query_version().current_version == 0x01000001
    attr, supported = c.mrc_ctl_query_device_ex(ctx.device)
    assert supported and attr.phy_port_mask == 0b11110
    assert attr.ev.ev_fmt_mode_mask == STEV | SRV6 | UDP


def test_a_disabled_port_is_down_until_it_is_enabled(ctx: v.mrc_context) -> None:
    off = c.mrc_ctl_port_attr(c.MRC_CTL_PORT_ADMIN_DISABLED)
    c.mrc_ctl_modify_port(ctx, 2, off, c.MRC_CTL_PORT_ADMIN_STATE)
    assert c.mrc_ctl_query_port(ctx, 2) == off
    assert v.ibv_query_port(ctx.device, 2).state is v.IBV_PORT_DOWN
    ctx.device.carrier_up(1)
    assert v.ibv_query_port(ctx.device, 2).state is v.IBV_PORT_DOWN, "carrier is not enough"
    c.mrc_ctl_modify_port(ctx, 2, c.mrc_ctl_port_attr(), c.MRC_CTL_PORT_ADMIN_STATE)
    assert v.ibv_query_port(ctx.device, 2).state is v.IBV_PORT_ACTIVE
    for port in (0, 5):
        refused(errno.EINVAL, lambda port=port: c.mrc_ctl_query_port(ctx, port))
