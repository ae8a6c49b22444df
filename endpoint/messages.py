# SPDX-License-Identifier: Apache-2.0
"""A posted WRITE or WRITE_IMM and its cutting into packets."""

from endpoint.wire import opcodes

MAX_MESSAGE_BYTES = 1 << 30

_FIXED_BYTES = 40 + 8 + 12 + 4 + 16 + 4  # inner IPv6, UDP, BTH, METH, RETH, ICRC
_OPTION_BYTES = 4  # TSETH, ImmDt


def nominal_size(payload: int, stamped: bool, with_imm: bool) -> int:
    """Bytes that congestion control counts for a data packet: its UDP length + 40."""
    return _FIXED_BYTES + payload + (-payload & 3) + _OPTION_BYTES * (stamped + with_imm)


class Message:
    """One work request of the send queue. Its packets have consecutive PSNs from `first_psn`.

    `rqmsn` counts the WRITE_IMM messages before it, `msn` all messages, both 16 bits on the wire.
    `unacked` is the number of its PSNs not acknowledged yet.
    """

    __slots__ = ("data", "first_psn", "imm", "last_psn", "length", "msn", "mtu", "packets", "rkey",
                 "rqmsn", "unacked", "va", "wr_id")  # fmt: skip

    def __init__(
        self,
        wr_id: int,
        data: memoryview,
        va: int,
        rkey: int,
        imm: int | None,
        mtu: int,
        first_psn: int,
        msn: int,
        rqmsn: int,
    ) -> None:
        length = data.nbytes
        if length > MAX_MESSAGE_BYTES:
            raise ValueError(f"write of {length} bytes: the most is {MAX_MESSAGE_BYTES}")
        if va < 0 or va + length > 1 << 64:
            raise ValueError(f"write to {va:#x}: not a 64-bit address range")
        if not 0 <= rkey < 1 << 32:
            raise ValueError(f"rkey {rkey:#x} is not 32 bits")
        if imm is not None and not 0 <= imm < 1 << 32:
            raise ValueError(f"immediate value {imm:#x} is not 32 bits")
        self.wr_id = wr_id
        self.data = data
        self.length = length
        self.va = va
        self.rkey = rkey
        self.imm = imm
        self.mtu = mtu
        self.packets = max(1, -(-length // mtu))
        self.unacked = self.packets
        self.first_psn = first_psn
        self.last_psn = first_psn + self.packets - 1
        self.msn = msn
        self.rqmsn = rqmsn

    def payload_length(self, psn: int) -> int:
        """Payload bytes of the packet with this PSN."""
        if psn != self.last_psn:
            return self.mtu
        return self.length - (self.packets - 1) * self.mtu

    def opcode(self, psn: int) -> int:
        """Opcode of the packet with this PSN."""
        if psn != self.last_psn:
            return opcodes.WRITE_FIRST if psn == self.first_psn else opcodes.WRITE_MIDDLE
        if self.packets == 1:
            return opcodes.WRITE_ONLY if self.imm is None else opcodes.WRITE_ONLY_IMM
        return opcodes.WRITE_LAST if self.imm is None else opcodes.WRITE_LAST_IMM
