# SPDX-License-Identifier: Apache-2.0
"""Golden data packets as they are sent: opcodes, options, pads, sizes, classes, limits."""

from __future__ import annotations

from typing import Any, NamedTuple

from vector_packet import DATA, DSCP, QP, Golden, Net, packet

from endpoint.wire import opcodes
from endpoint.wire.bth import Bth
from endpoint.wire.meth import Meth
from endpoint.wire.reth import ImmDt, Reth
from endpoint.wire.tseth import Tseth

WRITE_NAMES = {
    opcodes.WRITE_FIRST: "write_first",
    opcodes.WRITE_MIDDLE: "write_middle",
    opcodes.WRITE_LAST: "write_last",
    opcodes.WRITE_LAST_IMM: "write_last_imm",
    opcodes.WRITE_ONLY: "write_only",
    opcodes.WRITE_ONLY_IMM: "write_only_imm",
}
VA = 0x7F0012345678
METH = Meth(rqmsn=0x0102, msn=0x0304)
STAMP = Tseth(0xBEEF)


def pattern(length: int) -> bytes:
    """Payload that differs from byte to byte and from one 256-byte block to the next."""
    return bytes((at * 7 + (at >> 8)) & 0xFF for at in range(length))


def write(
    name: str,
    about: str,
    opcode: int = opcodes.WRITE_ONLY,
    payload: bytes = pattern(8),
    *,
    psn: int = 0xABCDEF,
    stamp: Tseth | None = None,
    meth: Meth = METH,
    va: int = VA,
    rkey: int = 0xDEADBEEF,
    imm: int = 0xCAFEF00D,
    net: Net = DATA,
    **bth: Any,
) -> Golden:
    """One data packet; the ImmDt is there when the opcode has one, the TSETH when given."""
    headers: list[NamedTuple] = [Bth(opcode, QP, psn, **bth), meth]
    if stamp is not None:
        headers.append(stamp)
    headers.append(Reth(va, rkey, len(payload)))
    if opcodes.HAS_IMM[opcode]:
        headers.append(ImmDt(imm))
    return packet(name, about, *headers, payload=payload, net=net)


def _each_opcode() -> list[Golden]:
    found = []
    for number, (opcode, name) in enumerate(WRITE_NAMES.items()):
        title = opcodes.name(opcode)
        ends = bool(opcodes.ENDS_MESSAGE[opcode])
        values: dict[str, Any] = {"psn": 0xABCDEF + number, "ack_request": ends}
        found.append(write(name, f"{title}, 8 bytes", opcode, **values))
        found.append(
            write(f"{name}_timestamp", f"{title} with a TSETH", opcode, stamp=STAMP, **values)
        )
    return found


def _sizes() -> list[Golden]:
    pads = [
        write(f"payload_{length}", f"{length} bytes of payload, {-length & 3} of pad",
              payload=pattern(length))
        for length in (0, 1, 2, 3, 4, 5)
    ]  # fmt: skip
    pads.append(
        write("payload_7_all_headers", "every header, 7 bytes of payload, 1 of pad",
              opcodes.WRITE_ONLY_IMM, pattern(7), stamp=STAMP)
    )  # fmt: skip
    mtus = [
        write(f"mtu_{mtu}", f"a full packet of path MTU {mtu}", opcodes.WRITE_MIDDLE, pattern(mtu))
        for mtu in (256, 512, 1024, 2048, 4096)
    ]
    return pads + mtus


def _options() -> list[Golden]:
    retransmitted = Net(dscp=DSCP.trimmable_retx)
    return [
        write("ack_request", "the ack-request bit", opcodes.WRITE_MIDDLE, ack_request=True),
        write("retransmission", "RTX bit and class TRIMMABLE_RETX, acknowledgement requested",
              opcodes.WRITE_MIDDLE, rtx=True, ack_request=True, stamp=STAMP, net=retransmitted),
        write("class_no_trim", "class NO_TRIM: no switch may cut it", net=Net(dscp=DSCP.no_trim)),
        write("not_ecn_capable", "ECN 0: no switch may mark it", net=Net(ecn=0)),
        write("bth_bits", "solicited event, migration and R bits, another partition key",
              solicited=True, migration=True, r=True, pkey=0x8001),
        write("timestamp_tsr", "the tsr bit of the TSETH", stamp=Tseth(0x1234, tsr=True)),
        write("udp_port_4971", "the UDP port that OCP MRC 1.0 prints", net=Net(udp_port=4971)),
    ]  # fmt: skip


def _limits() -> list[Golden]:
    return [
        write("all_zero", "every number at its least", psn=0, stamp=Tseth(0), meth=Meth(0, 0), va=0,
              rkey=0, imm=0, opcode=opcodes.WRITE_ONLY_IMM, payload=b"", pkey=0),
        write("all_ones", "every number at its most", psn=0xFFFFFF, stamp=Tseth(0xFFFF),
              meth=Meth(0xFFFF, 0xFFFF), va=0xFFFFFFFFFFFFFFF8, rkey=0xFFFFFFFF, imm=0xFFFFFFFF,
              opcode=opcodes.WRITE_ONLY_IMM, payload=b"\xff" * 8),
        write("psn_last", "the last PSN before the wrap", opcodes.WRITE_FIRST, psn=0xFFFFFF),
        write("psn_first", "the first PSN after the wrap", opcodes.WRITE_LAST, psn=0,
              ack_request=True),
    ]  # fmt: skip


def cases() -> list[Golden]:
    """All of them, in the order of the capture."""
    return [*_each_opcode(), *_sizes(), *_options(), *_limits()]
