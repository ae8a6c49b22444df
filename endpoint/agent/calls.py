# SPDX-License-Identifier: Apache-2.0
"""Calls of a client: a deadline on each, and errors that say which agent, which call, and why."""

import queue
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import grpc

from endpoint.agent.errors import AgentError, AgentRefused, AgentTimeout, AgentUnavailable

Item = TypeVar("Item")


def translate(error: Any, what: str) -> AgentError:
    """The AgentError that a failed call stands for; `what` names agent and call."""
    code = error.code()
    if code is grpc.StatusCode.UNAVAILABLE:
        return AgentUnavailable(f"{what}: no agent answers: {error.details()}")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return AgentTimeout(f"{what}: no answer in time")
    return AgentRefused(f"{what}: {error.details()}", code.name)


class Stream(Generic[Item]):
    """What an agent sends of its own accord, received by a thread until `close`.

    A context manager. Making one waits for the agent's first message, so that nothing which
    happens from then on is missed; it raises the AgentError with which that failed. `get` and
    `drain` raise the one with which the stream ended, once everything that came before has been
    taken. `last` is the number of the newest item received, where items are numbered.
    """

    def __init__(
        self, call: Any, convert: Callable[[Any], list[Item]], what: str, timeout_s: float
    ) -> None:
        self.last = 0
        self._call = call
        self._begun = threading.Event()
        self._convert = convert
        self._what = what
        self._inbox: queue.SimpleQueue[list[Item] | AgentError] = queue.SimpleQueue()
        self._ended: AgentError | None = None
        self._failed: AgentError | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._receive, daemon=True, name=what)
        self._thread.start()
        if not self._begun.wait(timeout_s):
            self.close()
            raise AgentTimeout(f"{what}: no answer in time")
        if self._failed is not None:
            raise self._failed

    def _receive(self) -> None:
        try:
            for message in self._call:
                self.last = getattr(message, "last", 0)
                items = self._convert(message)
                if items:
                    self._inbox.put(items)
                self._begun.set()
            self._inbox.put(AgentUnavailable(f"{self._what}: the agent has ended"))
        except grpc.RpcError as error:
            self._fail(translate(error, self._what))
        except ValueError as error:
            self._fail(AgentError(f"{self._what}: {error}"))

    def _fail(self, error: AgentError) -> None:
        if not self._begun.is_set():
            self._failed = error
        self._inbox.put(error)
        self._begun.set()

    def get(self, timeout_s: float) -> list[Item]:
        """The next items, at least one. AgentTimeout when none came in `timeout_s` seconds."""
        if self._ended is not None:
            raise self._ended
        try:
            found = self._inbox.get(timeout=timeout_s)
        except queue.Empty:
            raise AgentTimeout(f"{self._what}: nothing within {timeout_s:g} s") from None
        if isinstance(found, AgentError):
            self._ended = found
            raise found
        return found

    def drain(self) -> list[Item]:
        """All items that have come and were not taken, perhaps none."""
        items: list[Item] = []
        while True:
            try:
                items += self.get(0)
            except AgentTimeout:
                return items
            except AgentError:
                if items:
                    return items
                raise

    def __iter__(self) -> Iterator[Item]:
        """Items without end; ends when the agent has ended."""
        while True:
            try:
                yield from self.get(3600.0)
            except AgentTimeout:
                continue
            except AgentUnavailable:
                return

    def close(self) -> None:
        """Ends the stream and its thread."""
        if not self._closed:
            self._closed = True
            self._call.cancel()
            self._thread.join(5.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
