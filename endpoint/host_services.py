# SPDX-License-Identifier: Apache-2.0
"""What a NIC does for its queue pairs and peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from endpoint.events import Completion, Event
from endpoint.memory import MemoryTable
from endpoint.wire.dscp import DscpMap
from topologies import Fabric

if TYPE_CHECKING:
    from endpoint.peer import Peer
    from endpoint.queue_pair import QueuePair


class HostServices(Protocol):
    """The NIC as its parts see it."""

    @property
    def fabric(self) -> Fabric: ...
    @property
    def host_index(self) -> int: ...
    @property
    def dscp(self) -> DscpMap: ...
    @property
    def memory(self) -> MemoryTable: ...
    @property
    def local_ports(self) -> int:
        """Mask of this NIC's usable ports, bit = plane."""

    def emit(self, port: int, frame: bytes) -> None:
        """Sends a control frame: at once, before data, whatever the room at the port."""

    def complete(self, completion: Completion) -> None:
        """Hands a completion to the application."""

    def note(self, event: Event) -> None:
        """Keeps an event for the application."""

    def wake(self, qp: QueuePair) -> None:
        """Something changed: the queue pair may have packets to send, and another timer."""

    def peer(self, host_index: int, qp: QueuePair) -> Peer:
        """The peer NIC with this index, which `qp` is being connected to."""
