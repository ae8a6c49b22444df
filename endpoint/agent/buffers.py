# SPDX-License-Identifier: Apache-2.0
"""Memory for regions: anonymous, or a file that other processes can read while it is written."""

import mmap
import os
import stat
from dataclasses import dataclass

from endpoint.agent.errors import BadRequest, LimitReached, UnknownObject
from endpoint.agent.values import Region
from endpoint.memory import Access
from endpoint.nic import Nic

MOST_PASSED_BYTES = 1 << 20
"""Of ReadMemory and WriteMemory: large data belongs into files."""
MOST_REGION_BYTES = 1 << 38


@dataclass(frozen=True, slots=True)
class Buffer:
    """Mapped memory, not yet registered."""

    view: memoryview
    file: str | None


def map_buffer(length: int, file: str | None, create: bool, writable: bool) -> Buffer:
    """Maps `length` bytes, of a file if one is named (0: all of it). BadRequest says what is wrong.

    With `create` a file is made where there is none and grows where it is short; it is never cut,
    since another region may lie in it. It must not be cut by others either: whoever touches
    mapped memory beyond the end of its file is killed (SIGBUS).
    """
    if not 0 <= length <= MOST_REGION_BYTES:
        raise BadRequest(f"region: length {length} is outside 0..{MOST_REGION_BYTES}")
    if file is None:
        if not length:
            raise BadRequest("region: an anonymous one needs a length")
        try:
            return Buffer(memoryview(mmap.mmap(-1, length)), None)
        except OSError as error:
            raise LimitReached(f"region of {length} bytes: {error.strerror}") from error
    if not os.path.isabs(file):
        raise BadRequest(f"region: {file!r} is not an absolute path")
    try:
        return Buffer(_map_file(length, file, create, writable), file)
    except OSError as error:
        raise BadRequest(f"region: {file}: {error.strerror or error}") from error


def _map_file(length: int, file: str, create: bool, writable: bool) -> memoryview:
    flags = os.O_CLOEXEC | (os.O_RDWR if writable or create else os.O_RDONLY)
    descriptor = os.open(file, flags | (os.O_CREAT if create else 0), 0o600)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadRequest(f"region: {file}: not a regular file")
        size = status.st_size
        if create and size < length:
            os.posix_fallocate(descriptor, 0, length)  # a full disk is an error here, not SIGBUS
            size = length
        length = length or size
        if not length or length > size:
            raise BadRequest(f"region: {file}: {size} bytes, {length or 'some'} wanted")
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable or create else 0)
        return memoryview(mmap.mmap(descriptor, length, mmap.MAP_SHARED, protection))
    finally:
        os.close(descriptor)


class MemoryBook:
    """The regions of one agent, by their numbers."""

    def __init__(self, nic: Nic) -> None:
        self._nic = nic
        self._regions: dict[int, tuple[Region, memoryview]] = {}
        self._next_id = 1

    def register(self, buffer: Buffer, remote_write: bool) -> Region:
        """Registers mapped memory with the NIC."""
        access = Access.REMOTE_WRITE if remote_write else Access.NONE
        made = self._nic.register_memory(buffer.view, access)
        region = Region(self._next_id, made.va, made.rkey, made.length, remote_write, buffer.file)
        self._regions[region.region_id] = (region, buffer.view)
        self._next_id += 1
        return region

    def deregister(self, region_id: int) -> None:
        """Forgets a region. Writes posted from it go on: the memory lives as long as they do."""
        region, _ = self._find(region_id)
        self._nic.memory.deregister(region.rkey)
        del self._regions[region_id]

    def view(self, region_id: int, offset: int, length: int) -> memoryview:
        """A part of a region."""
        region, view = self._find(region_id)
        if offset + length > region.length:
            raise BadRequest(
                f"region {region_id}: {length} bytes at {offset} leave its {region.length} bytes"
            )
        return view[offset : offset + length]

    def read(self, region_id: int, offset: int, length: int) -> bytes:
        """A copy of a part of a region, up to 1 MiB."""
        _check_passed(length)
        return bytes(self.view(region_id, offset, length))

    def write(self, region_id: int, offset: int, data: bytes) -> None:
        """Puts bytes, up to 1 MiB, into a region that is not a read-only file."""
        _check_passed(len(data))
        view = self.view(region_id, offset, len(data))
        if view.readonly:
            raise BadRequest(f"region {region_id}: its file was mapped for reading only")
        view[:] = data

    def _find(self, region_id: int) -> tuple[Region, memoryview]:
        found = self._regions.get(region_id)
        if found is None:
            raise UnknownObject(f"there is no region {region_id}")
        return found


def _check_passed(length: int) -> None:
    if length > MOST_PASSED_BYTES:
        raise BadRequest(f"{length} bytes in one call: the most is {MOST_PASSED_BYTES}")
