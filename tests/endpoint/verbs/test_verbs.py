# SPDX-License-Identifier: Apache-2.0
"""Proves that the application API moves data, checks attributes by transition, and reports as
`mrc.h` says: completions, events, errno."""

import errno
import random
from collections.abc import Callable

import pytest
from verbs_lab import (
    INIT_MASK,
    RTR_IBV,
    RTR_MASK,
    RTS_IBV,
    RTS_MASK,
    VerbsLab,
    connected,
    make_end,
    to_init,
    to_rtr,
    to_rts,
    write,
)

from endpoint import verbs as v


def refused(code: int, call: Callable[[], object]) -> v.MrcError:
    with pytest.raises(v.MrcError) as caught:
        call()
    assert caught.value.errno == code, caught.value
    return caught.value


# -- data ---------------------------------------------------------------------------------------


def test_a_write_arrives_and_completes_with_the_numbers_of_libibverbs() -> None:
    lab = VerbsLab()
    a, b = connected(lab)
    a.buffer[:] = random.Random(1).randbytes(len(a.buffer))
    v.mrc_post_send(a.qp, write(a, b, 300_000, wr_id=42))
    lab.run()
    (wc,) = v.mrc_poll_cq(a.cq, 10)
    assert (wc.wr_id, wc.status, wc.opcode) == (42, v.IBV_WC_SUCCESS, v.IBV_WC_RDMA_WRITE)
    assert (wc.qp_num, wc.byte_len) == (v.mrc_get_qpn(a.qp), 300_000)
    assert b.buffer[:300_000] == a.buffer[:300_000] and not any(b.buffer[300_000:])
    assert v.mrc_poll_cq(b.cq, 10) == []


def test_an_immediate_value_consumes_a_receive() -> None:
    lab = VerbsLab()
    a, b = connected(lab)
    v.mrc_post_recv(b.qp, [v.ibv_recv_wr(8), v.ibv_recv_wr(9)])
    v.mrc_post_send(a.qp, [write(a, b, 5_000, 1, imm=0xFFFF_FFFF), write(a, b, 0, 2, imm=0)])
    lab.run()
    first, second = v.mrc_poll_cq(b.cq, 10)
    assert [first.wr_id, second.wr_id] == [8, 9]
    assert first.opcode is v.IBV_WC_RECV_RDMA_WITH_IMM and first.wc_flags & v.IBV_WC_WITH_IMM
    assert (first.imm_data, first.byte_len) == (0xFFFF_FFFF, 5_000)
    assert (second.imm_data, second.byte_len) == (0, 0)
    assert [wc.wr_id for wc in v.mrc_poll_cq(a.cq, 10)] == [1, 2]


def test_no_more_immediates_are_in_flight_than_the_requester_may_and_order_is_kept() -> None:
    lab = VerbsLab()
    a, b = (make_end(device) for device in lab.devices)
    for end in (a, b):
        to_init(end)
    to_rtr(a, b), to_rtr(b, a)
    to_rts(a, wimm=v.mrc_qp_wimm(max_wimm=2)), to_rts(b)
    v.mrc_post_recv(b.qp, [v.ibv_recv_wr(i) for i in range(6)])
    v.mrc_post_send(a.qp, [write(a, b, 8_000, i, imm=i) for i in range(6)] + [write(a, b, 10, 9)])
    most = 0
    while lab.step(50_000_000):
        a.device.harvest()
        most = max(most, sum(work.imm is not None for work in a.qp.sends))
    assert most == 2
    assert [wc.wr_id for wc in v.mrc_poll_cq(a.cq, 10)] == [0, 1, 2, 3, 4, 5, 9]
    assert [wc.imm_data for wc in v.mrc_poll_cq(b.cq, 10)] == list(range(6))


def test_only_signaled_sends_and_failures_complete_where_not_all_are_signaled() -> None:
    lab = VerbsLab()
    a, b = connected(lab)
    a.qp.init.sq_sig_all = 0
    v.mrc_post_send(a.qp, [write(a, b, 9, 1), write(a, b, 9, 2, flags=v.IBV_SEND_SIGNALED)])
    lab.run()
    assert [wc.wr_id for wc in v.mrc_poll_cq(a.cq, 10)] == [2]
    bad = write(a, b, 9, 3)
    bad.rdma.rkey ^= 1
    v.mrc_post_send(a.qp, bad)
    lab.run()
    (wc,) = v.mrc_poll_cq(a.cq, 10)
    assert wc.status is v.IBV_WC_REM_ACCESS_ERR


def test_pieces_of_memory_are_gathered_and_inline_data_may_be_reused_at_once() -> None:
    lab = VerbsLab()
    a, b = connected(lab, max_send_sge=3, max_inline_data=64)
    a.buffer[:6] = b"abcdef"
    request = write(a, b, 0, flags=v.IBV_SEND_INLINE)
    lkey, addr = a.mr.lkey, a.mr.addr
    request.sg_list = [v.ibv_sge(addr + at, 2, lkey) for at in (4, 0, 2)]
    v.mrc_post_send(a.qp, request)
    a.buffer[:6] = b"xxxxxx"
    lab.run()
    assert b.buffer[:6] == b"efabcd"


# -- states -------------------------------------------------------------------------------------


def test_each_transition_names_the_attribute_that_is_missing() -> None:
    lab = VerbsLab()
    a, b = (make_end(device) for device in lab.devices)
    qp = a.qp
    to_init(b)

    def each(state: v.ibv_qp_state, ibv_mask: int, mrc_mask: int, attr: v.ibv_qp_attr) -> None:
        attr.qp_state = state
        for bit in v.mrc_qp_attr_mask:
            if bit & mrc_mask:
                call = lambda bit=bit: v.mrc_modify_qp(  # noqa: E731
                    qp, attr, ibv_mask, v.mrc_qp_attr(), mrc_mask & ~bit
                )
                assert str(bit.name) in str(refused(errno.EINVAL, call))
        for bit in v.ibv_qp_attr_mask:
            if bit & ibv_mask and bit is not v.IBV_QP_STATE:
                call = lambda bit=bit: v.mrc_modify_qp(  # noqa: E731
                    qp, attr, ibv_mask & ~bit, v.mrc_qp_attr(), mrc_mask
                )
                assert str(bit.name) in str(refused(errno.EINVAL, call))

    each(v.IBV_QPS_INIT, v.IBV_QP_STATE, INIT_MASK, v.ibv_qp_attr())
    assert qp.state is v.IBV_QPS_RESET
    to_init(a)
    each(v.IBV_QPS_RTR, RTR_IBV, RTR_MASK, v.ibv_qp_attr())
    assert qp.state is v.IBV_QPS_INIT
    to_rtr(a, b)
    each(v.IBV_QPS_RTS, RTS_IBV, RTS_MASK, v.ibv_qp_attr())
    assert qp.state is v.IBV_QPS_RTR
    to_rts(a)
    assert qp.state is v.IBV_QPS_RTS


@pytest.mark.parametrize(
    "bit",
    [
        v.IBV_QP_PORT, v.IBV_QP_TIMEOUT, v.IBV_QP_RETRY_CNT, v.IBV_QP_RNR_RETRY,
        v.IBV_QP_MIN_RNR_TIMER, v.IBV_QP_MAX_QP_RD_ATOMIC, v.IBV_QP_MAX_DEST_RD_ATOMIC,
        v.IBV_QP_ALT_PATH, v.IBV_QP_PATH_MIG_STATE,
    ],
)  # fmt: skip
def test_attributes_that_mrc_excludes_are_refused(bit: v.ibv_qp_attr_mask) -> None:
    a = make_end(VerbsLab().devices[0])
    attr, mask = v.ibv_qp_attr(v.IBV_QPS_INIT), v.IBV_QP_STATE | bit
    error = refused(
        errno.EINVAL, lambda: v.mrc_modify_qp(a.qp, attr, mask, v.mrc_qp_attr(), INIT_MASK)
    )
    assert str(bit.name) in str(error)


@pytest.mark.parametrize("state", list(v.ibv_qp_state))
def test_from_reset_only_init_reset_and_err_can_be_reached(state: v.ibv_qp_state) -> None:
    a = make_end(VerbsLab().devices[0])
    move = lambda: v.mrc_modify_qp(a.qp, v.ibv_qp_attr(state), v.IBV_QP_STATE)  # noqa: E731
    if state in (v.IBV_QPS_RESET, v.IBV_QPS_ERR):
        move()
        assert a.qp.state is state
    else:
        refused(errno.EINVAL, move)
        assert a.qp.state is v.IBV_QPS_RESET


@pytest.mark.parametrize(
    ("field", "attr"),
    [
        ("exponent", {"timeout": 25}),
        ("linear", {"retry": v.mrc_qp_retry(8, 0)}),
        ("exponential", {"retry": v.mrc_qp_retry(7, 26)}),
        ("mpr", {"mpr": v.mrc_qp_mpr(mpr=0)}),
        ("mpr", {"mpr": v.mrc_qp_mpr(mpr=256)}),
        ("max_wimm", {"wimm": v.mrc_qp_wimm(max_wimm=1 << 16)}),
    ],
)
def test_a_value_out_of_its_range_changes_nothing(field: str, attr: dict[str, object]) -> None:
    lab = VerbsLab()
    a, b = (make_end(device) for device in lab.devices)
    to_init(a), to_init(b), to_rtr(a, b)
    assert field in str(refused(errno.EINVAL, lambda: to_rts(a, **attr)))
    assert a.qp.state is v.IBV_QPS_RTR
    to_rts(a)


def test_query_gives_back_what_was_set() -> None:
    lab = VerbsLab()
    a, b = (make_end(device) for device in lab.devices)
    hint = v.mrc_create_qp_hint(a.context, v.mrc_qp_hint_init_attr())
    attr = v.mrc_qp_attr(qp_hint=hint)
    v.mrc_modify_qp(a.qp, v.ibv_qp_attr(v.IBV_QPS_INIT), v.IBV_QP_STATE, attr, INIT_MASK)
    to_init(b), to_rtr(a, b, 0xABCDEF, mpr=v.mrc_qp_mpr(3, 4), cap=v.MRC_QP_CAP_DYNAMIC_MPR)
    to_rts(a, 0x123456, mpr=v.mrc_qp_mpr(5, 6), timeout=12, retry=v.mrc_qp_retry(1, 25))
    vattr, mrc, init = v.mrc_query_qp(a.qp)
    assert (vattr.qp_state, vattr.rq_psn, vattr.sq_psn) == (v.IBV_QPS_RTS, 0xABCDEF, 0x123456)
    assert vattr.dest_qp_num == v.mrc_get_qpn(b.qp)
    assert (mrc.mpr.mpr, mrc.mpr.mpr_dest) == (5, 4), "the mask of RTS has no MPR_DEST"
    assert (mrc.timeout, mrc.retry) == (12, v.mrc_qp_retry(1, 25))
    assert mrc.qp_hint is hint and mrc.cap is v.MRC_QP_CAP_DYNAMIC_MPR
    assert init.send_cq is a.cq
    refused(errno.EBUSY, lambda: v.mrc_destroy_qp_hint(hint))
    v.mrc_destroy_qp(a.qp)
    v.mrc_destroy_qp_hint(hint)


def test_psns_are_those_that_were_set() -> None:
    lab = VerbsLab()
    a, b = (make_end(device) for device in lab.devices)
    to_init(a), to_init(b)
    to_rtr(a, b, 1), to_rtr(b, a, 0xFFFFFF)
    to_rts(a, 0xFFFFFF), to_rts(b, 1)
    v.mrc_post_send(a.qp, write(a, b, 9_000))
    lab.run()
    psns = [frame.psn for frame in lab.parsed(0) if frame.is_data]
    assert sorted(psns)[-1] == 0xFFFFFF and 0 in psns
    assert [wc.status for wc in v.mrc_poll_cq(a.cq, 1)] == [v.IBV_WC_SUCCESS]


def test_a_smaller_path_mtu_cuts_into_smaller_packets() -> None:
    lab = VerbsLab()
    a, b = (make_end(device) for device in lab.devices)
    to_init(a), to_init(b)
    to_rtr(a, b, mtu=v.IBV_MTU_512), to_rtr(b, a), to_rts(a), to_rts(b)
    v.mrc_post_send(a.qp, write(a, b, 5_000))
    lab.run()
    assert {f.payload_length for f in lab.parsed(0) if f.is_data} == {512, 5_000 % 512}
    assert [wc.status for wc in v.mrc_poll_cq(a.cq, 1)] == [v.IBV_WC_SUCCESS]


def test_data_is_taken_in_rtr_and_sent_in_rts_only() -> None:
    lab = VerbsLab()
    a, b = (make_end(device) for device in lab.devices)
    to_init(a), to_init(b), to_rtr(a, b), to_rtr(b, a), to_rts(a)
    refused(errno.EINVAL, lambda: v.mrc_post_send(b.qp, write(b, a, 1)))
    v.mrc_post_send(a.qp, write(a, b, 20_000))
    lab.run()
    assert [wc.status for wc in v.mrc_poll_cq(a.cq, 10)] == [v.IBV_WC_SUCCESS]


def test_err_flushes_in_order_and_reset_makes_the_qp_usable_again() -> None:
    lab = VerbsLab()
    a, b = connected(lab)
    lab.drop = lambda source, port, frame: True
    v.mrc_post_send(a.qp, [write(a, b, 100, i, imm=i) for i in range(20)])
    v.mrc_post_recv(a.qp, v.ibv_recv_wr(99))
    v.mrc_modify_qp(a.qp, v.ibv_qp_attr(v.IBV_QPS_ERR), v.IBV_QP_STATE)
    done = v.mrc_poll_cq(a.cq, 100) + v.mrc_poll_cq(a.cq, 100)
    assert {wc.status for wc in done} == {v.IBV_WC_WR_FLUSH_ERR}
    assert [wc.wr_id for wc in done if wc.wr_id != 99] == list(range(20))
    v.mrc_post_send(a.qp, write(a, b, 100, 50))
    assert [wc.wr_id for wc in v.mrc_poll_cq(a.cq, 1)] == [50]

    lab.drop = lambda source, port, frame: False
    number = v.mrc_get_qpn(a.qp)
    for end in (a, b):
        v.mrc_modify_qp(end.qp, v.ibv_qp_attr(v.IBV_QPS_RESET), v.IBV_QP_STATE)
    assert v.mrc_get_qpn(a.qp) == number and a.qp.state is v.IBV_QPS_RESET
    to_init(a), to_init(b), to_rtr(a, b, 500), to_rtr(b, a, 600), to_rts(a, 600), to_rts(b, 500)
    a.buffer[:4] = b"anew"
    v.mrc_post_send(a.qp, write(a, b, 4, 51))
    lab.run()
    assert [(wc.wr_id, wc.status) for wc in v.mrc_poll_cq(a.cq, 9)] == [(51, v.IBV_WC_SUCCESS)]
    assert b.buffer[:4] == b"anew"


# -- queues, events, life -----------------------------------------------------------------------


def test_full_queues_say_which_request_they_stopped_at() -> None:
    lab = VerbsLab()
    a, b = connected(lab, max_send_wr=2, max_recv_wr=1)
    requests = [write(a, b, 10, i) for i in range(3)]
    error = refused(errno.ENOMEM, lambda: v.mrc_post_send(a.qp, requests))
    assert error.bad_wr is requests[2]
    receives = [v.ibv_recv_wr(i) for i in range(2)]
    assert refused(errno.ENOMEM, lambda: v.mrc_post_recv(a.qp, receives)).bad_wr is receives[1]
    lab.run()
    assert [wc.wr_id for wc in v.mrc_poll_cq(a.cq, 9)] == [0, 1]
    v.mrc_post_send(a.qp, requests[2])


def test_memory_outside_of_a_region_is_refused() -> None:
    lab = VerbsLab()
    a, b = connected(lab)
    for change in ({"addr": a.mr.addr - 1}, {"length": a.mr.length + 1}, {"lkey": 0}):
        request = write(a, b, 10)
        for name, value in change.items():
            setattr(request.sg_list[0], name, value)
        refused(errno.EINVAL, lambda request=request: v.mrc_post_send(a.qp, request))
    send = write(a, b, 1)
    send.opcode = v.IBV_WR_SEND
    refused(errno.EINVAL, lambda: v.mrc_post_send(a.qp, send))


def test_an_overrun_completion_queue_ends_its_qp_and_says_so() -> None:
    lab = VerbsLab()
    a, b = connected(lab, cqe=2)
    v.mrc_post_send(a.qp, [write(a, b, 10, i) for i in range(3)])
    lab.run()
    kinds = {v.mrc_get_async_event(a.context).event_type for _ in range(2)}
    assert kinds == {v.IBV_EVENT_CQ_ERR, v.IBV_EVENT_QP_FATAL}
    assert len(v.mrc_poll_cq(a.cq, 9)) == 2 and a.qp.state is v.IBV_QPS_ERR
    refused(errno.EOVERFLOW, lambda: v.mrc_poll_cq(a.cq, 9))


def test_async_events_of_ports_and_qps_are_taken_and_acknowledged() -> None:
    lab = VerbsLab()
    a, b = connected(lab)
    refused(errno.EAGAIN, lambda: v.mrc_get_async_event(a.context))
    a.device.carrier_down(1)
    event = v.mrc_get_async_event(a.context)
    assert (event.element, event.event_type) == (2, v.IBV_EVENT_PORT_ERR)
    assert v.ibv_query_port(a.device, 2).state is v.IBV_PORT_DOWN
    a.device.carrier_up(1)
    assert v.mrc_get_async_event(a.context).event_type is v.IBV_EVENT_PORT_ACTIVE
    bad = write(a, b, 10)
    bad.rdma.rkey ^= 1
    v.mrc_post_send(a.qp, bad)
    lab.run()
    event = v.mrc_get_async_event(a.context)
    assert event.element is a.qp and event.event_type is v.IBV_EVENT_QP_FATAL
    refused(errno.EBUSY, lambda: v.mrc_destroy_qp(a.qp))
    v.mrc_ack_async_event(event)
    refused(errno.EINVAL, lambda: v.mrc_ack_async_event(event))
    v.mrc_destroy_qp(a.qp)


def test_a_completion_channel_announces_once_for_each_request() -> None:
    lab = VerbsLab()
    a, b = connected(lab)
    channel = v.mrc_create_comp_channel(a.context)
    cq = v.mrc_create_cq(a.context, 16, "mine", channel)
    a.qp.init.send_cq = cq
    v.mrc_req_notify_cq(cq)
    v.mrc_post_send(a.qp, [write(a, b, 10, i) for i in range(3)])
    lab.run()
    assert v.mrc_get_cq_event(channel) == (cq, "mine")
    refused(errno.EAGAIN, lambda: v.mrc_get_cq_event(channel))
    refused(errno.EBUSY, lambda: v.mrc_destroy_cq(cq))
    v.mrc_ack_cq_events(cq, 1)
    refused(errno.EBUSY, lambda: v.mrc_destroy_comp_channel(channel))
    refused(errno.ENOTSUP, lambda: v.mrc_get_comp_channel_fd(channel))
    v.mrc_destroy_cq(cq)
    v.mrc_destroy_comp_channel(channel)


def test_objects_are_destroyed_from_the_leaves() -> None:
    lab = VerbsLab()
    a, _ = connected(lab)
    refused(errno.EBUSY, lambda: v.mrc_destroy_context(a.context))
    refused(errno.EBUSY, lambda: v.mrc_destroy_cq(a.cq))
    refused(errno.EBUSY, lambda: v.ibv_dealloc_pd(a.pd))
    v.mrc_destroy_qp(a.qp)
    refused(errno.EINVAL, lambda: v.mrc_destroy_qp(a.qp))
    v.mrc_destroy_cq(a.cq)
    v.ibv_dereg_mr(a.pd, a.mr)
    v.ibv_dealloc_pd(a.pd)
    v.mrc_destroy_context(a.context)
    refused(errno.EINVAL, lambda: v.mrc_destroy_context(a.context))


def test_versions_and_the_device_are_told() -> None:
    versions = v.mrc_query_version()
    assert versions.current_version == v.MRC_API_VER(1, 0, 1) == 0x01000001
    device = VerbsLab().devices[0]
    attr, supported = v.mrc_query_device_ex(device)
    assert supported and attr.mpr_attr.max_mpr == 255
    assert attr.cap & v.MRC_DEVICE_CAP_TRIM_NACK and not attr.cap & v.MRC_DEVICE_CAP_SVC_TIME
    for wanted in (0, v.MRC_API_VER(1, 0, 0), v.MRC_API_VER_LATEST):
        v.mrc_destroy_context(v.mrc_create_context(device, v.mrc_context_attr(wanted)))
    newer = v.mrc_context_attr(v.MRC_API_VER(2, 0, 0))
    refused(errno.EINVAL, lambda: v.mrc_create_context(device, newer))


def test_hints_are_kept_and_checked() -> None:
    context = v.mrc_create_context(VerbsLab().devices[0])
    first = v.mrc_qp_hint_attr(num_qps_per_peer=2, num_send_peers=3)
    hint = v.mrc_create_qp_hint(context, v.mrc_qp_hint_init_attr(first))
    change = v.mrc_qp_hint_attr(num_qps_per_peer=7, num_send_peers=9)
    v.mrc_modify_qp_hint(hint, change, v.MRC_QP_HINT_NUM_SEND_PEERS)
    attr = v.mrc_query_qp_hint(hint)
    assert (attr.num_qps_per_peer, attr.num_send_peers) == (2, 9)
    refused(errno.EINVAL, lambda: v.mrc_modify_qp_hint(hint, change, 1 << 20))
    v.mrc_destroy_qp_hint(hint)
