# SPDX-License-Identifier: Apache-2.0
"""A numbered, bounded record that one thread writes and others read at their own pace."""

import threading
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")


class Extract(NamedTuple, Generic[Item]):
    """`items` up to number `last`; `missed` before them were dropped unread."""

    items: list[Item]
    last: int
    missed: int


class Journal(Generic[Item]):
    """Items are numbered from 1. The newest `limit` are kept, and up to as many older ones."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"journal: limit {limit} is not positive")
        self._limit = limit
        self._items: list[Item] = []
        self._dropped = 0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def last(self) -> int:
        """Number of the newest item, 0 when there never was one."""
        with self._changed:
            return self._dropped + len(self._items)

    @property
    def closed(self) -> bool:
        """Whether nothing more will be added."""
        return self._closed

    def extend(self, items: Iterable[Item]) -> None:
        """Adds items, oldest first."""
        with self._changed:
            self._items.extend(items)
            surplus = len(self._items) - self._limit
            if surplus >= self._limit:
                del self._items[:surplus]
                self._dropped += surplus
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more comes: readers that wait return."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def read(self, after: int, timeout_s: float, most: int = 1024) -> Extract[Item]:
        """Up to `most` items after number `after`; waits for the first, and gives none when
        `timeout_s` seconds have passed or the journal was closed."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._dropped + len(self._items) > after, timeout_s
            )
            missed = max(0, self._dropped - after)
            start = max(0, after - self._dropped)
            items = self._items[start : start + most]
            return Extract(items, after + missed + len(items), missed)
