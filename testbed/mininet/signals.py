# SPDX-License-Identifier: Apache-2.0
"""Signals end a run in an orderly way, once: what is torn down is not interrupted again."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(SystemExit):
    """A signal asked for the end; the exit status is that of a process killed by it."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


@contextmanager
def orderly_end(numbers: Sequence[signal.Signals] = ENDING) -> Iterator[None]:
    """Within it, the first of these signals raises `Ended`; all that follow are ignored.

    For the main thread. What the signals did before is restored at the end.
    """

    def end(number: int, frame: FrameType | None) -> None:
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)
        raise Ended(number)

    before = {number: signal.getsignal(number) for number in ENDING}
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
