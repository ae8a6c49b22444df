# SPDX-License-Identifier: Apache-2.0
"""Proves how an algorithm is chosen and set up, and that the receiver's brake reaches it."""

import random
from pathlib import Path

import pytest

from endpoint import congestion
from endpoint.congestion import (
    NSCC,
    CongestionParameters,
    FixedWindow,
    FixedWindowConfig,
    NsccConfig,
    NsccControl,
    WindowControl,
)
from endpoint.memory import Access
from endpoint.nic import Nic, NicConfig
from endpoint.qp_config import QpConfig
from endpoint.queue_pair import QueuePair
from testbed.scenario import ScenarioError, parse_scenario
from topologies import load

PARAMETERS = CongestionParameters(mtu=4_188, base_rtt_ns=5_423, link_rate_bps=400_000_000_000)


def test_the_names() -> None:
    assert congestion.names() == ["fixed-window", "nscc", "uet-1.0-nscc", "window"]
    assert NSCC == "uet-1.0-nscc"
    for name, kind in (
        ("window", WindowControl), ("nscc", NsccControl), (NSCC, NsccControl),
        ("fixed-window", FixedWindow),
    ):  # fmt: skip
        assert type(congestion.create(name, PARAMETERS)) is kind


def test_settings_come_by_name_and_strange_ones_are_refused_by_name() -> None:
    config = congestion.configure(NSCC, {"qa_gate": 2, "gamma": 0.5})
    assert config == NsccConfig(qa_gate=2, gamma=0.5)
    made = congestion.create(NSCC, PARAMETERS, config)
    assert isinstance(made, NsccControl)
    assert (made.values.qa_gate, made.values.gamma) == (2, 0.5)
    assert congestion.configure("window", {}) is None
    with pytest.raises(ValueError, match="no setting 'alpha'"):
        congestion.configure(NSCC, {"alpha": 1})
    with pytest.raises(ValueError, match=r"'window' has no setting 'gamma' \(it has none\)"):
        congestion.configure("window", {"gamma": 0.5})
    with pytest.raises(ValueError, match="settings of type NsccConfig, not none"):
        congestion.create("window", PARAMETERS, NsccConfig())
    with pytest.raises(ValueError, match="settings of type NsccConfig, not FixedWindowConfig"):
        congestion.create("fixed-window", PARAMETERS, NsccConfig())


def test_a_fixed_window_is_a_bandwidth_delay_product_or_what_is_set_and_never_moves() -> None:
    assert FixedWindow(PARAMETERS).window == PARAMETERS.bdp
    assert FixedWindow(PARAMETERS, FixedWindowConfig(window=1)).window == PARAMETERS.mtu
    fixed = FixedWindow(PARAMETERS, FixedWindowConfig(window=50_000))
    fixed.on_ack(1, 4_188, 4_188, 99_999, True, 127, False, 0)
    fixed.on_nack(2, 4_188, True, 0)
    fixed.on_loss(3, 4_188)
    fixed.on_timeout(4, 40_000)
    assert fixed.window == 50_000
    with pytest.raises(ValueError, match="fixed-window: a window of 0 B"):
        FixedWindowConfig(window=0)


def two_nics() -> tuple[Nic, Nic]:
    fabric = load("demo")
    near, far = (Nic(NicConfig(fabric, i), random.Random(i)) for i in (0, 4))
    return near, far


def connected(
    config: QpConfig, peer: int, nics: tuple[Nic, Nic] | None = None
) -> tuple[QueuePair, QueuePair]:
    near = nics[0] if nics else Nic(NicConfig(load("demo"), 0), random.Random(0))
    far = nics[1] if nics else Nic(NicConfig(load("demo"), peer), random.Random(1))
    a, b = near.create_qp(config), far.create_qp(config)
    a.connect(b.info(), 0)
    b.connect(a.info(), 0)
    return a, b


def test_a_queue_pair_has_what_its_settings_name() -> None:
    config = QpConfig(congestion=NSCC, congestion_config=NsccConfig(qa_gate=1))
    control = connected(config, 4)[0].requester.congestion
    assert isinstance(control, NsccControl)
    fabric = load("demo")
    values = control.values
    assert values.qa_gate == 1
    assert values.base_rtt == values.peer_rtt == fabric.base_rtt_ns()
    assert values.min_cwnd == 4_096 + 92
    assert values.max_cwnd == 4 * fabric.nic_rate_bps * values.base_rtt // 8_000_000_000 * 3 // 2
    assert values.fi / 5 == pytest.approx(4_096 * 400 * values.base_rtt / (100 * 12_000))
    assert isinstance(connected(QpConfig(), 4)[0].requester.congestion, WindowControl)
    with pytest.raises(ValueError, match="'cubic' is unknown; known are: fixed-window, nscc"):
        connected(QpConfig(congestion="cubic"), 4)


def test_a_peer_under_the_same_t0_is_nearer_unless_the_round_trip_is_set() -> None:
    near = connected(QpConfig(congestion=NSCC), 1)[0].requester.congestion
    told = connected(QpConfig(congestion=NSCC, base_rtt_ns=9_000), 1)[0].requester.congestion
    assert isinstance(near, NsccControl) and isinstance(told, NsccControl)
    assert near.values.peer_rtt == load("demo").base_rtt_ns(same_t0=True) < near.values.base_rtt
    assert told.values.peer_rtt == told.values.base_rtt == 9_000


def scenario(**endpoint: object) -> object:
    document = {
        "name": "s",
        "description": "d",
        "topology": "tiny",
        "duration": "1ms",
        "workload": {"kind": "permutation", "messages": 1},
        "endpoint": endpoint,
    }
    return parse_scenario(document, source="s.yaml", folder=Path("."))


def test_a_scenario_chooses_by_the_same_names() -> None:
    assert scenario().endpoint.congestion == "window"  # type: ignore[attr-defined]
    chosen = scenario(congestion="nscc", congestion_settings={"fi": 5.5, "disable_qa": True})
    assert chosen.endpoint.congestion_settings == {"fi": 5.5, "disable_qa": True}  # type: ignore[attr-defined]
    for endpoint, message in (
        ({"congestion": "cubic"}, "s.yaml: endpoint: congestion control 'cubic' is unknown"),
        ({"congestion_settings": {"fi": 1}}, "'window' has no setting 'fi'"),
        (
            {"congestion": "nscc", "congestion_settings": {"gamma": 3}},
            "s.yaml: endpoint: nscc: gamma 3 is above 1",
        ),
    ):
        with pytest.raises(ScenarioError, match=message):
            scenario(**endpoint)


def test_the_receivers_brake_takes_of_the_senders_window_and_gives_back() -> None:
    nics = two_nics()
    a, b = connected(QpConfig(congestion=NSCC), 4, nics)
    region = nics[1].register_memory(bytearray(40_000), Access.REMOTE_WRITE)
    start = a.requester.congestion.window
    windows = []
    for round_trip, penalty in enumerate((0, 127, 0)):
        b.responder.set_brake(penalty)
        now = 100_000 * (1 + round_trip)
        a.post_write(round_trip, bytes(40_000), region.va, region.rkey, now_ns=now)
        exchange(nics, now)
        windows.append(a.requester.congestion.window)
    assert windows[0] == windows[2] == start
    assert 36_000 < start - windows[1] < 42_000  # ten packets' bytes, less what it grew again
    with pytest.raises(ValueError, match=r"brake 128 is outside 0\.\.127"):
        b.responder.set_brake(128)


def exchange(nics: tuple[Nic, Nic], now: int) -> None:
    """Everything there and back, until nothing more comes."""
    room = [100] * 4
    for step in range(10):
        for source, target in (nics, nics[::-1]):
            for port, frame, _ in source.frames_to_send(now + step * 2_700, room):
                target.receive(port, frame, now + (step + 1) * 2_700)
