# SPDX-License-Identifier: Apache-2.0
"""Reliability Probe Request: PETH, 16 bytes (OCP MRC 1.0).

====== ===== ====================================================
offset bytes field
====== ===== ====================================================
0      3     reserved
3      1     vendor
4      2     probe id, echoed in the SACKs that answer
6      2     reserved
8      2     spdcid
10     2     dpdcid
12     2     transmit timestamp in ticks of 128 ns
14     2     tsr (15) · reserved (14:4) · type (3:0) = 1
====== ===== ====================================================
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.fields import Buffer, check_unsigned, unpack_header
from endpoint.wire.tseth import TYPE, check_type

_LAYOUT: Final = Struct("!IHHHHHH")
SIZE: Final = _LAYOUT.size


class Probe(NamedTuple):
    """One reliability probe of one EV."""

    probe_id: int
    tx_timestamp: int = 0
    vendor: int = 0
    spdcid: int = 0
    dpdcid: int = 0
    tsr: bool = False

    def pack(self) -> bytes:
        """The 16 bytes; FieldError names a field that does not fit."""
        return _LAYOUT.pack(
            check_unsigned("peth.vendor", self.vendor, 8),
            check_unsigned("peth.probe_id", self.probe_id, 16),
            0,
            check_unsigned("peth.spdcid", self.spdcid, 16),
            check_unsigned("peth.dpdcid", self.dpdcid, 16),
            check_unsigned("peth.tx_timestamp", self.tx_timestamp, 16),
            self.tsr << 15 | TYPE,
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Probe:
        """Read a header at ``offset``; FrameError when too short or not of type 1."""
        word, probe_id, _, spdcid, dpdcid, timestamp, last = unpack_header(
            _LAYOUT, buffer, offset, "peth"
        )
        check_type("peth.type", last)
        return cls(probe_id, timestamp, word & 0xFF, spdcid, dpdcid, bool(last >> 15))
