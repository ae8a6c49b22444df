# SPDX-License-Identifier: Apache-2.0
"""Proves that a soak repeats by its seed, leaves memory right and no table filled, finds leaks."""

from __future__ import annotations

import random

import pytest

from testbed.run import compiled_program
from testbed.soak.plant import SoakPlant
from testbed.soak.session import SoakError
from testbed.soak.soak import SoakResult, fabric, soak
from testbed.soak.work import Work

PACKETS = 20_000
SHORT = 2_000


@pytest.fixture(scope="module")
def result() -> SoakResult:
    return soak(7, PACKETS)


def test_memory_is_right_and_nothing_is_left(result: SoakResult) -> None:
    assert result.problems == []
    assert result.packets >= PACKETS
    assert result.compared_bytes > 10_000_000
    assert not result.objects_left


def test_it_met_what_it_is_for(result: SoakResult) -> None:
    assert len(result.faults) >= 6 and sum(result.lost.values()) > 100
    assert all(result.disorder.values())
    assert result.qps["reset"] > 10 and result.qps["destroyed"] == result.qps["made"] > 50
    assert {"success", "flushed", "remote_access_error", "retry_exceeded"} <= set(result.writes)
    assert result.counters["retransmitted"] and result.counters["duplicates"]


def test_one_seed_gives_one_digest_and_another_seed_another() -> None:
    first, again, other = soak(3, SHORT), soak(3, SHORT), soak(4, SHORT)
    assert first.digest == again.digest != other.digest
    assert first.counters == again.counters


def _message_left(plant: SoakPlant) -> None:
    qp = plant.hosts[0].nic.queue_pairs()[0]
    qp.requester._later.append((0, 1))


def _frame_left(plant: SoakPlant) -> None:
    plant.hosts[0].ports[0].control.append(b"")


def _new_table(plant: SoakPlant) -> None:
    plant.hosts[0].nic.desk.forgotten_by_the_inventory = {1: 1}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("leak", "table"),
    [
        (_message_left, "Requester._later"),
        (_frame_left, "HostPort.control"),
        (_new_table, "EndpointDesk.forgotten_by_the_inventory: not in the inventory"),
    ],
)
def test_a_leak_is_found_by_name(leak, table: str) -> None:
    found = soak(5, SHORT, at_rest=leak)
    assert not found.passed
    assert any(problem.startswith(table) for problem in found.problems)


def test_an_object_that_outlives_its_queue_pair_is_found() -> None:
    kept: list[object] = []
    found = soak(5, SHORT, at_rest=lambda plant: kept.extend(plant.hosts[0].nic.queue_pairs()))
    assert any("QueuePair outlive" in problem for problem in found.problems)


def test_a_byte_changed_in_memory_is_found() -> None:
    plant = SoakPlant(fabric(), compiled_program(), 1)
    work = Work(plant)
    for _ in range(20):
        work.step()
        plant.loop.run(plant.loop.now + 10_000)
    session = work.sessions[0]
    session.ends[0].memory[random.Random(1).randrange(256)] ^= 1
    with pytest.raises(SoakError, match="memory outside all writes"):
        work._check(session)


def test_a_host_takes_a_frame_spoilt_beyond_a_label() -> None:
    """A frame whose outer header says that a longer one follows than the frame has bytes."""
    plant = SoakPlant(fabric(), compiled_program(), 1)
    frame = bytearray(142)
    frame[20] = 43  # a routing header follows
    frame[55] = 255  # of 2,048 bytes
    host = plant.hosts[0]
    host.receive(0, 0, bytes(frame))
    assert host.nic.stats.malformed == 1
