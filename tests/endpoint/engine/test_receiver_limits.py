# SPDX-License-Identifier: Apache-2.0
"""A receiver that grants less, tracks less or has no buffers for a while slows a transfer down, and
every byte arrives all the same."""

from __future__ import annotations

import random

import pytest
from engine_lab import Lab

from endpoint.events import WorkStatus
from endpoint.queue_pair import QpConfig
from endpoint.responder import ResponderConfig
from endpoint.wire import nack

SIZE = 200 * 4096


def transfer(lab: Lab, config: QpConfig) -> tuple[bytes, bytes]:
    """A write from NIC 0 to NIC 4, to its end: what was sent, and what arrived."""
    data = random.Random(3).randbytes(SIZE)
    qa, _ = lab.pair(0, 4, config)
    region = lab.region(4, SIZE)
    qa.post_write(1, data, region.va, region.rkey, now_ns=lab.now)
    while not lab.completions[0]:
        assert lab.step()
        lab.pump(0)
    assert lab.completions[0][0].status is WorkStatus.SUCCESS
    return data, bytes(region.buffer)


def reasons(lab: Lab) -> set[int]:
    return {s.parsed.nack.reason for s in lab.sent if s.parsed.nack is not None}


@pytest.mark.fact("nack.no-bitmap-raised")
def test_a_small_bitmap_refuses_what_comes_too_early_and_gets_it_again() -> None:
    lab = Lab(line=340)
    lab.rule(lambda sent: [] if sent.parsed.is_data and sent.number == 5 else None)
    config = QpConfig(responder=ResponderConfig(bitmap_psns=8))
    sent, arrived = transfer(lab, config)
    assert sent == arrived
    assert nack.NO_BITMAP in reasons(lab)


@pytest.mark.fact("nack.no-pkt-buffer-raised")
def test_without_buffers_every_new_packet_is_refused_until_there_are_some() -> None:
    lab = Lab(line=340)
    refused = 0

    def now_and_then(sent: object) -> None:
        nonlocal refused
        qp = lab.nics[4].queue_pairs()[0]
        qp.responder.out_of_buffers = 10_000 < lab.now < 40_000
        refused += qp.responder.out_of_buffers
        return None

    lab.rule(now_and_then)
    sent, arrived = transfer(lab, QpConfig())
    assert refused and sent == arrived
    assert nack.NO_PKT_BUFFER in reasons(lab)


@pytest.mark.fact("rel.mpr-dynamic")
@pytest.mark.parametrize(("dynamic", "most"), [(True, 2 * 128), (False, 128)])
def test_a_window_that_grows_is_used_with_the_capability_alone(dynamic: bool, most: int) -> None:
    lab = Lab(line=10, room=1000)
    config = QpConfig(dynamic_mpr=dynamic, responder=ResponderConfig(mpr_units=1))
    qa, qb = lab.pair(0, 4, config)
    region = lab.region(4, 4 * SIZE)
    qb.responder.set_mpr(2)
    qa.post_write(1, bytes(4 * SIZE), region.va, region.rkey, now_ns=lab.now)
    seen = 0
    while not lab.completions[0]:
        qa.requester.congestion.window = 1 << 30
        assert lab.step()
        requester = qa.requester
        seen = max(seen, requester._next_psn - 1 - requester.board.cack)
    assert 0.9 * most < seen <= most


@pytest.mark.fact("rel.mpr-dynamic")
def test_a_window_that_shrinks_refuses_what_was_sent_beyond_it() -> None:
    lab = Lab(line=340)

    def shrink(sent: object) -> None:
        if lab.now > 5_000:
            lab.nics[4].queue_pairs()[0].responder.set_mpr(1)
        return None

    lab.rule(shrink)
    sent, arrived = transfer(lab, QpConfig(responder=ResponderConfig(mpr_units=8)))
    assert sent == arrived


@pytest.mark.parametrize("units", [0, 256])
def test_a_window_that_does_not_fit_its_field_is_refused(units: int) -> None:
    lab = Lab()
    _, qb = lab.pair(0, 4)
    with pytest.raises(ValueError, match=r"outside 1\.\.255"):
        qb.responder.set_mpr(units)
