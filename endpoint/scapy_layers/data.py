# SPDX-License-Identifier: Apache-2.0
"""Scapy layers of the headers behind the BTH of a data packet."""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import BitField, IntField, ShortField, XIntField, XLongField, XShortField
from scapy.packet import Packet

from endpoint.scapy_layers.bth import MrcBTH, MrcHeader
from endpoint.wire import opcodes, tseth


class MrcMETH(MrcHeader):
    """Message sequence numbers, in every data packet."""

    SIZE = 4
    name = "MRC METH"
    fields_desc: ClassVar[list[Any]] = [ShortField("rqmsn", 0), ShortField("msn", 0)]

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """TSETH when the BTH says so, else RETH."""
        stamped = isinstance(self.underlayer, MrcBTH) and self.underlayer.ts
        follows = MrcTSETH if stamped else MrcRETH
        raw: type[Packet] = conf.raw_layer
        return follows if len(payload) >= follows.SIZE else raw


class MrcTSETH(MrcHeader):
    """Transmit timestamp in ticks of 128 ns."""

    SIZE = 4
    name = "MRC TSETH"
    fields_desc: ClassVar[list[Any]] = [
        XShortField("tx_timestamp", 0),
        BitField("tsr", 0, 1),
        BitField("reserved_tsr", 0, 11),
        BitField("type", tseth.TYPE, 4),
    ]


class MrcRETH(MrcHeader):
    """Where the payload goes. ``length`` is that of the payload unless given."""

    SIZE = 16
    name = "MRC RETH"
    fields_desc: ClassVar[list[Any]] = [
        XLongField("va", 0),
        XIntField("rkey", 0),
        IntField("length", None),
    ]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Fill in the length of the payload."""
        if self.length is None:
            ahead = MrcImmDt.SIZE if isinstance(self.payload, MrcImmDt) else 0
            pkt = pkt[:12] + (len(pay) - ahead).to_bytes(4, "big")
        return pkt + pay

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """ImmDt when the opcode says so, else the payload."""
        below = self.underlayer
        while isinstance(below, MrcMETH | MrcTSETH):
            below = below.underlayer
        has_imm = isinstance(below, MrcBTH) and opcodes.HAS_IMM[below.opcode]
        raw: type[Packet] = conf.raw_layer
        return MrcImmDt if has_imm and len(payload) >= MrcImmDt.SIZE else raw


class MrcImmDt(MrcHeader):
    """Immediate data."""

    SIZE = 4
    name = "MRC ImmDt"
    fields_desc: ClassVar[list[Any]] = [XIntField("imm", 0)]
