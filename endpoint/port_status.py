# SPDX-License-Identifier: Apache-2.0
"""Port Status Update: telling the peer NIC which ports are usable, and hearing it from the peer.

Source: SPEC's endpoint message (P1 puts a bitmap into SACKs). One pair of objects for each peer
NIC. Requests carry 16-bit serial ids, since "down" and "up" may arrive in the other order.
"""

import random
from typing import NamedTuple

from endpoint.serial import ID_MASK, is_newer


class StatusUpdate(NamedTuple):
    """A request to send: ``mask`` (bit set = port usable) under ``request_id``, on ``plane``."""

    request_id: int
    mask: int
    plane: int


class PortStatusSender:
    """Sends the newest port mask to one peer, every smoothed round trip until it is answered.

    ``planes``: number of NIC ports, 1..32. Only the newest request is repeated: it says all that
    the earlier ones said.
    """

    def __init__(self, planes: int, rng: random.Random) -> None:
        if not 1 <= planes <= 32:
            raise ValueError(f"a port mask has 1 to 32 ports, got {planes}")
        self.mask = (1 << planes) - 1
        """Own usable ports; the peer takes all of them as usable until told otherwise."""
        self._peer_mask = self.mask
        self._planes = planes
        self._plane = rng.randrange(planes)
        self._request_id = rng.getrandbits(16)
        self._pending = False
        self._sent_ns: int | None = None
        self._srtt_ns = 0

    @property
    def pending(self) -> bool:
        """Whether the newest mask is still to be answered."""
        return self._pending

    def changed(self, mask: int) -> None:
        """The usable ports of this NIC are now those of ``mask``: a new request if they differ."""
        if mask == self.mask:
            return
        self.mask = mask
        self._request_id = self._request_id + 1 & ID_MASK
        self._pending = True
        self._sent_ns = None

    def set_peer_ports(self, mask: int) -> None:
        """Usable ports of the peer: a request goes only where both ends are usable."""
        self._peer_mask = mask

    def due(self, now_ns: int, srtt_ns: int) -> StatusUpdate | None:
        """The request to send now, if any; it counts as sent. Each time on the next usable plane.

        With no usable plane it stays pending, and goes out as soon as there is one.
        """
        self._srtt_ns = max(1, srtt_ns)
        if not self._pending:
            return None
        if self._sent_ns is not None and now_ns < self._sent_ns + self._srtt_ns:
            return None
        plane = self._next_plane()
        if plane is None:
            return None
        self._plane = plane
        self._sent_ns = now_ns
        return StatusUpdate(self._request_id, self.mask, plane)

    def answered(self, request_id: int) -> bool:
        """A response arrived; true when it settles the newest request."""
        if not self._pending or self._sent_ns is None or request_id != self._request_id:
            return False
        self._pending = False
        return True

    def next_timer_ns(self, now_ns: int) -> int | None:
        """When ``due`` has something to do; None when nothing is pending or no plane is usable."""
        if not self._pending or self._next_plane() is None:
            return None
        return now_ns if self._sent_ns is None else self._sent_ns + self._srtt_ns

    def _next_plane(self) -> int | None:
        usable = self.mask & self._peer_mask
        for step in range(1, self._planes + 1):
            plane = (self._plane + step) % self._planes
            if usable >> plane & 1:
                return plane
        return None


class PeerPorts:
    """Usable ports of one peer NIC, as its newest Port Status Update says.

    Kept for as long as the peer is connected: a new connection starts with a new object, because
    a restarted peer starts its ids anew. Every request is answered, applied or not.
    """

    def __init__(self, planes: int) -> None:
        self._all = (1 << planes) - 1
        self.mask = self._all
        self._applied: int | None = None

    def apply(self, request_id: int, mask: int) -> bool:
        """Takes a request; false when it is a repetition, or older than the last one applied.

        Bits of ports that the fabric does not have are dropped.
        """
        if self._applied is not None and not is_newer(request_id, self._applied):
            return False
        self._applied = request_id
        self.mask = mask & self._all
        return True
