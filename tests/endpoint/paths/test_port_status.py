# SPDX-License-Identifier: Apache-2.0
"""Proves that both ends agree on usable ports, whatever order and loss updates meet."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.port_status import PeerPorts, PortStatusSender

RTT = 1000


@pytest.fixture
def sender():
    return PortStatusSender(4, random.Random(1))


def test_nothing_to_say_without_a_change(sender):
    assert sender.due(0, RTT) is None and not sender.pending
    sender.changed(0b1111)
    assert sender.due(0, RTT) is None and sender.next_timer_ns(0) is None


@pytest.mark.fact("port.repeat")
def test_resent_every_round_trip_on_another_usable_plane_until_answered(sender):
    sender.changed(0b1101)
    assert sender.next_timer_ns(5) == 5
    sent = [(now, update) for now in range(4001) if (update := sender.due(now, RTT))]
    assert [now for now, _ in sent] == [0, 1000, 2000, 3000, 4000]
    assert {update.mask for _, update in sent} == {0b1101}
    assert len({update.request_id for _, update in sent}) == 1
    planes = [update.plane for _, update in sent]
    assert sorted(planes[:3]) == [0, 2, 3] and planes[3:] == planes[:2]
    assert sender.next_timer_ns(4001) == 5000
    assert sender.answered(sent[0][1].request_id)
    assert sender.due(9000, RTT) is None and sender.next_timer_ns(9000) is None


def test_planes_that_the_peer_cannot_use_carry_no_update(sender):
    sender.set_peer_ports(0b0110)
    sender.changed(0b1101)
    assert {sender.due(now, RTT).plane for now in range(0, 9000, RTT)} == {2}


def test_without_a_usable_plane_it_waits(sender):
    sender.changed(0)
    assert sender.due(0, RTT) is None and sender.next_timer_ns(0) is None and sender.pending
    sender.changed(0b0100)
    assert sender.due(1, RTT)[1:] == (0b0100, 2)


def test_a_newer_change_supersedes_and_old_answers_do_not_settle_it(sender):
    sender.changed(0b1110)
    old = sender.due(0, RTT)
    sender.changed(0b1111)
    assert not sender.answered(old.request_id)
    new = sender.due(1, RTT)
    assert new.request_id == (old.request_id + 1) % 65_536 and new.mask == 0b1111
    assert sender.answered(new.request_id) and not sender.answered(new.request_id)


def test_an_answer_to_a_request_never_sent_settles_nothing(sender):
    sender.changed(0b1110)
    guessed = PortStatusSender(4, random.Random(1))
    guessed.changed(0b1110)
    assert not sender.answered(guessed.due(0, RTT).request_id)
    assert sender.pending


def test_the_peer_takes_all_ports_as_usable_until_told(sender):
    peer = PeerPorts(4)
    assert peer.mask == 0b1111
    assert peer.apply(9, 0b0111) and peer.mask == 0b0111


@pytest.mark.fact("port.serial")
def test_an_older_request_and_a_repetition_are_ignored():
    peer = PeerPorts(4)
    peer.apply(10, 0b0111)
    assert not peer.apply(10, 0b0000)
    assert not peer.apply(9, 0b1111)
    assert peer.mask == 0b0111
    assert peer.apply(11, 0b1111)


@pytest.mark.fact("port.serial")
def test_ids_are_compared_as_serial_numbers():
    peer = PeerPorts(4)
    peer.apply(65_535, 0b0001)
    assert peer.apply(0, 0b0010)
    assert not peer.apply(65_535, 0b0001)
    assert peer.mask == 0b0010


def test_bits_beyond_the_planes_are_dropped():
    peer = PeerPorts(2)
    peer.apply(1, 0xFFFFFFFE)
    assert peer.mask == 0b10


@pytest.mark.parametrize("planes", [0, 33])
def test_a_mask_holds_1_to_32_ports(planes):
    with pytest.raises(ValueError, match="1 to 32"):
        PortStatusSender(planes, random.Random(1))


@given(
    seed=st.integers(0, 2**32),
    masks=st.lists(st.integers(1, 15), min_size=1, max_size=12),
    data=st.data(),
)
def test_the_last_mask_wins_under_loss_duplication_and_reordering(seed, masks, data):
    sender, peer = PortStatusSender(4, random.Random(seed)), PeerPorts(4)
    flying, now = [], 0
    for mask in masks:
        sender.changed(mask)
        now += data.draw(st.integers(0, 2 * RTT))
        if (update := sender.due(now, RTT)) is not None:
            flying += [update] * data.draw(st.integers(0, 2))
    for update in data.draw(st.permutations(flying)):
        peer.apply(update.request_id, update.mask)
        if data.draw(st.booleans()):
            sender.answered(update.request_id)
    while sender.pending:
        now += RTT
        update = sender.due(now, RTT)
        peer.apply(update.request_id, update.mask)
        sender.answered(update.request_id)
    assert peer.mask == sender.mask == masks[-1]
