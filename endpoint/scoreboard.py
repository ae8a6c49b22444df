# SPDX-License-Identifier: Apache-2.0
"""What a sender knows of its PSNs: acknowledged, known missing, in flight.

PSNs are unbounded integers (`endpoint.serial`). `cack` is the PSN up to which the peer has
everything; bit i of `_acked` and `_missing` stands for PSN cack + 1 + i. Each SACK touches only
the bits that it changes.
"""

from __future__ import annotations

from collections.abc import Callable

from endpoint.loss import LossDetector, Transmission
from endpoint.serial import expand
from endpoint.wire.sack import BITMAP_BITS, RCVD_UNIT_BYTES

Settled = Callable[[Transmission, int], None]
"""Called once for each PSN acknowledged: its latest transmission (its fate still what it was
before), and the time."""


class Scoreboard:
    """Acknowledgements of one queue pair; the loss detector holds the transmissions."""

    def __init__(self, first_psn: int, on_settled: Settled) -> None:
        self.loss = LossDetector()
        self.cack = first_psn - 1
        self.acked_bytes = 0
        self._on_settled = on_settled
        self._acked = 0
        self._missing = 0
        self._shown = 0  # gaps that the SACK at hand shows
        self._received_units = 0
        self._received_bytes = 0

    @property
    def inflight(self) -> int:
        """Bytes in flight: what is not settled, less what the peer counts beyond all SACKs seen."""
        hidden = self._received_bytes - self.acked_bytes
        return max(0, self.loss.inflight - hidden) if hidden > 0 else self.loss.inflight

    def sent_again(self, psn: int) -> None:
        """A new transmission of the PSN goes out: whether that one is missing is open."""
        self._missing &= ~(1 << (psn - self.cack - 1))

    def settle(self, psn: int, exact: Transmission | None, now_ns: int) -> None:
        """One PSN is acknowledged; `exact` is the transmission that arrived, where known."""
        latest = self.loss.current.get(psn)
        if latest is None:
            return
        self.acked_bytes += latest.size
        self._on_settled(latest, now_ns)
        self.loss.acknowledge(psn, exact)

    def advance(
        self, cack: int, now_ns: int, lost: list[Transmission], cause: int | None = None
    ) -> None:
        """Everything up to `cack` has arrived; one that is not newer changes nothing.

        `cause`, a PSN that the caller settles itself, is left to it.
        """
        moved = cack - self.cack
        if moved <= 0:
            return
        for psn in range(self.cack + 1, cack + 1):
            if psn != cause:
                self.settle(psn, None, now_ns)
        self._acked >>= moved
        self._missing >>= moved
        self.cack = cack

    def take_bitmap(
        self,
        bitmap: int,
        base: int,
        sent_psns: int,
        cause_order: int,
        now_ns: int,
        lost: list[Transmission],
        cause: int | None = None,
        *,
        answers_probe: bool = False,
    ) -> None:
        """A SACK's bitmap, bit 0 standing for PSN `base`; PSNs from `sent_psns` on were never
        sent, and their bits are ignored. `cause_order` is that of the transmission or probe that
        caused the SACK, 0 when unknown: then gaps tell nothing. `cause` as for `advance`.

        A SACK covers what lies below its highest bit; one of those that answer a probe covers
        all its 64 PSNs, as far as a later PSN is known to have arrived. Otherwise 64 lost in a
        row, with no bit set among them, would never be covered.
        """
        self._shown = 0
        shift = base - self.cack - 1  # negative for a bitmap that is older than our cack
        seen = bitmap << shift if shift >= 0 else bitmap >> -shift
        seen &= (1 << (sent_psns - 1 - self.cack)) - 1
        fresh = seen & ~self._acked
        self._acked |= seen
        while fresh:
            low = fresh & -fresh
            fresh ^= low
            psn = self.cack + low.bit_length()
            if psn != cause:
                self.settle(psn, None, now_ns)
        end = seen.bit_length() - 1
        if answers_probe:
            end = max(end, min(shift + BITMAP_BITS, self._acked.bit_length() - 1))
        if cause_order == 0 or end <= 0:
            return
        below_base = (1 << shift) - 1 if shift > 0 else 0
        covered = ((1 << end) - 1) & ~below_base
        self._shown = covered & ~self._acked
        holes = self._shown & ~self._missing
        while holes:
            low = holes & -holes
            holes ^= low
            if self.loss.mark_missing(self.cack + low.bit_length(), cause_order, lost):
                self._missing |= low

    def overtaken(self, lost: list[Transmission]) -> None:
        """Rule (a), for what arrivals that this SACK reports have overtaken on their paths."""
        self.loss.overtaken(lost, self._still_missing)
        self._shown = 0

    def _still_missing(self, psn: int) -> bool:
        """Whether the bitmap just taken shows a gap at `psn`; if not, its gap is forgotten."""
        bit = 1 << (psn - self.cack - 1)
        if self._shown & bit:
            return True
        self._missing &= ~bit
        return False

    def is_older(self, units: int) -> bool:
        """Whether a SACK with this count of received bytes was sent before the newest one seen:
        what it does not show may have arrived since."""
        return expand(units, self._received_units) < self._received_units

    def take_received(self, units: int) -> int:
        """The peer's own count of bytes (serial, in 256 B, rounded up); returns what is new."""
        latest = expand(units, self._received_units)
        if latest <= self._received_units:
            return 0
        new = (latest - self._received_units) * RCVD_UNIT_BYTES
        self._received_units = latest
        self._received_bytes = (latest - 1) * RCVD_UNIT_BYTES + 1
        return new
