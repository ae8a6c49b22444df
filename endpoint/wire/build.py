# SPDX-License-Identifier: Apache-2.0
"""Builders of whole frames: a template per path and QP, patched for every packet."""

from __future__ import annotations

from struct import Struct, error
from typing import Final
from zlib import crc32

from endpoint.wire import bth, ipv6, opcodes, tseth, udp
from endpoint.wire.control import ControlTemplate
from endpoint.wire.dscp import DscpMap
from endpoint.wire.envelope import Envelope, PathAddresses
from endpoint.wire.errors import FieldError
from endpoint.wire.fields import Buffer, check_unsigned
from endpoint.wire.icrc import bth_reserved_as_ones

__all__ = ["MAX_PAYLOAD", "ControlTemplate", "DataTemplate", "PathAddresses"]

MAX_PAYLOAD: Final = 4096
"""The largest path MTU: payload bytes of one packet."""

# BTH, METH, [TSETH], RETH, [ImmDt] in one go.
_PLAIN: Final = Struct("!BBHII HH QII")
_STAMPED: Final = Struct("!BBHII HH HH QII")
_PLAIN_IMM: Final = Struct("!BBHII HH QII I")
_STAMPED_IMM: Final = Struct("!BBHII HH HH QII I")

_ICRC: Final = Struct("<I")
_UDP_AND_ICRC: Final = udp.SIZE + _ICRC.size
_FLAGS: Final = bth.FLAG_ACK_REQUEST | bth.FLAG_R | bth.FLAG_RTX
_NOT_FLAGS: Final = ~_FLAGS
_PADS: Final = (b"", b"\0", b"\0\0", b"\0\0\0")

_BTH_CORRECTION: Final = {
    layout.size: bth_reserved_as_ones(layout.size)
    for layout in (_PLAIN, _STAMPED, _PLAIN_IMM, _STAMPED_IMM)
}


class DataTemplate:
    """Builds the data packets of one QP on one path.

    ``trimmable`` False puts every packet into the NO_TRIM class; otherwise a packet's class is
    TRIMMABLE, or TRIMMABLE_RETX when its flags say retransmission. ``icrc`` False leaves the
    ICRC zero, for measurements that exclude its cost; receivers will find it wrong.
    """

    __slots__ = (
        "_crc",
        "_dscp_first",
        "_dscp_retx",
        "_envelope",
        "_icrc",
        "_key",
        "_pkey",
        "_prefix",
        "dest_qp",
        "path",
    )

    def __init__(
        self,
        path: PathAddresses,
        dest_qp: int,
        dscp: DscpMap,
        *,
        trimmable: bool = True,
        ecn: int = ipv6.ECN_ECT0,
        hop_limit: int = ipv6.DEFAULT_HOP_LIMIT,
        udp_port: int = udp.PORT,
        pkey: int = bth.DEFAULT_PKEY,
        icrc: bool = True,
    ) -> None:
        self.path = path
        self.dest_qp = check_unsigned("bth.dest_qp", dest_qp, 24)
        self._pkey = check_unsigned("bth.pkey", pkey, 16)
        self._envelope = Envelope(path, ecn, hop_limit, udp_port)
        self._dscp_first = dscp.trimmable if trimmable else dscp.no_trim
        self._dscp_retx = dscp.trimmable_retx if trimmable else dscp.no_trim
        self._icrc = icrc
        self._key = -1
        self._prefix = b""
        self._crc = 0

    def build(
        self,
        opcode: int,
        psn: int,
        flags: int,
        va: int,
        rkey: int,
        msn: int,
        rqmsn: int,
        payload: Buffer,
        imm: int | None = None,
        timestamp: int | None = None,
    ) -> bytes:
        """One frame, new bytes. FieldError names a value that does not fit.

        ``opcode`` one of the WRITEs; ``flags`` bits of BTH byte 8 (bth.FLAG_ACK_REQUEST,
        FLAG_RTX); ``va`` of the payload's first byte; ``payload`` 0..4096 bytes; ``imm`` with
        the opcodes that carry it and only with them; ``timestamp`` in ticks of 128 ns adds a
        TSETH.
        """
        length = len(payload)
        pad = -length & 3
        if psn >> 24 or flags & _NOT_FLAGS or length > MAX_PAYLOAD:
            raise _misfit(opcode, psn, flags, va, rkey, msn, rqmsn, length, imm, timestamp)
        try:
            if timestamp is None:
                word = flags << 24 | psn
                if imm is None:
                    tail = _PLAIN.pack(
                        opcode, pad << 4, self._pkey, self.dest_qp, word, rqmsn, msn,
                        va, rkey, length,
                    )  # fmt: skip
                else:
                    tail = _PLAIN_IMM.pack(
                        opcode, pad << 4, self._pkey, self.dest_qp, word, rqmsn, msn,
                        va, rkey, length, imm,
                    )  # fmt: skip
            else:
                word = (flags | bth.FLAG_TS) << 24 | psn
                if imm is None:
                    tail = _STAMPED.pack(
                        opcode, pad << 4, self._pkey, self.dest_qp, word, rqmsn, msn,
                        timestamp, tseth.TYPE, va, rkey, length,
                    )  # fmt: skip
                else:
                    tail = _STAMPED_IMM.pack(
                        opcode, pad << 4, self._pkey, self.dest_qp, word, rqmsn, msn,
                        timestamp, tseth.TYPE, va, rkey, length, imm,
                    )  # fmt: skip
        except error:
            raise _misfit(
                opcode, psn, flags, va, rkey, msn, rqmsn, length, imm, timestamp
            ) from None
        if not opcodes.IS_WRITE[opcode] or opcodes.HAS_IMM[opcode] is (imm is None):
            raise _misfit(opcode, psn, flags, va, rkey, msn, rqmsn, length, imm, timestamp)
        tail_length = len(tail)
        key = tail_length + length + pad << 1 | (flags >> 5 & 1)
        if key != self._key:
            self._prefix, self._crc = self._envelope.sized(
                (key >> 1) + _UDP_AND_ICRC, self._dscp_retx if key & 1 else self._dscp_first
            )
            self._key = key
        if not self._icrc:
            return b"".join((self._prefix, tail, payload, _PADS[pad], b"\0\0\0\0"))
        crc = crc32(payload, crc32(tail, self._crc) ^ _BTH_CORRECTION[tail_length])
        if pad:
            crc = crc32(_PADS[pad], crc)
        return b"".join((self._prefix, tail, payload, _PADS[pad], _ICRC.pack(crc)))


def _misfit(
    opcode: int,
    psn: int,
    flags: int,
    va: int,
    rkey: int,
    msn: int,
    rqmsn: int,
    length: int,
    imm: int | None,
    timestamp: int | None,
) -> FieldError:
    """The error for the first value of a data packet that does not fit."""
    if opcode not in range(256) or not opcodes.IS_WRITE[opcode]:
        return FieldError("bth.opcode", f"{opcode:#x} is no RDMA WRITE")
    if flags & _NOT_FLAGS:
        return FieldError("bth.flags", f"{flags:#x} has bits outside {_FLAGS:#x}")
    if length > MAX_PAYLOAD:
        return FieldError("payload", f"{length} bytes are more than {MAX_PAYLOAD}")
    if opcodes.HAS_IMM[opcode] is (imm is None):
        needs = "needs" if imm is None else "takes no"
        return FieldError("immdt.imm", f"{opcodes.name(opcode)} {needs} immediate data")
    try:
        check_unsigned("bth.psn", psn, 24)
        check_unsigned("reth.va", va, 64)
        check_unsigned("reth.rkey", rkey, 32)
        check_unsigned("meth.msn", msn, 16)
        check_unsigned("meth.rqmsn", rqmsn, 16)
        check_unsigned("immdt.imm", imm or 0, 32)
        check_unsigned("tseth.tx_timestamp", timestamp or 0, 16)
    except FieldError as misfit:
        return misfit
    raise AssertionError("every value fits")
