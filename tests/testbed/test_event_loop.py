# SPDX-License-Identifier: Apache-2.0
"""The event loop runs events in order of time, ties in order of scheduling, and can redirect."""

import pytest

from testbed.virtual.loop import EventLoop


def test_events_run_by_time_and_ties_first_come_first_served() -> None:
    loop = EventLoop()
    seen: list[tuple[int, str]] = []

    def note(now: int, text: str) -> None:
        seen.append((now, text))

    for time_ns, text in ((30, "d"), (10, "a"), (20, "b"), (20, "c")):
        loop.at(time_ns, note, text)
    loop.run(25)
    assert seen == [(10, "a"), (20, "b"), (20, "c")]
    assert loop.now == 25
    loop.run(30)
    assert seen[-1] == (30, "d")
    assert loop.events == 4


def test_an_event_may_schedule_another_at_the_same_time() -> None:
    loop = EventLoop()
    seen: list[int] = []

    def again(now: int, left: int) -> None:
        seen.append(now)
        if left:
            loop.at(now, again, left - 1)

    loop.at(5, again, 3)
    loop.run(5)
    assert seen == [5, 5, 5, 5]


def test_the_past_is_refused() -> None:
    loop = EventLoop()
    loop.run(10)
    with pytest.raises(ValueError, match="9 ns, but it is 10 ns"):
        loop.at(9, lambda now, argument: None)


def test_pending_events_can_be_redirected_without_losing_their_place() -> None:
    loop = EventLoop()
    seen: list[tuple[str, int]] = []

    def old(now: int, argument: int) -> None:
        seen.append(("old", argument))

    def new(now: int, argument: int) -> None:
        seen.append(("new", argument))

    def other(now: int, argument: int) -> None:
        seen.append(("other", argument))

    for i, call in enumerate((old, other, old, other, old)):
        loop.at(7, call, i)
    assert loop.redirect(old, new) == 3
    loop.run(7)
    assert seen == [("new", 0), ("other", 1), ("new", 2), ("other", 3), ("new", 4)]
