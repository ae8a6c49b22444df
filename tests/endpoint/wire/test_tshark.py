# SPDX-License-Identifier: Apache-2.0
"""tshark shows captured frames as IPv6 in IPv6 and RRoCE with the right QP and PSN."""

import shutil
import subprocess
from pathlib import Path

import pytest
from wire_samples import DSCP, PATH, PATH_WITH_SRH, data_template, sample_frames, with_dscp

from endpoint.wire import opcodes
from endpoint.wire.envelope import PathAddresses
from endpoint.wire.frame import parse_frame
from endpoint.wire.pcap import PcapWriter

pytestmark = [
    pytest.mark.tshark,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not on the PATH"),
]

FIELDS = [
    "frame.time_epoch", "frame.protocols", "_ws.col.Protocol", "_ws.col.Info", "ipv6.nxt",
    "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "_ws.malformed",
    "_ws.expert.message",
]  # fmt: skip


def tshark(file: Path) -> list[dict[str, str]]:
    """The FIELDS of each frame. UDP checksum 0 over IPv6 is allowed (RFC 6935), so say so."""
    command = ["tshark", "-r", str(file), "-o", "udp.ignore_ipv6_zero_checksum:TRUE"]
    command += ["-T", "fields", "-E", "separator=/t", "-E", "aggregator=,"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


def capture(file: Path, frames: list[bytes], original_length: int | None = None) -> None:
    with file.open("wb") as handle:
        writer = PcapWriter(handle)
        for number, frame in enumerate(frames):
            writer.write(number * 1_000_000_007, frame, original_length)


BARE = PATH._replace(route=None)
"""As with the EV formats STEV and UDP: one IPv6 header, and no path in it."""


@pytest.mark.parametrize(
    ("path", "headers"),
    [(PATH, "ipv6:ipv6"), (PATH_WITH_SRH, "ipv6:ipv6.routing:ipv6"), (BARE, "ipv6")],
    ids=["srv6", "srh", "bare"],
)
def test_every_kind_of_frame(tmp_path: Path, path: PathAddresses, headers: str) -> None:
    frames = list(sample_frames(path).values())
    capture(tmp_path / "link.pcap", frames)
    rows = tshark(tmp_path / "link.pcap")
    assert len(rows) == len(frames)
    for number, (row, frame) in enumerate(zip(rows, frames, strict=True)):
        parsed = parse_frame(frame, DSCP)
        assert row["frame.protocols"] == f"eth:ethertype:{headers}:udp:infiniband"
        assert row["_ws.col.Protocol"] == "RRoCE"
        assert row["ipv6.nxt"].split(",")[-1] == "17"
        assert int(row["infiniband.bth.destqp"], 0) == parsed.dest_qp
        assert int(row["infiniband.bth.psn"], 0) == parsed.psn
        # Wireshark does not know MRC's opcodes so far; it shows the number and says so.
        assert int(row["infiniband.bth.opcode"], 0) == parsed.opcode
        assert "Unknown OpCode" in row["_ws.col.Info"]
        assert row["_ws.malformed"] == row["_ws.expert.message"] == ""
        seconds, nanoseconds = divmod(number * 1_000_000_007, 10**9)
        assert row["frame.time_epoch"] == f"{seconds}.{nanoseconds:09d}"


def test_a_whole_mtu(tmp_path: Path) -> None:
    frame = data_template().build(opcodes.WRITE_MIDDLE, 9, 0, 0, 1, 1, 1, bytes(4096))
    capture(tmp_path / "link.pcap", [frame])
    (row,) = tshark(tmp_path / "link.pcap")
    assert int(row["infiniband.bth.psn"], 0) == 9
    assert row["_ws.malformed"] == row["_ws.expert.message"] == ""


def test_a_trimmed_frame_recorded_with_its_length_before_the_cut(tmp_path: Path) -> None:
    whole = data_template().build(opcodes.WRITE_MIDDLE, 11, 0, 0, 1, 1, 1, bytes(4096))
    cut = with_dscp(whole[:142], DSCP.trimmed)
    capture(tmp_path / "link.pcap", [cut], original_length=len(whole))
    (row,) = tshark(tmp_path / "link.pcap")
    assert row["frame.protocols"].startswith("eth:ethertype:ipv6:ipv6:udp:infiniband")
    assert int(row["infiniband.bth.psn"], 0) == 11
    assert row["_ws.malformed"] == ""
