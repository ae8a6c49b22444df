# SPDX-License-Identifier: Apache-2.0
"""Port Status Update: telling the peer NIC which ports are usable, and hearing it from the peer.

Source: SPEC's endpoint message (P1 puts a bitmap into SACKs). One pair of objects for each peer
NIC. Requests carry 16-bit serial ids, since "down" and "up" may arrive in the other order.
"""

import random
from typing import NamedTuple

from endpoint.serial import ID_MASK, is_newer

PATIENT_ROUNDS = 4
MOST_DOUBLINGS = 12


class StatusUpdate(NamedTuple):
    """A request to send: ``mask`` (bit set = port usable) under ``request_id``, on ``plane``."""

    request_id: int
    mask: int
    plane: int


class PortStatusSender:
    """Sends the newest port mask to one peer, every smoothed round trip until it is answered.

    ``planes``: number of NIC ports, 1..32. Only the newest request is repeated: it says all that
    the earlier ones said. Once every plane has had ``PATIENT_ROUNDS``, the wait doubles each
    time, up to 2**``MOST_DOUBLINGS`` round trips: a peer that is gone is not flooded for ever.
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
        self._unanswered = 0
        self._was_told = False
        self._srtt_ns = 0

    @property
    def was_told(self) -> bool:
        """Whether any request was ever sent."""
        return self._was_told

    @property
    def pending(self) -> bool:
        """Whether the newest mask is still to be answered."""
        return self._pending

    def changed(self, mask: int) -> None:
        """The usable ports of this NIC are now those of ``mask``: a new request if they differ."""
        if mask == self.mask:
            return
        self.mask = mask
        self.renew()

    def announce(self, mask: int) -> int:
        """Tells ``mask`` whatever the usable ports are, until they change; the request's id."""
        self.mask = mask
        self.renew()
        return self._request_id

    def renew(self) -> None:
        """The mask is to be told, whatever was told before: the peer may have forgotten it."""
        self._request_id = self._request_id + 1 & ID_MASK
        self._pending = True
        self._sent_ns = None
        self._unanswered = 0

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
        if self._sent_ns is not None and now_ns < self._sent_ns + self._wait_ns():
            return None
        plane = self._next_plane()
        if plane is None:
            return None
        self._plane = plane
        self._sent_ns = now_ns
        self._unanswered += 1
        self._was_told = True
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
        return now_ns if self._sent_ns is None else self._sent_ns + self._wait_ns()

    def _wait_ns(self) -> int:
        doublings = self._unanswered - PATIENT_ROUNDS * self._planes
        return self._srtt_ns << max(0, min(doublings, MOST_DOUBLINGS))

    def _next_plane(self) -> int | None:
        usable = self.mask & self._peer_mask
        for step in range(1, self._planes + 1):
            plane = (self._plane + step) % self._planes
            if usable >> plane & 1:
                return plane
        return None


class PeerPorts:
    """Usable ports of one peer NIC, as its newest Port Status Update says.

    A peer may have restarted, and started its ids anew, without this side's having noticed. So
    every new connection takes the next request whatever its id (``expect_any``), and ``is_old``
    requests are not answered: one that was sent before the connection is then sent again.
    """

    def __init__(self, planes: int) -> None:
        self._all = (1 << planes) - 1
        self.mask = self._all
        self.was_told = False
        """Whether any request was ever applied."""
        self._applied: int | None = None

    def apply(self, request_id: int, mask: int) -> bool:
        """Takes a request; false when it is a repetition, or older than the last one applied.

        Bits of ports that the fabric does not have are dropped.
        """
        if self.is_old(request_id) or request_id == self._applied:
            return False
        self._applied = request_id
        self.was_told = True
        self.mask = mask & self._all
        return True

    def is_old(self, request_id: int) -> bool:
        """Whether a request is older than the last one applied."""
        applied = self._applied
        if applied is None or request_id == applied:
            return False
        return not is_newer(request_id, applied)

    def expect_any(self) -> None:
        """The next request counts, whatever its id."""
        self._applied = None
