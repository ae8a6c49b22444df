# SPDX-License-Identifier: Apache-2.0
"""Everything in front of the BTH: Ethernet, outer IPv6 [SRH], inner IPv6, UDP.

For one path these bytes never change but for the traffic class and four length fields, so they
are made once and patched.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from endpoint.wire import ethernet, ipv6, srh, udp
from endpoint.wire.fields import check_bytes, check_unsigned
from endpoint.wire.icrc import icrc_of_ip_udp

_WORD: Final = Struct("!I")
_HALF: Final = Struct("!H")
_OUTER: Final = ethernet.SIZE


class PathAddresses(NamedTuple):
    """What a path and its two ends put into a frame's headers.

    ``smac`` and ``dmac`` (6 bytes): the sending NIC port and the switch port it is wired to;
    ``source`` and ``destination`` (16): the NICs' own addresses; ``route`` (16): outer
    destination address, the SRv6 path; ``ev`` (32 bits); ``segment`` (16): segment 0 of an SRH
    for paths longer than one uSID container.
    """

    smac: bytes
    dmac: bytes
    source: bytes
    destination: bytes
    route: bytes
    ev: int
    segment: bytes | None = None


class Envelope:
    """The headers in front of the BTH for one path.

    ``hop_limit`` 0..255, ``ecn`` 0..3 for both IPv6 headers (RFC 6040 copies the inner codepoint
    out); FieldError names what does not fit.
    """

    __slots__ = ("_buffer", "_ecn", "_inner", "_srh_size")

    def __init__(self, path: PathAddresses, ecn: int, hop_limit: int, udp_port: int) -> None:
        check_unsigned("path.ev", path.ev, 32)
        check_bytes("path.route", path.route, 16)
        check_unsigned("ipv6.ecn", ecn, 2)
        # Switches do not read the flow labels; both carry EV[15:0] (decision).
        label = path.ev & 0xFFFF
        outer_next = ipv6.NEXT_IPV6 if path.segment is None else ipv6.NEXT_ROUTING
        parts = [
            ethernet.Ethernet(path.dmac, path.smac).pack(),
            ipv6.Ipv6(
                path.source, path.route, outer_next, 0, flow_label=label, hop_limit=hop_limit
            ).pack(),
            b"" if path.segment is None else srh.Srh(path.segment).pack(),
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
        self._srh_size = len(parts[2])
        self._inner = _OUTER + ipv6.SIZE + self._srh_size

    def sized(self, udp_length: int, dscp: int) -> tuple[bytes, int]:
        """The headers for a UDP length (0..65,471 less an SRH) and a DSCP, and their CRC state.

        The CRC state is what the ICRC has reached behind the UDP header.
        """
        buffer, inner = self._buffer, self._inner
        outer_length = check_unsigned(
            "ipv6.payload_length", self._srh_size + ipv6.SIZE + udp_length, 16
        )
        traffic_class = (check_unsigned("ipv6.dscp", dscp, 6) << 2 | self._ecn) << 20
        for offset in (_OUTER, inner):
            label = _WORD.unpack_from(buffer, offset)[0] & 0xFFFFF
            _WORD.pack_into(buffer, offset, 6 << 28 | traffic_class | label)
        _HALF.pack_into(buffer, _OUTER + 4, outer_length)
        _HALF.pack_into(buffer, inner + 4, udp_length)
        _HALF.pack_into(buffer, inner + ipv6.SIZE + 4, udp_length)
        return bytes(buffer), icrc_of_ip_udp(memoryview(buffer)[inner:])
