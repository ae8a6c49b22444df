# SPDX-License-Identifier: Apache-2.0
"""Calls of a client: a deadline on each, and errors that say which agent, which call, and why."""

import queue
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, NoReturn, Self, TypeVar

import grpc

from endpoint.agent.errors import AgentError, AgentRefused, AgentTimeout, AgentUnavailable

Item = TypeVar("Item")


def raise_error(error: Any, what: str) -> NoReturn:
    """Raises the AgentError that a failed call stands for; `what` names agent and call."""
    code = error.code()
    if code is grpc.StatusCode.UNAVAILABLE:
        raise AgentUnavailable(f"{what}: no agent answers: {error.details()}") from error
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        raise AgentTimeout(f"{what}: no answer in time") from error
    raise AgentRefused(f"{what}: {error.details()}", code.name) from error


class Stream(Generic[Item]):
    """What an agent sends of its own accord, received by a thread until `close`.

    A context manager. `get` and `drain` raise the AgentError with which the stream ended, once
    everything that came before has been taken.
    """

    def __init__(self, call: Any, convert: Callable[[Any], list[Item]], what: str) -> None:
        self._call = call
        self._convert = convert
        self._what = what
        self._inbox: queue.SimpleQueue[list[Item] | AgentError] = queue.SimpleQueue()
        self._ended: AgentError | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._receive, daemon=True, name=what)
        self._thread.start()

    def _receive(self) -> None:
        try:
            for message in self._call:
                self._inbox.put(self._convert(message))
            self._inbox.put(AgentUnavailable(f"{self._what}: the agent has ended"))
        except grpc.RpcError as error:
            try:
                raise_error(error, self._what)
            except AgentError as translated:
                self._inbox.put(translated)
        except ValueError as error:
            self._inbox.put(AgentError(f"{self._what}: {error}"))

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
