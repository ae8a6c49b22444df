# SPDX-License-Identifier: Apache-2.0
"""Proves that readers of a journal miss nothing unnoticed, however late they come."""

import threading
import time

import pytest

from endpoint.agent.journal import Journal


def test_items_are_numbered_and_can_be_read_from_anywhere() -> None:
    journal: Journal[str] = Journal(10)
    journal.extend("abc")
    assert journal.last == 3
    assert journal.read(0, 0) == (["a", "b", "c"], 3, 0)
    assert journal.read(2, 0) == (["c"], 3, 0)
    assert journal.read(3, 0) == ([], 3, 0)
    assert journal.read(0, 0, most=2) == (["a", "b"], 2, 0)


def test_what_was_dropped_is_counted() -> None:
    journal: Journal[int] = Journal(4)
    for number in range(1, 21):
        journal.extend([number])
    items, last, missed = journal.read(2, 0)
    assert last == 20
    assert items == list(range(3 + missed, 21))
    assert 4 <= len(items) <= 8


def test_the_newest_up_to_the_limit_are_always_kept() -> None:
    journal: Journal[int] = Journal(4)
    for number in range(1, 100):
        journal.extend([number])
        assert journal.read(max(0, number - 4), 0).missed == 0


def test_a_reader_waits_for_the_next_item() -> None:
    journal: Journal[int] = Journal(4)
    threading.Timer(0.05, journal.extend, ([7],)).start()
    assert journal.read(0, 5).items == [7]


def test_waiting_ends_with_the_time_given_or_the_journal() -> None:
    journal: Journal[int] = Journal(4)
    assert journal.read(0, 0.01) == ([], 0, 0)
    threading.Timer(0.05, journal.close).start()
    begun = time.monotonic()
    assert journal.read(0, 30) == ([], 0, 0)
    assert time.monotonic() - begun < 10
    assert journal.closed


def test_a_journal_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        Journal(0)
