# SPDX-License-Identifier: Apache-2.0
"""A NIC probes each T0 and its share of T1s at the set rate, over the addresses that lead there and
back, and settles every probe exactly once: back in time, or lost."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.link_prober import LinkProber, LoopOutcome, ProberConfig
from endpoint.nic import Nic, NicConfig
from endpoint.wire.dscp import DscpMap
from endpoint.wire.endpoint_message import OP_EV_PROBE, EndpointRequest
from endpoint.wire.frame import ParsedFrame, parse_frame
from topologies import Fabric, load

CONFIG = ProberConfig(interval_ns=1000, timeout_ns=400)
ROOM = [0, 0]


def nic(fabric: Fabric | None = None, host: int = 0) -> Nic:
    return Nic(NicConfig(fabric or load("tiny"), host), random.Random(1))


def sent(nic: Nic, now_ns: int) -> list[tuple[int, bytes]]:
    return [(port, frame) for port, frame, _ in nic.frames_to_send(now_ns, ROOM)]


def run(nic: Nic, prober: LinkProber, until_ns: int) -> list[tuple[int, int, bytes]]:
    """(time, port, frame) of everything that is sent up to a time."""
    frames = []
    while (due := nic.next_timer_ns()) is not None and due <= until_ns:
        nic.on_timer(due)
        frames += [(due, port, frame) for port, frame in sent(nic, due)]
    return frames


def parsed(nic: Nic, frame: bytes) -> ParsedFrame:
    return parse_frame(frame, DscpMap(**nic.fabric.dscp.model_dump()))


@pytest.mark.fact("map.probes")
def test_every_loop_is_probed_once_an_interval_spread_evenly() -> None:
    one = nic()
    prober = one.probe_links(CONFIG, 0)
    frames = run(one, prober, 2999)
    times = [at for at, _, _ in frames]
    assert len(frames) == 3 * 2 * 3  # intervals, planes, T0 and two T1s
    assert times == sorted(times) and len(set(times)) == len(times)
    for first in (0, 1000, 2000):
        routes = Counter(
            (port, parsed(one, frame).outer_da)
            for at, port, frame in frames
            if first <= at < first + 1000
        )
        here, back = (one.fabric.loop_template(0, by_t1=by) for by in (False, True))
        wanted = {(p, here.address(p, 0)) for p in range(2)}
        wanted |= {(p, back.address(p, t1)) for p in range(2) for t1 in range(2)}
        assert routes == Counter(wanted)


def test_a_probe_is_an_ev_probe_to_oneself_on_the_control_class() -> None:
    one = nic()
    prober = one.probe_links(CONFIG, 0)
    frame = parsed(one, run(one, prober, 0)[0][2])
    assert frame.src == frame.dst == one.address
    assert frame.dest_qp == 2
    assert isinstance(frame.endpoint, EndpointRequest) and frame.endpoint.op == OP_EV_PROBE
    assert frame.outer_dscp == one.fabric.dscp.control
    assert frame.check_icrc()


@pytest.mark.fact("map.probes")
def test_a_share_of_t1s_comes_round_in_turn() -> None:
    fabric = load("rack16")
    one = nic(fabric)
    prober = one.probe_links(ProberConfig(1000, 400, t1_share=0.25), 0)
    run(one, prober, 4000)
    loops = Counter((o.plane, o.t1) for o in prober.take())
    assert loops[0, None] == 4
    assert [loops[0, t1] for t1 in range(fabric.spec.t1s)] == [1] * fabric.spec.t1s


def test_what_comes_back_in_time_has_its_round_trip_and_the_rest_is_lost() -> None:
    one = nic()
    prober = one.probe_links(CONFIG, 0)
    (_, port, frame), *others = run(one, prober, 300)
    assert prober.take() == []
    one.receive(port, frame, 350)
    (back,) = prober.take()
    assert back.rtt_ns == 350 and back.sent_ns == 0 and back.host == 0
    run(one, prober, 800)
    lost = prober.take()
    assert [o.rtt_ns for o in lost] == [None] * len(lost)
    assert len(lost) >= len(others)
    one.receive(port, others[0][2], 800)  # too late, and settled already
    assert prober.take() == []


def test_a_probe_on_another_plane_than_it_was_sent_on_is_not_taken() -> None:
    one = nic()
    prober = one.probe_links(CONFIG, 0)
    ((_, port, frame),) = run(one, prober, 0)
    one.receive(1 - port, frame, 100)
    assert prober.take() == [] and one.stats.wrong_peer == 1


def test_a_port_that_is_down_loses_its_loops_at_once_and_sends_none() -> None:
    one = nic()
    prober = one.probe_links(CONFIG, 0)
    one.port_down(1, 0)
    frames = run(one, prober, 999)
    assert {port for _, port, _ in frames} == {0}
    assert {o.plane for o in prober.take() if o.rtt_ns is None and o.plane == 1} == {1}


def test_a_nic_that_does_not_probe_takes_no_loop() -> None:
    one, other = nic(), nic()
    prober = one.probe_links(CONFIG, 0)
    ((_, port, frame),) = run(one, prober, 0)
    other.receive(port, frame, 100)
    assert other.stats.wrong_peer == 1
    assert sent(other, 100) == []


@given(st.integers(0, 1 << 30), st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 700))
def test_every_probe_is_settled_exactly_once(seed: int, loss: float, trip: int) -> None:
    rng = random.Random(seed)
    one = nic()
    prober = one.probe_links(CONFIG, 0)
    flying: list[tuple[int, int, bytes]] = []
    count = 0
    outcomes: list[LoopOutcome] = []
    now = 0
    while now < 6000:
        timer = one.next_timer_ns()
        assert timer is not None
        arrival = min(flying, default=None)
        if arrival is not None and arrival[0] <= timer:
            flying.remove(arrival)
            now = max(now, arrival[0])
            one.receive(arrival[1], arrival[2], now)
        else:
            now = max(now, timer)
            one.on_timer(now)
        for port, frame in sent(one, now):
            count += 1
            if rng.random() >= loss:
                flying.append((now + rng.randrange(trip) + 1, port, frame))
                if rng.random() < 0.1:  # duplicated on the way
                    flying.append((now + rng.randrange(trip) + 1, port, frame))
        outcomes += prober.take()
    assert len(set(outcomes)) == len(outcomes)
    assert count - len(outcomes) <= 6  # those of the last timeout
    for outcome in outcomes:
        assert outcome.rtt_ns is None or 0 < outcome.rtt_ns < CONFIG.timeout_ns


@pytest.mark.parametrize("values", [(0, 1, 1.0), (1, 0, 1.0), (1, 1, 1.5), (1, 1, -0.1)])
def test_settings_out_of_range_are_refused(values: tuple[int, int, float]) -> None:
    with pytest.raises(ValueError, match=r"prober|share"):
        ProberConfig(*values)
