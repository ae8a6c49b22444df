# SPDX-License-Identifier: Apache-2.0
"""Proves that the API works in real time between two processes' worth of NICs over sockets, data
and endpoint operations both."""

import random
import socket
import threading
from time import monotonic_ns

from api_lab import srv6_evs
from verbs_lab import make_end, to_init, to_rtr, to_rts, write

from endpoint import control as c
from endpoint import verbs as v
from endpoint.agent.socket_driver import SocketDriver
from endpoint.nic import Nic, NicConfig
from endpoint.qp_config import QpConfig
from topologies import load

SECOND = 1_000_000_000


def test_two_nics_write_and_probe_over_sockets() -> None:
    fabric = load("tiny")
    pairs = [
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(fabric.spec.planes)
    ]
    config = QpConfig(base_rtt_ns=20_000_000, reorder_ns=20_000_000)
    devices = []
    for index, host in enumerate((0, 3)):
        nic = Nic(NicConfig(fabric, host, config), random.Random(index))
        driver = SocketDriver(nic, [pair[index] for pair in pairs])
        devices.append(v.ibv_open_device(nic, driver))
    a, b = (make_end(device) for device in devices)
    to_init(a), to_init(b), to_rtr(a, b), to_rtr(b, a)
    for end in (a, b):
        to_rts(end, timeout=17)
    v.mrc_post_recv(b.qp, v.ibv_recv_wr(5))
    stop = threading.Event()
    other = threading.Thread(
        target=lambda: b.device.driver.wait(stop.is_set, monotonic_ns() + 20 * SECOND)
    )
    other.start()
    try:
        a.buffer[:] = random.Random(1).randbytes(len(a.buffer))
        v.mrc_post_send(a.qp, write(a, b, len(a.buffer), imm=77))
        done: list[v.ibv_wc] = []

        def finished() -> bool:
            done.extend(v.mrc_poll_cq(a.cq, 8))
            return bool(done)

        a.device.driver.wait(finished, monotonic_ns() + 20 * SECOND)
        assert [wc.status for wc in done] == [v.IBV_WC_SUCCESS]
        here, there = a.device.nic.address, b.device.nic.address
        requests = [
            c.mrc_ctl_ep_req(number, here, there, c.MRC_CTL_EV_FMT_MODE_SRV6, ev)
            for number, ev in enumerate(srv6_evs(fabric, 0, 3))
        ]
        responses = c.mrc_ctl_ep_batch_send_wait(
            a.context, 46, c.MRC_CTL_EP_OP_EV_PROBE, requests, 10 * SECOND
        )
        assert len(responses) == len(requests) and all(r.rtt > 0 for r in responses)
    finally:
        stop.set()
        pairs[0][0].send(b"")  # wakes the other side
        other.join()
    assert b.buffer == a.buffer
    (received,) = v.mrc_poll_cq(b.cq, 8)
    assert (received.wr_id, received.imm_data) == (5, 77)
    for pair in pairs:
        for end_socket in pair:
            end_socket.close()
