# SPDX-License-Identifier: Apache-2.0
"""The scenario's clock stands still while a switch comes back, and what follows comes later."""

from __future__ import annotations

import pytest

from testbed.mininet import clock as clock_module
from testbed.mininet.clock import RunClock

S = 1_000_000_000


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [50 * S]
    monkeypatch.setattr(clock_module, "monotonic_ns", lambda: now[0])
    return now


def test_actions_run_in_order_when_their_time_has_come(time: list[int]) -> None:
    clock, done = RunClock(), []
    clock.at(2 * S, lambda: done.append("b"))
    clock.at(1 * S, lambda: done.append("a"))
    clock.at(2 * S, lambda: done.append("c"))
    clock.run_due()
    assert done == []
    assert clock.wait_s(5.0) == 1.0
    assert clock.wait_s(0.25) == 0.25
    time[0] += 2 * S
    clock.run_due()
    assert done == ["a", "b", "c"]
    assert clock.empty
    assert clock.wait_s(5.0) == 5.0


def test_a_pause_moves_what_is_to_come(time: list[int]) -> None:
    clock, done = RunClock(), []
    clock.at(3 * S, lambda: done.append(clock.now_ns()))
    time[0] += 2 * S
    clock.pause()
    time[0] += 4 * S
    clock.run_due()
    assert done == []
    assert clock.scenario_ns() == 2 * S
    assert clock.wait_s(5.0) == 5.0
    clock.resume()
    assert clock.shift_ns == 4 * S
    assert clock.scenario_ns() == 2 * S
    assert clock.wait_s(5.0) == 1.0
    time[0] += S
    clock.run_due()
    assert done == [7 * S]


def test_an_action_that_pauses_keeps_the_next_from_running(time: list[int]) -> None:
    clock, done = RunClock(), []
    clock.at(1 * S, clock.pause)
    clock.at(1 * S, lambda: done.append(1))
    time[0] += 2 * S
    clock.run_due()
    assert clock.paused and done == []
    clock.resume()
    clock.run_due()
    assert done == [1]


def test_agents_times_become_times_of_the_run(time: list[int]) -> None:
    clock = RunClock()
    time[0] += 7 * S
    clock.begin()
    assert clock.of(58 * S) == 1 * S
    assert clock.now_ns() == 0
