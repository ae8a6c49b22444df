# SPDX-License-Identifier: Apache-2.0
"""The parser of received frames: bytes to one value with every field that endpoints read.

Malformed bytes raise FrameError, which names the first field found wrong, and nothing else.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from endpoint.wire import bth, ethernet, icrc, ipv6, meth, opcodes, reth, srh, tseth, udp
from endpoint.wire.aeth import SIZE as AETH_SIZE
from endpoint.wire.aeth import Aeth
from endpoint.wire.build import MAX_PAYLOAD
from endpoint.wire.dscp import DscpMap
from endpoint.wire.endpoint_message import (
    REQUEST_SIZE,
    RESPONSE_SIZE,
    EndpointRequest,
    EndpointResponse,
)
from endpoint.wire.errors import FrameError
from endpoint.wire.nack import SIZE as NETH_SIZE
from endpoint.wire.nack import Nack
from endpoint.wire.probe import SIZE as PETH_SIZE
from endpoint.wire.probe import Probe
from endpoint.wire.sack import SIZE as SETH_SIZE
from endpoint.wire.sack import Sack

_LINK_AND_OUTER: Final = Struct("!12xHIHBB16s16s")
# Inner IPv6, UDP and BTH in one go: the addresses of the hot path.
_INNER_TO_BTH: Final = Struct("!IHBB16s16s HHHH BBHII")
_RETH: Final = Struct("!QII")
_METH: Final = Struct("!HH")
_WORD: Final = Struct("!I")

_INNER: Final = ethernet.SIZE + ipv6.SIZE
_BTH: Final = ipv6.SIZE + udp.SIZE
_UDP_PORTS: Final = frozenset((udp.PORT, udp.PORT_AS_PRINTED))
_LEAST_UDP: Final = udp.SIZE + bth.SIZE + icrc.SIZE

_BODY_SIZE: Final = {
    opcodes.ACKNOWLEDGE: AETH_SIZE,
    opcodes.ENDPOINT_REQUEST: REQUEST_SIZE,
    opcodes.ENDPOINT_RESPONSE: RESPONSE_SIZE,
    opcodes.SACK: SETH_SIZE,
    opcodes.NACK: NETH_SIZE,
    opcodes.PROBE_REQUEST: PETH_SIZE,
}


class ParsedFrame:
    """One received frame.

    Addresses are raw bytes. What is said of the outer header is said of the only one in a frame
    without encapsulation (EV formats STEV and UDP). ``ev`` is put together from the UDP source
    port and the inner flow label. ``payload_offset`` and ``payload_length`` say where the payload
    is by the IPv6 length; of a cut frame it is not there. ``va``, ``rkey`` and ``length`` are 0
    when the cut took the RETH (``has_reth`` False). Data frames have ``is_data`` True; of the
    control values exactly one is set in any other frame.
    """

    __slots__ = (
        "_icrc_ok",
        "_inner",
        "ack_request",
        "aeth",
        "dest_qp",
        "dst",
        "endpoint",
        "ev",
        "frame",
        "has_reth",
        "hop_limit",
        "imm",
        "is_cut",
        "is_data",
        "is_trimmed",
        "last_hop",
        "length",
        "msn",
        "nack",
        "opcode",
        "outer_da",
        "outer_dscp",
        "outer_ecn",
        "outer_flow_label",
        "outer_sa",
        "payload_length",
        "payload_offset",
        "probe",
        "psn",
        "rkey",
        "rqmsn",
        "rtx",
        "sack",
        "segments_left",
        "src",
        "tx_timestamp",
        "udp_dport",
        "udp_sport",
        "va",
    )

    frame: bytes
    outer_da: bytes
    outer_sa: bytes
    outer_dscp: int
    outer_ecn: int
    outer_flow_label: int
    hop_limit: int
    """Of the outer header."""
    segments_left: int
    """Of the SRH; 0 without one."""
    src: bytes
    dst: bytes
    udp_sport: int
    udp_dport: int
    ev: int
    opcode: int
    dest_qp: int
    psn: int
    ack_request: bool
    rtx: bool
    is_trimmed: bool
    """Trimmed by its DSCP, or shorter than its IPv6 length says."""
    is_cut: bool
    """Shorter than its IPv6 length says. A frame trimmed by DSCP alone may still be whole."""
    last_hop: bool
    """The DSCP says that the last hop trimmed it."""
    is_data: bool
    payload_offset: int
    payload_length: int
    has_reth: bool
    va: int
    rkey: int
    length: int
    rqmsn: int
    msn: int
    imm: int | None
    tx_timestamp: int | None
    sack: Sack | None
    nack: Nack | None
    probe: Probe | None
    aeth: Aeth | None
    endpoint: EndpointRequest | EndpointResponse | None
    _inner: int
    _icrc_ok: bool | None

    def __repr__(self) -> str:
        trimmed = ", trimmed" if self.is_trimmed else ""
        return (
            f"<{opcodes.name(self.opcode)}: QP {self.dest_qp}, PSN {self.psn}, "
            f"EV {self.ev:#010x}, {self.payload_length} bytes{trimmed}>"
        )

    @property
    def is_marked(self) -> bool:
        """The outer header arrived with congestion experienced."""
        return self.outer_ecn == ipv6.ECN_CE

    @property
    def request_id(self) -> int:
        """Id of an endpoint message: BTH.PSN[15:0]."""
        return self.psn & 0xFFFF

    @property
    def payload(self) -> memoryview:
        """The payload, without a copy; of a cut frame, what is left of it."""
        return memoryview(self.frame)[
            self.payload_offset : self.payload_offset + self.payload_length
        ]

    @property
    def icrc_ok(self) -> bool | None:
        """What :meth:`check_icrc` found; None before it was asked."""
        return self._icrc_ok

    def check_icrc(self) -> bool:
        """Whether the frame is whole and its ICRC right. Computed once, over the payload."""
        if self._icrc_ok is None:
            at = len(self.frame) - icrc.SIZE
            self._icrc_ok = not self.is_cut and icrc.icrc(
                memoryview(self.frame)[self._inner : at]
            ) == icrc.unpack_icrc(self.frame, at)
        return self._icrc_ok


def parse_frame(frame: bytes, dscp: DscpMap) -> ParsedFrame:
    """Parse one Ethernet frame (without its FCS); FrameError when it is malformed."""
    size = len(frame)
    if size < _INNER:
        raise FrameError("frame", f"{size} bytes do not hold an outer IPv6 header ({_INNER})")
    ethertype, outer_word, outer_length, next_header, hop_limit, outer_sa, outer_da = (
        _LINK_AND_OUTER.unpack_from(frame)
    )
    if ethertype != ethernet.ETHERTYPE_IPV6:
        raise FrameError("ethernet.ethertype", f"is 0x{ethertype:04X}, not IPv6")
    if outer_word >> 28 != 6:
        raise FrameError("outer_ipv6.version", f"is {outer_word >> 28}, not 6")
    inner = _INNER
    segments_left = 0
    if next_header == ipv6.NEXT_ROUTING:
        routing = srh.Srh.unpack(frame, inner)
        next_header, segments_left = routing.next_header, routing.segments_left
        inner += srh.SIZE
    if next_header == ipv6.NEXT_UDP and inner == _INNER:
        inner = ethernet.SIZE  # no outer header: EV formats STEV and UDP
    elif next_header != ipv6.NEXT_IPV6:
        raise FrameError("outer_ipv6.next_header", f"is {next_header}, not IPv6 (41) nor UDP")
    if size < inner + _INNER_TO_BTH.size:
        raise FrameError("frame", f"{size} bytes end before the end of the BTH")
    missing = _INNER + outer_length - size
    if missing < 0:
        raise FrameError("outer_ipv6.payload_length", f"leaves {-missing} bytes of the frame over")

    parsed = ParsedFrame()
    parsed.frame = frame
    parsed._inner = inner
    parsed._icrc_ok = None
    parsed.outer_sa = outer_sa
    parsed.outer_da = outer_da
    parsed.outer_dscp = outer_dscp = outer_word >> 22 & 0x3F
    parsed.outer_ecn = outer_word >> 20 & 3
    parsed.outer_flow_label = outer_word & 0xFFFFF
    parsed.hop_limit = hop_limit
    parsed.segments_left = segments_left
    parsed.last_hop = last_hop = outer_dscp == dscp.trimmed_lasthop
    parsed.is_cut = is_cut = missing > 0
    parsed.is_trimmed = is_cut or last_hop or outer_dscp == dscp.trimmed
    udp_length, bth_bits, has_tseth = _parse_inner(parsed, inner)
    if _INNER + outer_length != inner + ipv6.SIZE + udp_length:
        raise FrameError("outer_ipv6.payload_length", f"is {outer_length}, inner {udp_length}")
    _parse_body(parsed, inner + _BTH + bth.SIZE, udp_length, bth_bits, has_tseth)
    return parsed


def _parse_inner(parsed: ParsedFrame, inner: int) -> tuple[int, int, bool]:
    """Inner IPv6, UDP and BTH; the UDP length, BTH byte 1 and the TS bit go to the caller."""
    (
        word, length, next_header, _, parsed.src, parsed.dst, sport, dport, udp_length, _,
        opcode, bits, _, qp, flags_psn,
    ) = _INNER_TO_BTH.unpack_from(parsed.frame, inner)  # fmt: skip
    if word >> 28 != 6:
        raise FrameError("ipv6.version", f"is {word >> 28}, not 6")
    if next_header != ipv6.NEXT_UDP:
        raise FrameError("ipv6.next_header", f"is {next_header}, not UDP (17)")
    if udp_length != length:
        raise FrameError("udp.length", f"is {udp_length}, the IPv6 payload has {length}")
    if udp_length < _LEAST_UDP:
        raise FrameError("udp.length", f"is {udp_length}, the least is {_LEAST_UDP}")
    if dport not in _UDP_PORTS:
        raise FrameError("udp.destination_port", f"is {dport}, not {udp.PORT}")
    if bits & 0x0F != bth.VERSION:
        raise FrameError("bth.version", f"is {bits & 0x0F}, not {bth.VERSION}")
    parsed.udp_sport = sport
    parsed.udp_dport = dport
    parsed.ev = sport << 16 | (word & 0xFFFF)
    parsed.opcode = opcode
    parsed.dest_qp = qp & 0xFFFFFF
    parsed.psn = flags_psn & 0xFFFFFF
    parsed.ack_request = flags_psn >> 31 == 1
    parsed.rtx = flags_psn >> 29 & 1 == 1
    return length, bits, flags_psn >> 28 & 1 == 1


def _parse_body(
    parsed: ParsedFrame, offset: int, udp_length: int, bth_bits: int, has_tseth: bool
) -> None:
    """Everything behind the BTH, by opcode."""
    parsed.sack = parsed.nack = parsed.probe = parsed.aeth = parsed.endpoint = None
    parsed.imm = parsed.tx_timestamp = None
    behind_bth = udp_length - udp.SIZE - bth.SIZE - icrc.SIZE
    if opcodes.IS_WRITE[parsed.opcode]:
        _parse_write(parsed, offset, behind_bth, bth_bits >> 4 & 3, has_tseth)
        return
    parsed.is_data = parsed.has_reth = False
    parsed.va = parsed.rkey = parsed.length = parsed.rqmsn = parsed.msn = 0
    parsed.payload_offset = offset
    parsed.payload_length = 0
    size = _BODY_SIZE.get(parsed.opcode)
    if size is None:
        raise FrameError("bth.opcode", opcodes.name(parsed.opcode))
    if has_tseth:
        raise FrameError("bth.ts", f"is set, but {opcodes.name(parsed.opcode)} has no TSETH")
    if bth_bits >> 4 & 3:
        raise FrameError("bth.pad_count", f"is {bth_bits >> 4 & 3} in a packet without payload")
    if behind_bth != size:
        raise FrameError(
            "udp.length", f"leaves {behind_bth} bytes for {opcodes.name(parsed.opcode)}, not {size}"
        )
    _parse_control(parsed, offset)


def _parse_control(parsed: ParsedFrame, offset: int) -> None:
    frame, opcode = parsed.frame, parsed.opcode
    if opcode == opcodes.SACK:
        parsed.sack = Sack.unpack(frame, offset)
        parsed.tx_timestamp = parsed.sack.tx_timestamp
    elif opcode == opcodes.NACK:
        parsed.nack = Nack.unpack(frame, offset)
        parsed.tx_timestamp = parsed.nack.tx_timestamp
    elif opcode == opcodes.PROBE_REQUEST:
        parsed.probe = Probe.unpack(frame, offset)
        parsed.tx_timestamp = parsed.probe.tx_timestamp
    elif opcode == opcodes.ACKNOWLEDGE:
        parsed.aeth = Aeth.unpack(frame, offset)
    elif opcode == opcodes.ENDPOINT_REQUEST:
        parsed.endpoint = EndpointRequest.unpack(frame, offset)
        parsed.tx_timestamp = parsed.endpoint.tx_timestamp
    else:
        parsed.endpoint = EndpointResponse.unpack(frame, offset)
        parsed.tx_timestamp = parsed.endpoint.tx_timestamp


def _parse_write(
    parsed: ParsedFrame, offset: int, behind_bth: int, pad: int, has_tseth: bool
) -> None:
    """METH, [TSETH], RETH, [ImmDt] and the bounds of the payload; a cut may end from RETH on."""
    frame = parsed.frame
    size = len(frame)
    has_imm = opcodes.HAS_IMM[parsed.opcode]
    headers = meth.SIZE + reth.SIZE
    if has_tseth:
        headers += tseth.SIZE
    if has_imm:
        headers += reth.IMMDT_SIZE
    payload_length = behind_bth - headers - pad
    if payload_length < 0:
        raise FrameError("udp.length", f"leaves {behind_bth} bytes, the headers need {headers}")
    if payload_length > MAX_PAYLOAD:
        raise FrameError("payload", f"has {payload_length} bytes, more than {MAX_PAYLOAD}")
    if payload_length + pad & 3:
        raise FrameError(
            "udp.length",
            f"leaves {payload_length + pad} bytes of payload and pad, no multiple of 4",
        )
    parsed.is_data = True
    parsed.payload_offset = offset + headers
    parsed.payload_length = payload_length

    if size < offset + meth.SIZE:
        raise FrameError("meth", f"cut off at {size} bytes")
    parsed.rqmsn, parsed.msn = _METH.unpack_from(frame, offset)
    offset += meth.SIZE
    if has_tseth:
        if size < offset + tseth.SIZE:
            raise FrameError("tseth", f"cut off at {size} bytes")
        word = _WORD.unpack_from(frame, offset)[0]
        tseth.check_type("tseth.type", word)
        parsed.tx_timestamp = word >> 16
        offset += tseth.SIZE
    if size < offset + reth.SIZE:
        parsed.has_reth = False
        parsed.va = parsed.rkey = parsed.length = 0
        return
    parsed.has_reth = True
    parsed.va, parsed.rkey, parsed.length = _RETH.unpack_from(frame, offset)
    if parsed.length != payload_length:
        raise FrameError("reth.length", f"is {parsed.length}, the payload has {payload_length}")
    offset += reth.SIZE
    if has_imm and size >= offset + reth.IMMDT_SIZE:
        parsed.imm = _WORD.unpack_from(frame, offset)[0]
