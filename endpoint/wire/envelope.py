# SPDX-License-Identifier: Apache-2.0
"""Everything in front of the BTH: Ethernet, [outer IPv6 [SRH],] inner IPv6, UDP.

Only a path without a route has no outer header: there the switches hash what they see (the EV
formats STEV and UDP of the control API), and marks and trims are on the one IPv6 header.

For one path these bytes never change but for the traffic class and four length fields, so they
are made once and patched.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire import ethernet, ipv6, srh, udp
from endpoint.wire.errors import FieldError
from endpoint.wire.fields import check_bytes, check_unsigned
from endpoint.wire.icrc import icrc_of_ip_udp

_WORD: Final = Struct("!I")
_HALF: Final = Struct("!H")
_OUTER: Final = ethernet.SIZE


class PathAddresses(NamedTuple):
    """What a path and its two ends put into a frame's headers.

    ``smac`` and ``dmac`` (6 bytes): the sending NIC port and the switch port it is wired to;
    ``source`` and ``destination`` (16): the NICs' own addresses; ``route`` (16): outer
    destination address, the SRv6 path, or None for frames without an outer header; ``ev`` (32
    bits); ``segment`` (16): segment 0 of an SRH for paths longer than one uSID container.
    """

    smac: bytes
    dmac: bytes
    source: bytes
    destination: bytes
    route: bytes | None
    ev: int
    segment: bytes | None = None


class Envelope:
    """The headers in front of the BTH for one path.

    ``hop_limit`` 0..255, ``ecn`` 0..3 for both IPv6 headers (RFC 6040 copies the inner codepoint
    out); FieldError names what does not fit.
    """

    __slots__ = ("_buffer", "_ecn", "_headers", "_inner", "_outer_size")

    def __init__(self, path: PathAddresses, ecn: int, hop_limit: int, udp_port: int) -> None:
        check_unsigned("path.ev", path.ev, 32)
        check_unsigned("ipv6.ecn", ecn, 2)
        # Switches do not read the flow labels of SRv6 packets; all carry EV[15:0] (decision).
        label = path.ev & 0xFFFF
        outer = _outer_headers(path, label, hop_limit)
        parts = [
            ethernet.Ethernet(path.dmac, path.smac).pack(),
            outer,
            ipv6.Ipv6(
                path.source,
                path.destination,
                ipv6.NEXT_UDP,
                0,
                flow_label=label,
                hop_limit=hop_limit,
            ).pack(),
            udp.Udp(path.ev >> 16, udp_port, 0).pack(),
        ]
        self._buffer = bytearray(b"".join(parts))
        self._ecn = ecn
        self._outer_size = len(outer)
        self._inner = _OUTER + len(outer)
        self._headers = (_OUTER, self._inner) if outer else (self._inner,)

    def sized(self, udp_length: int, dscp: int) -> tuple[bytes, int]:
        """The headers for a UDP length (0..65,471 less an SRH) and a DSCP, and their CRC state.

        The CRC state is what the ICRC has reached behind the UDP header.
        """
        buffer, inner = self._buffer, self._inner
        if self._outer_size:
            outer_length = self._outer_size + udp_length
            _HALF.pack_into(
                buffer, _OUTER + 4, check_unsigned("ipv6.payload_length", outer_length, 16)
            )
        traffic_class = (check_unsigned("ipv6.dscp", dscp, 6) << 2 | self._ecn) << 20
        for offset in self._headers:
            label = _WORD.unpack_from(buffer, offset)[0] & 0xFFFFF
            _WORD.pack_into(buffer, offset, 6 << 28 | traffic_class | label)
        check_unsigned("udp.length", udp_length, 16)
        _HALF.pack_into(buffer, inner + 4, udp_length)
        _HALF.pack_into(buffer, inner + ipv6.SIZE + 4, udp_length)
        return bytes(buffer), icrc_of_ip_udp(memoryview(buffer)[inner:])


def _outer_headers(path: PathAddresses, label: int, hop_limit: int) -> bytes:
    """Outer IPv6 header and SRH; nothing for a path without a route."""
    if path.route is None:
        if path.segment is not None:
            raise FieldError("path.segment", "needs a route")
        return b""
    check_bytes("path.route", path.route, 16)
    next_header = ipv6.NEXT_IPV6 if path.segment is None else ipv6.NEXT_ROUTING
    outer = ipv6.Ipv6(
        path.source, path.route, next_header, 0, flow_label=label, hop_limit=hop_limit
    ).pack()
    return outer if path.segment is None else outer + srh.Srh(path.segment).pack()
