# SPDX-License-Identifier: Apache-2.0
"""What an algorithm is told, and what it answers.

All sizes are bytes of nominal packet size (UDP length + 40), times are nanoseconds. One window
serves all paths of a queue pair. The requester owns the count of bytes in flight; an algorithm
only answers whether the next packet may go, and hears what became of packets.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CongestionParameters:
    """What an algorithm may know of the fabric.

    `mtu` is the nominal size of a full packet, `payload` its payload bytes (0: not told).
    `base_rtt_ns` is the fabric's longest round trip without queues, `peer_rtt_ns` that to this
    peer where it is nearer. `link_rate_bps` is that of all planes together.
    """

    mtu: int
    base_rtt_ns: int
    link_rate_bps: int
    trimming: bool = True
    payload: int = 0
    peer_rtt_ns: int | None = None

    @property
    def bdp(self) -> int:
        """Bytes in flight that keep all ports of the NIC busy over one base round trip."""
        return self.link_rate_bps * self.base_rtt_ns // 8_000_000_000

    @property
    def max_window(self) -> int:
        """Start and maximum window: 1.5 bandwidth-delay products, at least one packet."""
        return max(self.mtu, self.bdp * 3 // 2)

    @property
    def target_delay_ns(self) -> int:
        """Queueing delay to aim at: 0.75 base round trips with trimming, 1.0 without."""
        return self.base_rtt_ns * 3 // 4 if self.trimming else self.base_rtt_ns


class CongestionControl(ABC):
    """One instance a queue pair. `window` is the number of bytes allowed in flight."""

    def __init__(self, parameters: CongestionParameters) -> None:
        self.parameters = parameters
        self.window = parameters.max_window

    def can_send(self, inflight: int, size: int) -> bool:
        """Whether a packet of `size` may go; one always may when less than one MTU is out."""
        return inflight + size <= self.window or inflight < self.parameters.mtu

    @abstractmethod
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
        """A SACK: `acked` bytes newly acknowledged by it; `received` bytes newly received by the
        peer's own count (they differ while SACKs are lost); `rtt_ns` of the packet it names, if
        known; `marked` when that packet met congestion; `penalty` (rcv_cwnd_pen, 0 to 127) and
        `restore` (restore_cwnd) as the receiver asks; `inflight` bytes in flight after it."""

    @abstractmethod
    def on_nack(self, now_ns: int, size: int, last_hop: bool, inflight: int = 0) -> None:
        """A packet of `size` bytes was trimmed on the way; `inflight` no longer counts it."""

    @abstractmethod
    def on_loss(self, now_ns: int, size: int) -> None:
        """A packet was declared lost without having been trimmed."""

    @abstractmethod
    def on_timeout(self, now_ns: int, lost: int = 0) -> None:
        """The retransmission timer expired, and with it packets of `lost` bytes were given up;
        `on_loss` is not called for these."""
