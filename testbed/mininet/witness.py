# SPDX-License-Identifier: Apache-2.0
"""What agents tell during a run, gathered by a thread for each stream into one queue."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from endpoint.agent.calls import Stream
from endpoint.agent.client import AgentClient
from endpoint.agent.errors import AgentError, AgentTimeout
from endpoint.agent.values import AgentEvent, Statistics
from endpoint.events import Completion

_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Told:
    """Something that the agent of `host` told: completions, events, or statistics."""

    host: str
    items: list[Completion] | list[AgentEvent] | list[Statistics]
    kind: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A stream of an agent ended."""

    host: str
    error: AgentError


class Witness:
    """Streams of these agents into `inbox`, until `close`."""

    def __init__(
        self,
        clients: Mapping[str, AgentClient],
        inbox: queue.SimpleQueue[Any],
        statistics_interval_s: float,
    ) -> None:
        self._inbox = inbox
        self._closing = False
        self._streams: list[Stream[Any]] = []
        self._threads: list[threading.Thread] = []
        for host, client in clients.items():
            for kind, stream in (
                ("completions", client.watch_completions()),
                ("events", client.watch_events()),
                ("statistics", client.watch_statistics(statistics_interval_s)),
            ):
                self._follow(host, kind, stream)

    def _follow(self, host: str, kind: str, stream: Stream[Any]) -> None:
        thread = threading.Thread(
            target=self._pump, args=(host, kind, stream), name=f"{host} {kind}", daemon=True
        )
        self._streams.append(stream)
        self._threads.append(thread)
        thread.start()

    def _pump(self, host: str, kind: str, stream: Stream[Any]) -> None:
        while not self._closing:
            try:
                self._inbox.put(Told(host, stream.get(_POLL_S), kind))
            except AgentTimeout:
                continue
            except AgentError as error:
                if not self._closing:
                    self._inbox.put(Failed(host, error))
                return

    def close(self) -> None:
        """End all streams; the clients stay open."""
        self._closing = True
        for stream in self._streams:
            stream.close()
        for thread in self._threads:
            thread.join()
