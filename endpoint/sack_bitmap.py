# SPDX-License-Identifier: Apache-2.0
"""What a responder has received, and the 64-PSN window of it that a SACK shows.

PSNs are unbounded integers here (`endpoint.serial`). `cack` is the last PSN up to which
everything has arrived; bit i of `bits` stands for PSN cack + 1 + i, so bit 0 is always clear
after an `add`.
"""

from collections.abc import Iterator

WINDOW_PSNS = 64
_WINDOW_MASK = (1 << WINDOW_PSNS) - 1


class ReceiveBitmap:
    """The set of PSNs received; memory is one bit for each PSN between cack and the newest."""

    __slots__ = ("bits", "cack")

    def __init__(self, first_psn: int) -> None:
        self.cack = first_psn - 1
        self.bits = 0

    def __contains__(self, psn: int) -> bool:
        offset = psn - self.cack - 1
        return offset < 0 or (self.bits >> offset) & 1 == 1

    def add(self, psn: int) -> int:
        """Adds a PSN not yet received; returns by how much cack advanced."""
        offset = psn - self.cack - 1
        if offset:
            self.bits |= 1 << offset
            return 0
        bits = self.bits | 1
        run = (~bits & (bits + 1)).bit_length() - 1
        self.bits = bits >> run
        self.cack += run
        return run

    @property
    def newest(self) -> int:
        """The highest PSN received (cack when nothing is out of order)."""
        return self.cack + self.bits.bit_length()

    @property
    def out_of_order(self) -> int:
        """How many PSNs beyond cack have been received."""
        return self.bits.bit_count()

    def window(self, cause: int, slide: bool) -> tuple[int, int]:
        """Base offset from cack, and bitmap, of a SACK caused by PSN `cause`.

        Base is cack + 1, slid up just so far that `cause` fits unless `slide` is false (SACKs
        for retransmissions start at cack + 1, so that old holes are always seen).
        """
        offset = 1
        if slide and cause - self.cack > WINDOW_PSNS:
            offset = cause - self.cack - WINDOW_PSNS + 1
        return offset, (self.bits >> (offset - 1)) & _WINDOW_MASK

    def windows(self, most: int) -> Iterator[tuple[int, int]]:
        """Base offsets and bitmaps from cack + 1 to the newest PSN: the answer to a probe.

        Yields at least one, at most `most`.
        """
        spans = max(1, -(-self.bits.bit_length() // WINDOW_PSNS))
        for i in range(min(spans, most)):
            shift = i * WINDOW_PSNS
            yield shift + 1, (self.bits >> shift) & _WINDOW_MASK
