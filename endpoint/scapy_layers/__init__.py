# SPDX-License-Identifier: Apache-2.0
"""Scapy layers of every MRC header, for tests, tools and exploring by hand.

``from endpoint.scapy_layers import *`` registers them for UDP ports 4791 and 4971; packets of
other opcodes there still go to scapy's own RoCE layer. Field names are those of the codecs in
:mod:`endpoint.wire`, whose tables say what each field means.

>>> frame = (Ether() / IPv6(dst="5f00:0:1000:1800:1001:801::", fl=0x4A17)
...          / IPv6(dst="fd00::2", fl=0x4A17) / UDP(sport=0xC0DE)
...          / MrcBTH(dest_qp=5, psn=7) / MrcMETH(msn=1) / MrcRETH(va=0x1000) / b"hello")

Left out, these are filled in when a packet is built: UDP checksum (0), ``pad_count``, ``pad``,
``ts``, RETH ``length`` and the ICRC. A dissected trimmed packet has ``icrc`` :data:`NO_ICRC`.
Scapy is too slow for a data path: endpoints use :mod:`endpoint.wire.build` and ``.frame``.
"""

from __future__ import annotations

try:
    from scapy.layers.inet import UDP
    from scapy.packet import bind_layers, bind_top_down
except ImportError as missing:
    raise ImportError(
        "endpoint.scapy_layers needs scapy, which is optional: pip install 'mrc-p4[scapy]'"
    ) from missing

from endpoint.scapy_layers.bth import NO_ICRC, MrcBTH
from endpoint.scapy_layers.control import (
    MrcAETH,
    MrcCCState,
    MrcEETH,
    MrcERTH,
    MrcNETH,
    MrcPETH,
    MrcSETH,
)
from endpoint.scapy_layers.data import MrcImmDt, MrcMETH, MrcRETH, MrcTSETH
from endpoint.wire import opcodes, udp

__all__ = [
    "NO_ICRC",
    "MrcAETH",
    "MrcBTH",
    "MrcCCState",
    "MrcEETH",
    "MrcERTH",
    "MrcImmDt",
    "MrcMETH",
    "MrcNETH",
    "MrcPETH",
    "MrcRETH",
    "MrcSETH",
    "MrcTSETH",
]


def _bind() -> None:
    # In front of whatever scapy.contrib.roce binds to 4791, in either order of import.
    UDP.payload_guess[:0] = [({"dport": port}, MrcBTH) for port in (udp.PORT, udp.PORT_AS_PRINTED)]
    bind_top_down(UDP, MrcBTH, dport=udp.PORT, chksum=0)
    for opcode, is_write in enumerate(opcodes.IS_WRITE):
        if is_write:
            bind_layers(MrcBTH, MrcMETH, opcode=opcode)
    bind_top_down(MrcBTH, MrcMETH, opcode=opcodes.WRITE_ONLY)
    for layer, opcode in {
        MrcAETH: opcodes.ACKNOWLEDGE,
        MrcERTH: opcodes.ENDPOINT_REQUEST,
        MrcEETH: opcodes.ENDPOINT_RESPONSE,
        MrcSETH: opcodes.SACK,
        MrcNETH: opcodes.NACK,
        MrcPETH: opcodes.PROBE_REQUEST,
    }.items():
        bind_layers(MrcBTH, layer, opcode=opcode)
    bind_layers(MrcTSETH, MrcRETH)
    bind_layers(MrcSETH, MrcCCState)


_bind()
