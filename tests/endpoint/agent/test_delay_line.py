# SPDX-License-Identifier: Apache-2.0
"""Held frames leave in order, each as long after its arrival as the line is."""

import pytest

from endpoint.agent.delay_line import DelayLine


def test_a_frame_leaves_when_its_time_is_up_and_not_before() -> None:
    line = DelayLine(100)
    line.add([(1000, 0, b"a"), (1040, 1, b"b")])
    assert line.due(1099) == []
    assert line.wait_ns(1099) == 1
    assert line.due(1100) == [(1100, 0, b"a")]
    assert line.wait_ns(1100) == 40


def test_late_callers_get_all_that_is_due_with_the_times_at_which_it_was() -> None:
    line = DelayLine(100)
    line.add([(1000, 0, b"a")])
    line.add([(1040, 1, b"b"), (5000, 0, b"c")])
    assert line.due(2000) == [(1100, 0, b"a"), (1140, 1, b"b")]
    assert line.wait_ns(9000) == 0


def test_an_empty_line_waits_for_nothing() -> None:
    line = DelayLine(100)
    assert line.due(1 << 60) == []
    assert line.wait_ns(0) is None


def test_a_negative_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 ns"):
        DelayLine(-1)
