# SPDX-License-Identifier: Apache-2.0
"""Builder of control frames: SACK, NACK, probe, acknowledge and endpoint messages."""

from __future__ import annotations

from struct import Struct
from typing import Final
from zlib import crc32

from endpoint.wire import bth, ipv6, opcodes, udp
from endpoint.wire.aeth import Aeth
from endpoint.wire.endpoint_message import EndpointRequest, EndpointResponse
from endpoint.wire.envelope import Envelope, PathAddresses
from endpoint.wire.fields import check_unsigned
from endpoint.wire.icrc import SIZE as ICRC_SIZE
from endpoint.wire.icrc import bth_reserved_as_ones, pack_icrc
from endpoint.wire.nack import Nack
from endpoint.wire.probe import Probe
from endpoint.wire.sack import Sack

_BTH: Final = Struct("!BBHII")
_BTH_CORRECTION: Final = bth_reserved_as_ones(bth.SIZE)


class ControlTemplate:
    """Builds the control packets of one QP on one path, in the class that ``dscp`` names.

    Answers belong into the control class. A request that is to meet the queues of data takes a
    data class's DSCP, and ``ecn`` ECT(0) to be marked there. Endpoint messages go to QP 2
    whatever ``dest_qp`` is.
    """

    __slots__ = ("_dscp", "_envelope", "_pkey", "_sized", "dest_qp", "path")

    def __init__(
        self,
        path: PathAddresses,
        dest_qp: int,
        dscp: int,
        *,
        ecn: int = ipv6.ECN_NOT_ECT,
        hop_limit: int = ipv6.DEFAULT_HOP_LIMIT,
        udp_port: int = udp.PORT,
        pkey: int = bth.DEFAULT_PKEY,
    ) -> None:
        self.path = path
        self.dest_qp = check_unsigned("bth.dest_qp", dest_qp, 24)
        self._pkey = check_unsigned("bth.pkey", pkey, 16)
        self._dscp = check_unsigned("ipv6.dscp", dscp, 6)
        self._envelope = Envelope(path, ecn, hop_limit, udp_port)
        # Body length -> headers and CRC state; control packets come in four lengths only.
        self._sized: dict[int, tuple[bytes, int]] = {}

    def sack(self, sack: Sack, psn: int | None = None) -> bytes:
        """A reliability SACK; ``psn`` (BTH) is cack_psn unless given."""
        return self._frame(
            opcodes.SACK, self.dest_qp, sack.cack_psn if psn is None else psn, sack.pack()
        )

    def nack(self, nack: Nack, psn: int | None = None) -> bytes:
        """A reliability NACK; ``psn`` (BTH) is nack_psn unless given."""
        return self._frame(
            opcodes.NACK, self.dest_qp, nack.nack_psn if psn is None else psn, nack.pack()
        )

    def probe_request(self, probe: Probe, psn: int = 0) -> bytes:
        """A reliability probe request; it takes no PSN of its own."""
        return self._frame(opcodes.PROBE_REQUEST, self.dest_qp, psn, probe.pack())

    def acknowledge(self, aeth: Aeth, psn: int) -> bytes:
        """A transport acknowledgement or NAK of ``psn``."""
        return self._frame(opcodes.ACKNOWLEDGE, self.dest_qp, psn, aeth.pack())

    def endpoint_request(self, request_id: int, request: EndpointRequest) -> bytes:
        """An endpoint request with a 16-bit ``request_id``."""
        check_unsigned("endpoint.request_id", request_id, 16)
        return self._frame(
            opcodes.ENDPOINT_REQUEST, opcodes.ENDPOINT_QP, request_id, request.pack()
        )

    def endpoint_response(self, request_id: int, response: EndpointResponse) -> bytes:
        """The answer to the endpoint request ``request_id``."""
        check_unsigned("endpoint.request_id", request_id, 16)
        return self._frame(
            opcodes.ENDPOINT_RESPONSE, opcodes.ENDPOINT_QP, request_id, response.pack()
        )

    def _frame(self, opcode: int, dest_qp: int, psn: int, body: bytes) -> bytes:
        length = len(body)
        sized = self._sized.get(length)
        if sized is None:
            udp_length = udp.SIZE + bth.SIZE + length + ICRC_SIZE
            sized = self._sized[length] = self._envelope.sized(udp_length, self._dscp)
        prefix, crc = sized
        base = _BTH.pack(opcode, 0, self._pkey, dest_qp, check_unsigned("bth.psn", psn, 24))
        crc = crc32(body, crc32(base, crc) ^ _BTH_CORRECTION)
        return b"".join((prefix, base, body, pack_icrc(crc)))
