# SPDX-License-Identifier: Apache-2.0
"""Capture files with nanosecond stamps (the classic pcap format, Ethernet frames).

Little-endian; file header 24 bytes: magic A1B23C4D (nanoseconds) · version 2.4 · zone 0 ·
accuracy 0 · snap length · link type 1. Then for each frame 16 bytes: seconds · nanoseconds ·
bytes captured · bytes on the wire, and the bytes.
"""

from __future__ import annotations

from struct import Struct
from typing import BinaryIO, Final

from endpoint.wire.errors import FieldError
from endpoint.wire.fields import Buffer, check_unsigned

_MAGIC_NANOSECONDS: Final = 0xA1B23C4D
_LINKTYPE_ETHERNET: Final = 1
_FILE_HEADER: Final = Struct("<IHHiIII")
_RECORD_HEADER: Final = Struct("<IIII")

DEFAULT_SNAP_LENGTH: Final = 65_535


class PcapWriter:
    """Writes frames to an open binary file as they come; opening and closing is the caller's.

    ``snap_length`` (1..2**31-1) is how many bytes of a frame are kept at most.
    """

    __slots__ = ("_handle", "_snap_length", "frames")

    def __init__(self, handle: BinaryIO, snap_length: int = DEFAULT_SNAP_LENGTH) -> None:
        if not 1 <= snap_length < 1 << 31:
            raise FieldError("pcap.snap_length", f"{snap_length} is outside 1..{(1 << 31) - 1}")
        self._handle = handle
        self._snap_length = snap_length
        self.frames = 0
        handle.write(
            _FILE_HEADER.pack(_MAGIC_NANOSECONDS, 2, 4, 0, 0, snap_length, _LINKTYPE_ETHERNET)
        )

    def write(self, time_ns: int, frame: Buffer, original_length: int | None = None) -> None:
        """Append one frame, seen ``time_ns`` nanoseconds (0..2**32 s) into the caller's time.

        ``original_length`` is the length recorded for the wire, that of ``frame`` unless given.
        For a trimmed frame the length before the cut may be given: Wireshark then shows its
        headers as those of a frame captured in part, not as malformed.
        """
        length = len(frame)
        seconds, nanoseconds = divmod(time_ns, 1_000_000_000)
        kept = min(length, self._snap_length)
        self._handle.write(
            _RECORD_HEADER.pack(
                check_unsigned("pcap.seconds", seconds, 32),
                nanoseconds,
                kept,
                length
                if original_length is None
                else check_unsigned("pcap.original_length", original_length, 32),
            )
        )
        self._handle.write(frame if kept == length else frame[:kept])
        self.frames += 1
