# SPDX-License-Identifier: Apache-2.0
"""Memory regions: what a remote side may write, where, and with which key.

A virtual address here is a number of the table's own, not a pointer. Regions lie apart with an
unmapped gap between them, so that an address just past one region never belongs to another.
"""

import enum
import random
from dataclasses import dataclass, field

_FIRST_VA = 0x1000_0000
_ALIGNMENT = 4096
_GAP = 65536


class Access(enum.IntFlag):
    """Rights on a region. Reading one's own memory needs none."""

    NONE = 0
    LOCAL_WRITE = 1
    REMOTE_WRITE = 2


class AccessViolation(Exception):
    """A remote access that the table refuses: unknown rkey, missing right, or out of bounds."""


@dataclass(frozen=True, slots=True)
class MemoryRegion:
    """A registered buffer: bytes `va` to `va + length` of the remote side's view of it."""

    va: int
    length: int
    rkey: int
    access: Access
    buffer: memoryview = field(repr=False)


class MemoryTable:
    """The regions of one NIC. `rng` draws the rkeys, so that they are not guessable in order."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._regions: dict[int, MemoryRegion] = {}
        self._next_va = _FIRST_VA

    def register(self, buffer: bytearray | memoryview, access: Access) -> MemoryRegion:
        """Registers a writable, contiguous buffer; raises ValueError for any other."""
        view = memoryview(buffer)
        if not view.contiguous:
            raise ValueError("memory region: the buffer is not contiguous")
        view = view.cast("B")
        if access and view.readonly:
            raise ValueError("memory region: the buffer is read-only but a write right was asked")
        rkey = self._rng.getrandbits(32)
        while rkey in self._regions or rkey == 0:
            rkey = self._rng.getrandbits(32)
        region = MemoryRegion(self._next_va, view.nbytes, rkey, access, view)
        self._next_va += -(-(view.nbytes + _GAP) // _ALIGNMENT) * _ALIGNMENT
        self._regions[rkey] = region
        return region

    def deregister(self, rkey: int) -> None:
        """Forgets a region: later packets with its rkey are violations. KeyError if unknown."""
        del self._regions[rkey]

    def write(self, rkey: int, va: int, payload: bytes | memoryview) -> None:
        """Places a payload for a remote writer, after all three checks; nothing on a violation.

        An empty payload touches no memory and needs no valid key, as for any RDMA WRITE of
        length 0 (InfiniBand Architecture, R_Key is not checked).
        """
        length = len(payload)
        if length == 0:
            return
        region = self._regions.get(rkey)
        if region is None:
            raise AccessViolation(f"rkey {rkey:#010x} is not registered")
        if not region.access & Access.REMOTE_WRITE:
            raise AccessViolation(f"rkey {rkey:#010x} does not allow remote writes")
        start = va - region.va
        if start < 0 or start + length > region.length:
            raise AccessViolation(
                f"{length} bytes at {va:#x} leave the region of {region.length} bytes "
                f"at {region.va:#x}"
            )
        region.buffer[start : start + length] = payload
