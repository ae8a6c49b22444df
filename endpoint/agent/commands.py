# SPDX-License-Identifier: Apache-2.0
"""Commands from other threads to the loop that owns the engine."""

import os
import queue
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

Result = TypeVar("Result")
Command = Callable[[int], Any]
"""Called in the loop's thread with the time in nanoseconds."""


class LoopStopped(Exception):
    """The loop ended before it came to the command."""


class CommandQueue:
    """Any thread calls; the loop waits for `fileno()` to become readable, then calls `run`."""

    def __init__(self) -> None:
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._waiting: queue.SimpleQueue[tuple[Command, Future[Any]]] = queue.SimpleQueue()
        self._closed = False

    def fileno(self) -> int:
        return self._wake

    def wake(self) -> None:
        """Makes the loop look; safe in a signal handler."""
        os.eventfd_write(self._wake, 1)

    def call(self, command: Callable[[int], Result], timeout_s: float) -> Result:
        """Runs `command` in the loop and gives its result or exception.

        TimeoutError when the loop has not begun it in time (it never will then), LoopStopped
        when the loop is ending.
        """
        if self._closed:
            raise LoopStopped
        future: Future[Result] = Future()
        self._waiting.put((command, future))
        self.wake()
        if self._closed:  # closed meanwhile: nobody may be left to serve it
            self._refuse()
        try:
            return future.result(timeout_s)
        except FutureTimeout:
            if not future.cancel():
                return future.result()
            raise

    def run(self, now_ns: int, most: int = 64) -> None:
        """Runs what waits, up to `most`; with more waiting, `fileno()` stays readable."""
        try:
            os.eventfd_read(self._wake)
        except BlockingIOError:
            return
        for _ in range(most):
            try:
                command, future = self._waiting.get_nowait()
            except queue.Empty:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(command(now_ns))
            except Exception as error:
                future.set_exception(error)
        self.wake()

    def close(self) -> None:
        """Refuses what waits, and all that comes."""
        self._closed = True
        self._refuse()

    def _refuse(self) -> None:
        while True:
            try:
                _, future = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                future.set_exception(LoopStopped())
            except InvalidStateError:  # its caller had given up
                continue
