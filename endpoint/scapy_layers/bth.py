# SPDX-License-Identifier: Apache-2.0
"""Scapy layer of the base transport header, and what all MRC layers share."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from scapy.config import conf
from scapy.fields import (
    BitField,
    ByteEnumField,
    StrField,
    ThreeBytesField,
    X3BytesField,
    XByteField,
    XLEIntField,
    XShortField,
)
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

from endpoint.wire import bth, opcodes, udp
from endpoint.wire.icrc import SIZE as ICRC_SIZE
from endpoint.wire.icrc import icrc, pack_icrc

NO_ICRC: Final = -1
"""``MrcBTH.icrc`` of a packet that has none, because a switch cut it off."""


class MrcHeader(Packet):
    """A header of ``SIZE`` bytes; what follows is only dissected when it is there as a whole."""

    SIZE = 0

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """The layer that follows by the bindings, or Raw when a cut took part of it."""
        guess: type[Packet] = super().guess_payload_class(payload)
        if issubclass(guess, MrcHeader) and len(payload) < guess.SIZE:
            raw: type[Packet] = conf.raw_layer
            return raw
        return guess


class _PadField(StrField):
    """Bytes between payload and ICRC, dissected from where :class:`MrcBTH` has put them."""

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, bytes]:
        count = 0 if pkt.dissects_cut else pkt.pad_count
        return s[count:], s[:count]


class _IcrcField(XLEIntField):
    """The ICRC, sent least significant byte first; no bytes at all for NO_ICRC."""

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, int]:
        if pkt.dissects_cut:
            return s, NO_ICRC
        rest, value = super().getfield(pkt, s)
        return rest, value

    def addfield(self, pkt: Any, s: bytes, val: int | None) -> bytes:
        if val == NO_ICRC:
            return s
        added: bytes = super().addfield(pkt, s, val)
        return added


class MrcBTH(MrcHeader):
    """Base transport header, and with it the pad and the ICRC from the end of the packet."""

    __slots__ = ["dissects_cut"]
    SIZE = bth.SIZE
    name = "MRC BTH"
    fields_desc: ClassVar[list[Any]] = [
        ByteEnumField("opcode", opcodes.WRITE_ONLY, opcodes.NAMES),
        BitField("solicited", 0, 1),
        BitField("migration", 0, 1),
        BitField("pad_count", None, 2),
        BitField("version", 0, 4),
        XShortField("pkey", bth.DEFAULT_PKEY),
        XByteField("reserved", 0),
        X3BytesField("dest_qp", 0),
        BitField("ack_request", 0, 1),
        BitField("r", 0, 1),
        BitField("rtx", 0, 1),
        BitField("ts", None, 1),
        BitField("reserved_flags", 0, 4),
        ThreeBytesField("psn", 0),
        _PadField("pad", None),
        _IcrcField("icrc", None),
    ]

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *_: Any, **__: Any) -> type[Packet]:
        """This layer for MRC's opcodes, scapy's RoCE layer for any other."""
        if _pkt and _pkt[0] not in opcodes.NAMES:
            from scapy.contrib.roce import BTH

            other: type[Packet] = BTH
            return other
        return cls

    @property
    def ev(self) -> int | None:
        """EV of the packet, from UDP source port and inner flow label; None without them."""
        below = self.underlayer
        if not isinstance(below, UDP) or not isinstance(below.underlayer, IPv6):
            return None
        return int(below.sport) << 16 | (int(below.underlayer.fl) & 0xFFFF)

    def pre_dissect(self, s: bytes) -> bytes:
        """Move pad and ICRC from the end to behind the header, if no switch has cut them off."""
        below = self.underlayer
        expected = below.len - udp.SIZE if isinstance(below, UDP) and below.len else len(s)
        pad_count = s[1] >> 4 & 3 if len(s) > 1 else 0
        tail = pad_count + ICRC_SIZE
        self.dissects_cut = len(s) < max(expected, bth.SIZE + tail)
        return s if self.dissects_cut else s[: bth.SIZE] + s[-tail:] + s[bth.SIZE : -tail]

    def post_dissect(self, s: bytes) -> bytes:
        """Forget the bytes as dissected, whose order is not the packet's."""
        self.raw_packet_cache = None
        return s

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Fill in what was left out, and put pad and ICRC to the end."""
        head = bytearray(pkt[: bth.SIZE])
        pad = self.pad
        if pad is None:
            pad = bytes(-len(pay) & 3 if self.pad_count is None else self.pad_count)
        if self.pad_count is None:
            head[1] |= (len(pad) & 3) << 4
        if self.ts is None and self.haslayer("MrcTSETH"):
            head[8] |= 0x10
        packet: bytes = bytes(head) + pay + pad
        if self.icrc == NO_ICRC:
            return packet
        return packet + pack_icrc(self._icrc_of(packet) if self.icrc is None else self.icrc)

    def _icrc_of(self, packet: bytes) -> int:
        """ICRC of a packet from its BTH to its pad; 0 when no UDP over IPv6 stands below."""
        below = self.underlayer
        if not isinstance(below, UDP) or not isinstance(below.underlayer, IPv6):
            return 0
        headers = bytearray(below.underlayer.self_build() + below.self_build())
        length = (udp.SIZE + len(packet) + ICRC_SIZE).to_bytes(2, "big")
        if below.underlayer.plen is None:
            headers[4:6] = length
        if below.len is None:
            headers[-4:-2] = length
        return icrc(bytes(headers) + packet)

    def mysummary(self) -> str:
        """Opcode, QP and PSN."""
        return str(self.sprintf("MRC %MrcBTH.opcode% QP %MrcBTH.dest_qp% PSN %MrcBTH.psn%"))
