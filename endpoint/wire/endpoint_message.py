# SPDX-License-Identifier: Apache-2.0
"""Endpoint Request (ERTH, 16 bytes) and Response (EETH, 36 bytes) (OCP MRC 1.0).

They belong to no connection: destination QP 2, request id in BTH.PSN[15:0].

ERTH:

====== ===== ====================================================
offset bytes field
====== ===== ====================================================
0      1     reserved
1      1     op (1:0): 0 port status update, 1 EV probe
2      1     reserved
3      1     vendor
4      4     port_status_mask, bit set = port usable
8      4     reserved
12     2     transmit timestamp in ticks of 128 ns
14     2     tsr (15) · reserved (14:4) · type (3:0) = 1
====== ===== ====================================================

EETH:

====== ===== ====================================================
0      1     reserved
1      1     op (3:2) (decision: two of three implementers)
2      26    reserved
28     2     transmit timestamp (decision: the request's own, reflected)
30     6     reserved
====== ===== ====================================================
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire.errors import FieldError, FrameError
from endpoint.wire.fields import Buffer, check_unsigned, unpack_header
from endpoint.wire.tseth import TYPE, check_type

OP_PORT_STATUS_UPDATE: Final = 0
OP_EV_PROBE: Final = 1

_REQUEST: Final = Struct("!BBBBIIHH")
_RESPONSE: Final = Struct("!BB26xH6x")
REQUEST_SIZE: Final = _REQUEST.size
RESPONSE_SIZE: Final = _RESPONSE.size


def _check_op_out(field: str, op: int) -> int:
    if op not in (OP_PORT_STATUS_UPDATE, OP_EV_PROBE):
        raise FieldError(field, f"{op} is neither 0 (port status update) nor 1 (EV probe)")
    return op


def _check_op_in(field: str, op: int) -> int:
    if op > OP_EV_PROBE:
        raise FrameError(field, f"is {op}, neither 0 (port status update) nor 1 (EV probe)")
    return op


class EndpointRequest(NamedTuple):
    """A message to the peer NIC as a whole. ``port_status_mask``: bit n = port n usable."""

    op: int
    port_status_mask: int = 0
    tx_timestamp: int = 0
    vendor: int = 0
    tsr: bool = False

    def pack(self) -> bytes:
        """The 16 bytes; FieldError names a field that does not fit."""
        return _REQUEST.pack(
            0,
            _check_op_out("erth.op", self.op),
            0,
            check_unsigned("erth.vendor", self.vendor, 8),
            check_unsigned("erth.port_status_mask", self.port_status_mask, 32),
            0,
            check_unsigned("erth.tx_timestamp", self.tx_timestamp, 16),
            self.tsr << 15 | TYPE,
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> EndpointRequest:
        """Read a header at ``offset``; FrameError when too short, of unknown op or type."""
        _, bits, _, vendor, mask, _, timestamp, last = unpack_header(
            _REQUEST, buffer, offset, "erth"
        )
        check_type("erth.type", last)
        return cls(_check_op_in("erth.op", bits & 3), mask, timestamp, vendor, bool(last >> 15))


class EndpointResponse(NamedTuple):
    """The answer to a request, with the request's own timestamp."""

    op: int
    tx_timestamp: int = 0

    def pack(self) -> bytes:
        """The 36 bytes; FieldError names a field that does not fit."""
        return _RESPONSE.pack(
            0,
            _check_op_out("eeth.op", self.op) << 2,
            check_unsigned("eeth.tx_timestamp", self.tx_timestamp, 16),
        )

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> EndpointResponse:
        """Read a header at ``offset``; FrameError when too short or of unknown op."""
        _, bits, timestamp = unpack_header(_RESPONSE, buffer, offset, "eeth")
        return cls(_check_op_in("eeth.op", bits >> 2 & 3), timestamp)
