# SPDX-License-Identifier: Apache-2.0
"""Proves that NSCC senders share one queue evenly, keep it busy and short, marked or not."""

import pytest
from bottleneck import PACKET, RATE_BPS, Bottleneck, Sender

from endpoint.congestion import CongestionParameters, FixedWindow, NsccConfig, NsccControl
from testbed.measure import jain_index

BASE = 5_423
SETTLE, END = 1_000_000, 4_000_000
PARAMETERS = CongestionParameters(PACKET, BASE, RATE_BPS, payload=4_096)


def senders(count: int, config: NsccConfig | None = None) -> list[Sender]:
    return [Sender(NsccControl(PARAMETERS, config), BASE) for _ in range(count)]


def settled(network: Bottleneck) -> Bottleneck:
    network.run(SETTLE)
    network.run(END)
    return network


def shares(network: Bottleneck) -> float:
    index = jain_index([sender.delivered for sender in network.senders])
    assert index is not None
    return index


@pytest.mark.parametrize(
    ("count", "fair"),
    [(2, 0.98), (3, 0.98), (7, 0.98), (12, 0.95)],  # of 12 some have two packets out, some three
)
def test_where_the_last_hop_is_silent(count: int, fair: float) -> None:
    network = settled(Bottleneck(senders(count)))
    assert network.utilisation(END - SETTLE) > 0.95
    assert shares(network) > fair
    assert network.depth_p99() < network.trim_at
    assert sum(sender.trimmed for sender in network.senders) == 0


@pytest.mark.parametrize("count", [2, 4])
def test_by_the_table_alone_where_the_queue_marks(count: int) -> None:
    config = NsccConfig(silent_last_hop=False)
    network = settled(Bottleneck(senders(count, config), trim_at=24, marks=(3, 13)))
    assert network.utilisation(END - SETTLE) > 0.95
    assert shares(network) > 0.95
    assert network.depth_p99() < network.trim_at


def test_by_the_table_alone_a_silent_queue_is_only_held_by_trims() -> None:
    network = settled(Bottleneck(senders(7, NsccConfig(silent_last_hop=False))))
    assert network.depth_p99() == network.trim_at
    assert sum(sender.trimmed for sender in network.senders) > 100


def test_a_fixed_window_is_held_by_trims_for_ever() -> None:
    network = settled(Bottleneck([Sender(FixedWindow(PARAMETERS), BASE) for _ in range(7)]))
    assert sum(sender.trimmed for sender in network.senders) > 10_000
    assert network.utilisation(END - SETTLE) > 0.95


def test_a_late_comer_gets_its_share() -> None:
    early = senders(3)
    network = Bottleneck(early)
    network.run(SETTLE)
    network.senders.extend(senders(1))
    network.run(2 * SETTLE)
    network.run(END)
    assert shares(network) > 0.98


def test_near_and_far_senders_get_about_the_same() -> None:
    near = CongestionParameters(PACKET, BASE, RATE_BPS, payload=4_096, peer_rtt_ns=2_700)
    mixed = senders(3) + [Sender(NsccControl(near), 2_700) for _ in range(3)]
    network = settled(Bottleneck(mixed))
    assert shares(network) > 0.97
    assert network.depth_p99() < network.trim_at
