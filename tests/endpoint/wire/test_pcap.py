# SPDX-License-Identifier: Apache-2.0
"""Captures are classic nanosecond pcap, byte for byte and as scapy reads them."""

import io
from pathlib import Path

import pytest
from scapy.utils import RawPcapReader
from wire_samples import sample_frames

from endpoint.wire.errors import FieldError
from endpoint.wire.pcap import PcapWriter


def test_the_bytes_of_a_small_capture() -> None:
    handle = io.BytesIO()
    writer = PcapWriter(handle, snap_length=3)
    writer.write(2_000_000_001, b"\x0a\x0b\x0c\x0d")
    writer.write(5, b"\x0e", original_length=9)
    assert handle.getvalue() == bytes.fromhex(
        "4d3cb2a1 0200 0400 00000000 00000000 03000000 01000000"
        "02000000 01000000 03000000 04000000 0a0b0c"
        "00000000 05000000 01000000 09000000 0e"
    )
    assert writer.frames == 2


def test_scapy_reads_back_frames_and_nanoseconds(tmp_path: Path) -> None:
    frames = list(sample_frames().values())
    file = tmp_path / "link.pcap"
    with file.open("wb") as handle:
        writer = PcapWriter(handle)
        for number, frame in enumerate(frames):
            writer.write(number * 1_000_000_007, frame)
    with RawPcapReader(str(file)) as reader:
        assert reader.nano
        read = [(raw, meta.sec * 10**9 + meta.usec, meta.wirelen) for raw, meta in reader]
    assert read == [(f, n * 1_000_000_007, len(f)) for n, f in enumerate(frames)]


def test_frames_are_written_as_they_come() -> None:
    handle = io.BytesIO()
    writer = PcapWriter(handle)
    sizes = []
    for _ in range(3):
        writer.write(0, memoryview(bytes(100)))
        sizes.append(len(handle.getvalue()))
    assert sizes == [140, 256, 372]


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(FieldError, match=r"pcap\.snap_length"):
        PcapWriter(io.BytesIO(), snap_length=0)
    writer = PcapWriter(io.BytesIO())
    for time_ns in (-1, (1 << 32) * 10**9):
        with pytest.raises(FieldError, match=r"pcap\.seconds"):
            writer.write(time_ns, b"x")
    with pytest.raises(FieldError, match=r"pcap\.original_length"):
        writer.write(0, b"x", original_length=-1)
