# SPDX-License-Identifier: Apache-2.0
"""The algorithm `fixed-window`: a window that nothing moves.

For teaching, and as the smallest example of an algorithm. Alone on its path it is as fast as any
other; where several senders share a bottleneck, only trimming stands between them and collapse.
"""

from dataclasses import dataclass

from endpoint.congestion.interface import CongestionControl, CongestionParameters


@dataclass(frozen=True, slots=True)
class FixedWindowConfig:
    """`window` in bytes; None stands for one bandwidth-delay product. ValueError below 1."""

    window: int | None = None

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise ValueError(f"fixed-window: a window of {self.window} B")


class FixedWindow(CongestionControl):
    """Never less than one packet."""

    def __init__(
        self, parameters: CongestionParameters, config: FixedWindowConfig | None = None
    ) -> None:
        super().__init__(parameters)
        wanted = parameters.bdp if config is None or config.window is None else config.window
        self.window = max(parameters.mtu, wanted)

    def on_ack(
        self,
        now_ns: int,
        acked: int,
        received: int,
        rtt_ns: int | None,
        marked: bool,
        penalty: int,
        restore: bool,
        inflight: int = 0,
    ) -> None:
        """Changes nothing."""

    def on_nack(self, now_ns: int, size: int, last_hop: bool, inflight: int = 0) -> None:
        """Changes nothing."""

    def on_loss(self, now_ns: int, size: int) -> None:
        """Changes nothing."""

    def on_timeout(self, now_ns: int, lost: int = 0) -> None:
        """Changes nothing."""
