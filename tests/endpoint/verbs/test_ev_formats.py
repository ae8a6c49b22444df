# SPDX-License-Identifier: Apache-2.0
"""Proves what EV profiles make of packets: STEV and UDP without an outer header, SRv6 whole and
completed, one-segment SRH; and that health, DENY and replacement work in each format."""

import errno

import pytest
from api_lab import (
    array,
    ev_state,
    explicit,
    operate,
    refused,
    set_format,
    set_offline,
    srv6_evs,
)
from verbs_lab import VerbsLab, connected, write

from endpoint import control as c
from endpoint import verbs as v
from topologies.sids import TIER_NIC, TIER_T0, TIER_T1, address_int, usid

STEV, SRV6, UDP = c.mrc_ctl_ev_fmt_mode
Ev = c.mrc_ctl_ev


def transfer(lab: VerbsLab, number: int, size: int = 200_000):
    """A write over the EV profile; the two ends and the data packets that were sent."""
    a, b = connected(lab, ev=number)
    a.buffer[:size] = bytes(i * 7 & 0xFF for i in range(size))
    v.mrc_post_send(a.qp, write(a, b, size))
    lab.run()
    assert [wc.status for wc in v.mrc_poll_cq(a.cq, 9)] == [v.IBV_WC_SUCCESS]
    assert b.buffer[:size] == a.buffer[:size]
    return a, b, [frame for frame in lab.parsed(0) if frame.is_data]


def context(lab: VerbsLab) -> v.mrc_context:
    return v.mrc_create_context(lab.devices[0])


def is_plain(frame: object) -> bool:
    return frame.outer_da == frame.dst and frame.frame[14 + 6] == 17  # type: ignore[attr-defined]


@pytest.mark.fact("ev.stev")
def test_stev_packets_have_one_ip_header_and_the_ev_in_port_and_flow_label() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, STEV, [16, 16])
    evs = [Ev.of((i + 1) << 16 | i, 32, i % 4 + 1) for i in range(16)]
    explicit(ctx, 1, evs)
    _, _, data = transfer(lab, 1)
    assert all(is_plain(frame) for frame in data)
    assert {frame.ev for frame in data} == {(i + 1) << 16 | i for i in range(16)}
    ports = {frame.ev: port for source, port, raw in lab.sent if source == 0 for frame in data
             if frame.frame == raw}  # fmt: skip
    assert all(port == (ev & 0xFFFF) % 4 for ev, port in ports.items())


@pytest.mark.fact("ev.udp")
def test_udp_evs_are_the_source_port_alone() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, UDP, [8, 8])
    fields = [c.mrc_ctl_ev_field(8, 0xC0), c.mrc_ctl_ev_field(8, 0, 0, 31, 0x1F)]
    set_offline(ctx, 1, 32, c.MRC_CTL_EV_MODE_GEN, fields)
    ev_state(ctx, 1, c.MRC_CTL_PROFILE_ONLINE)
    _, _, data = transfer(lab, 1)
    assert {frame.udp_sport for frame in data} <= {0xC000 + i for i in range(32)}
    assert len({frame.udp_sport for frame in data}) > 24
    assert {frame.ev & 0xFFFF for frame in data} == {0} and all(is_plain(frame) for frame in data)


def test_a_dead_stev_path_is_retired_by_its_own_value() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, STEV, [32])
    evs = [Ev.of(0x1000 + i, 32, i % 4 + 1) for i in range(16)]
    explicit(ctx, 1, evs)
    cq = c.mrc_ctl_create_ev_event_cq(ctx, 64)
    a, b = connected(lab, ev=1)
    dscp = lab.nics[0].dscp
    from endpoint.wire.frame import parse_frame

    lab.drop = lambda source, port, raw: parse_frame(raw, dscp).ev == 0x1005
    v.mrc_post_send(a.qp, write(a, b, 1 << 20))
    lab.run(2_000_000)
    assert [wc.status for wc in v.mrc_poll_cq(a.cq, 9)] == [v.IBV_WC_SUCCESS]
    bad = [entry.ev for entry in array(ctx, 1) if entry.state is c.MRC_CTL_EV_ASSUMED_BAD]
    assert bad == [evs[5]]
    events = c.mrc_ctl_poll_ev_event(cq, 99)
    assert [(e.profile_id, e.ev, e.state) for e in events] == [
        (1, evs[5], c.MRC_CTL_EV_ASSUMED_BAD)
    ]
    lab.drop = lambda source, port, raw: False
    lab.run(20_000_000)
    assert {entry.state for entry in array(ctx, 1)} == {c.MRC_CTL_EV_GOOD}
    assert [e.state for e in c.mrc_ctl_poll_ev_event(cq, 99)] == [c.MRC_CTL_EV_GOOD]


@pytest.mark.fact("ev.srv6-format")
def test_explicit_srv6_evs_are_the_outer_addresses() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, SRV6, [32] + [16] * 4)
    evs = srv6_evs(lab.fabric, 0, 4)[::2]
    explicit(ctx, 1, evs)
    _, _, data = transfer(lab, 1)
    assert {frame.outer_da for frame in data} == {ev.val[:16] for ev in evs}


def test_generated_srv6_evs_get_plane_and_last_hops_from_the_nic() -> None:
    lab = VerbsLab()
    fabric, ctx = lab.fabric, context(lab)
    set_format(ctx, 13, SRV6, [32] + [16] * 4)
    last = fabric.spec.t1s - 1
    fields = [
        c.mrc_ctl_ev_field(32, fabric.sid_block),
        c.mrc_ctl_ev_field(16, usid(0, TIER_T0, 0)),
        c.mrc_ctl_ev_field(16, usid(0, TIER_T1, 0), 0, last, (1 << last.bit_length()) - 1),
    ]
    planes = fabric.spec.planes
    set_offline(ctx, 1, planes * fabric.spec.t1s, c.MRC_CTL_EV_MODE_GEN, fields)
    ev_state(ctx, 1, c.MRC_CTL_PROFILE_ONLINE)
    _, _, data = transfer(lab, 1, 400_000)
    whole = {ev.val[:16] for ev in srv6_evs(fabric, 0, 4)}
    assert {frame.outer_da for frame in data} == whole


def segmented(lab: VerbsLab) -> list[c.mrc_ctl_ev]:
    """T0 and T1 in the address, T0 and NIC in the segment."""
    fabric = lab.fabric
    there = fabric.hosts[4]
    evs = []
    for plane in range(fabric.spec.planes):
        first = address_int(
            fabric.sid_block, usid(plane, TIER_T0, fabric.hosts[0].t0), usid(plane, TIER_T1, 1)
        )
        second = address_int(
            fabric.sid_block, usid(plane, TIER_T0, there.t0), usid(plane, TIER_NIC, there.downlink)
        )
        evs.append(Ev(first.to_bytes(16, "big") + second.to_bytes(16, "big"), plane + 1))
    return evs


@pytest.mark.fact("ev.srh-format")
def test_srv6_with_a_segment_has_an_srh() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, SRV6, [32] + [16] * 6 + [32] + [16] * 4)
    evs = segmented(lab)
    explicit(ctx, 1, evs)
    _, _, data = transfer(lab, 1)
    assert {frame.outer_da for frame in data} == {ev.val[:16] for ev in evs}
    assert all(frame.segments_left == 1 for frame in data)
    assert {frame.frame[54 + 8 : 54 + 24] for frame in data} == {ev.val[16:] for ev in evs}


def test_an_address_of_another_plane_than_its_port_is_refused() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, SRV6, [32] + [16] * 4)
    set_offline(ctx, 1, 1)
    ev = srv6_evs(lab.fabric, 0, 4)[-1]
    entry = c.mrc_ctl_ev_op_entry(c.MRC_CTL_EV_UNPOPULATED, Ev(ev.val, ev.port - 1))
    refused(errno.EINVAL, lambda: operate(ctx, 1, c.MRC_CTL_EV_OP_REPLACE_EV, entry))


def test_a_denied_ev_carries_nothing_also_of_qps_that_come_later() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, SRV6, [32] + [16] * 4)
    evs = srv6_evs(lab.fabric, 0, 4)
    explicit(ctx, 1, evs)
    entry = c.mrc_ctl_ev_op_entry(evs[0], state=c.MRC_CTL_EV_DENIED)
    operate(ctx, 1, c.MRC_CTL_EV_OP_MODIFY_EV_STATE, entry)
    a, b, data = transfer(lab, 1, 400_000)
    assert {frame.outer_da for frame in data} == {ev.val[:16] for ev in evs[1:]}
    entry.ev = evs[1]
    operate(ctx, 1, c.MRC_CTL_EV_OP_MODIFY_EV_STATE, entry)
    entry.ev, entry.state = evs[0], c.MRC_CTL_EV_GOOD
    operate(ctx, 1, c.MRC_CTL_EV_OP_MODIFY_EV_STATE, entry)
    lab.sent.clear()
    v.mrc_post_send(a.qp, write(a, b, 400_000))
    lab.run()
    used = {frame.outer_da for frame in lab.parsed(0) if frame.is_data}
    assert used == {ev.val[:16] for ev in [evs[0], *evs[2:]]}


def test_an_ev_can_be_replaced_under_a_qp_that_uses_it() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, SRV6, [32] + [16] * 4)
    evs = srv6_evs(lab.fabric, 0, 4)
    used, spare = evs[::2], evs[1]
    explicit(ctx, 1, used)
    a, b, _ = transfer(lab, 1)
    entry = c.mrc_ctl_ev_op_entry(used[0], spare)
    operate(ctx, 1, c.MRC_CTL_EV_OP_REPLACE_EV, entry)
    lab.sent.clear()
    v.mrc_post_send(a.qp, write(a, b, 400_000))
    lab.run()
    data = {frame.outer_da for frame in lab.parsed(0) if frame.is_data}
    assert data == {ev.val[:16] for ev in [spare, *used[1:]]}
    assert [wc.status for wc in v.mrc_poll_cq(a.cq, 9)] == [v.IBV_WC_SUCCESS]
    other_port = c.mrc_ctl_ev_op_entry(spare, evs[-1])
    refused(errno.EINVAL, lambda: operate(ctx, 1, c.MRC_CTL_EV_OP_REPLACE_EV, other_port))


@pytest.mark.fact("ev.min-active")
def test_ev_min_active_is_the_floor_of_its_qps() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, SRV6, [32] + [16] * 4)
    explicit(ctx, 1, srv6_evs(lab.fabric, 0, 4), min_active=7)
    a, _ = connected(lab, ev=1)
    evs = a.qp.engine.evs
    for ev in evs.active():
        evs.retire(ev, lab.now)
    assert len(evs.active()) == 7


@pytest.mark.fact("ev.events")
def test_a_full_event_queue_counts_what_it_drops() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    set_format(ctx, 13, SRV6, [32] + [16] * 4)
    evs = srv6_evs(lab.fabric, 0, 4)
    explicit(ctx, 1, evs)
    cq = c.mrc_ctl_create_ev_event_cq(ctx, 2)
    connected(lab, ev=1)

    def bad(ev: c.mrc_ctl_ev) -> None:
        entry = c.mrc_ctl_ev_op_entry(ev, state=c.MRC_CTL_EV_ASSUMED_BAD)
        operate(ctx, 1, c.MRC_CTL_EV_OP_MODIFY_EV_STATE, entry)

    for ev in evs[:5]:
        bad(ev)
    assert [(e.ev, e.drop_count) for e in c.mrc_ctl_poll_ev_event(cq, 9)] == [
        (evs[0], 0), (evs[1], 0)
    ]  # fmt: skip
    bad(evs[5])
    bad(evs[6])
    assert [(e.ev, e.drop_count) for e in c.mrc_ctl_poll_ev_event(cq, 9)] == [
        (evs[5], 3), (evs[6], 0)
    ]  # fmt: skip
    refused(errno.EINVAL, lambda: c.mrc_ctl_poll_ev_event(v.mrc_create_cq(ctx, 1), 1))
    v.mrc_destroy_cq(cq)


# -- endpoint operations ------------------------------------------------------------------------


def request(lab: VerbsLab, number: int, ev: c.mrc_ctl_ev, mode=SRV6, status: int = 0):
    here, there = (v.ibv_query_gid(device, 1, 0) for device in lab.devices)
    return c.mrc_ctl_ep_req(number, here, there, mode, ev, status)


@pytest.mark.fact("probe.ev-probe")
@pytest.mark.parametrize("with_qp", [False, True])
def test_ev_probes_are_answered_with_and_without_a_connection(with_qp: bool) -> None:
    lab = VerbsLab()
    ctx = context(lab)
    if with_qp:
        connected(lab)
    evs = srv6_evs(lab.fabric, 0, 4)[:: lab.fabric.spec.t1s]
    requests = [request(lab, 10 + i, ev) for i, ev in enumerate(evs)]
    requests.append(request(lab, 99, Ev.of(0x12345678, 32, 2), STEV))
    responses = c.mrc_ctl_ep_batch_send_wait(ctx, 0, c.MRC_CTL_EP_OP_EV_PROBE, requests, 2_000_000)
    assert {(r.req_id, r.port) for r in responses} == {
        *((10 + i, ev.port) for i, ev in enumerate(evs)), (99, 2)
    }  # fmt: skip
    assert {r.rtt for r in responses} == {2 * lab.delay}
    refused(
        errno.EINVAL,
        lambda: c.mrc_ctl_ep_batch_send_wait(
            ctx, 0, c.MRC_CTL_EP_OP_EV_PROBE, [requests[0]] * 2, 1
        ),
    )


def test_missing_responses_are_a_timeout_that_carries_the_others() -> None:
    lab = VerbsLab()
    ctx = context(lab)
    lab.drop = lambda source, port, frame: port == 1
    evs = srv6_evs(lab.fabric, 0, 4)[:: lab.fabric.spec.t1s]
    requests = [request(lab, i, ev) for i, ev in enumerate(evs)]
    before = lab.now
    error = refused(
        errno.ETIMEDOUT,
        lambda: c.mrc_ctl_ep_batch_send_wait(ctx, 46, c.MRC_CTL_EP_OP_EV_PROBE, requests, 100_000),
    )
    assert sorted(r.req_id for r in error.responses) == [0, 2, 3]
    assert lab.now == before + 100_000


def test_a_port_status_update_reaches_the_peer_of_a_connection() -> None:
    lab = VerbsLab()
    a, b = connected(lab)
    ev = srv6_evs(lab.fabric, 0, 4)[0]
    update = request(lab, 5, ev, status=0b10110)
    (response,) = c.mrc_ctl_ep_batch_send_wait(
        a.context, 46, c.MRC_CTL_EP_OP_PORT_STATUS_UPDATE, [update], 1_000_000
    )
    assert response.req_id == 5
    assert b.qp.engine.evs.usable_planes() == [0, 1, 3]
    lab2 = VerbsLab()
    refused(
        errno.ETIMEDOUT,
        lambda: c.mrc_ctl_ep_batch_send_wait(
            context(lab2), 46, c.MRC_CTL_EP_OP_PORT_STATUS_UPDATE, [update], 100_000
        ),
    )
