# SPDX-License-Identifier: Apache-2.0
"""Goodput before and after a fault is taken where the fabric had one state only."""

from testbed.faults import LinkDown, SwitchStop, plan
from testbed.scenario import MeasureOptions
from testbed.windows import Stretch, Timeline

US = 1_000
OPTIONS = MeasureOptions(window="50us", settle="10us", settle_mended="40us")


def timeline() -> Timeline:
    faults = [
        LinkDown(kind="link_down", link="x-y", at="100us"),
        SwitchStop(kind="switch_stop", switch="s", at="200us", lasts="50us"),
    ]
    return Timeline(plan(faults, {}), OPTIONS, 5 * US, 400 * US, lambda switch: ["s-1", "s-2"])


def test_before_ends_at_the_fault_and_is_no_longer_than_the_window() -> None:
    assert timeline().before(100 * US) == Stretch(50 * US, 100 * US)


def test_before_does_not_reach_into_what_has_not_settled() -> None:
    assert timeline().before(250 * US) == Stretch(210 * US, 250 * US)
    assert Timeline([], OPTIONS, 60 * US, 400 * US, lambda s: []).before(90 * US) == Stretch(
        70 * US, 90 * US
    )


def test_after_ends_with_the_next_change_or_with_posting() -> None:
    assert timeline().after(100 * US) == Stretch(110 * US, 200 * US)
    assert timeline().after(200 * US) == Stretch(210 * US, 250 * US)


def test_a_mend_settles_for_longer() -> None:
    assert timeline().after(250 * US) == Stretch(290 * US, 400 * US)


def test_dead_links_follow_the_faults() -> None:
    line = timeline()
    assert line.dead_links(100 * US - 1) == frozenset()
    assert line.dead_links(100 * US) == {"x-y"}
    assert line.dead_links(220 * US) == {"x-y", "s-1", "s-2"}
    assert line.dead_links(250 * US) == {"x-y"}


def test_there_is_one_stretch_for_each_state_of_the_fabric() -> None:
    assert [s.from_ns // US for s in timeline().stretches()] == [15, 110, 210, 290]
