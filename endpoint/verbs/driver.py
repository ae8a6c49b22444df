# SPDX-License-Identifier: Apache-2.0
"""What the API needs of the world around a NIC: a clock, a nudge, and a way to wait.

The engine has no I/O; whoever carries its frames (a virtual fabric, an agent's loop) gives a
`Driver` of a few lines, and the API works there.
"""

from collections.abc import Callable
from typing import Protocol


class Driver(Protocol):
    """The world of one NIC, as the API sees it."""

    def now_ns(self) -> int:
        """The time, in integer ns; it never runs back."""

    def kick(self) -> None:
        """The NIC may have frames to send, or another timer than before."""

    def wait(self, done: Callable[[], bool], deadline_ns: int) -> None:
        """Lets the world go on until `done()`, asked after every step, or until the deadline."""
