# SPDX-License-Identifier: Apache-2.0
"""A captured link shows what crossed it; a file arrives whole; results can be read back."""

import hashlib
import random
import struct
from pathlib import Path

import pytest

from endpoint.wire.dscp import DscpMap
from endpoint.wire.frame import parse_frame
from testbed.results import read_environment, read_result
from testbed.run import run_scenario
from testbed.scenario import Scenario, ScenarioError, parse_scenario
from testbed.send_file import send_file

DSCP = DscpMap(no_trim=0, trimmable=4, trimmable_retx=8, trimmed=12, trimmed_lasthop=16, control=46)


def scenario(**changes: object) -> Scenario:
    document: dict[str, object] = {
        "name": "capture",
        "description": "d",
        "topology": "tiny",
        "duration": "2ms",
        "workload": {
            "kind": "one_write",
            "source": "h1",
            "destination": "h3",
            "message_bytes": "64KiB",
            "messages": 2,
        },
    }
    return parse_scenario(document | changes, source="test")


def frames_of(path: Path) -> list[tuple[int, bytes]]:
    text = path.read_bytes()
    assert struct.unpack_from("<I", text)[0] == 0xA1B23C4D
    at, frames = 24, []
    while at < len(text):
        seconds, ns, kept, length = struct.unpack_from("<IIII", text, at)
        assert kept == length
        frames.append((seconds * 1_000_000_000 + ns, text[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return frames


def test_a_pcap_of_both_nic_links_holds_every_frame_of_the_host(tmp_path: Path) -> None:
    links = ["h1-p0t0a", "h1-p1t0a"]
    result = run_scenario(scenario(), results_dir=tmp_path, capture=links)
    assert result.passed
    data = 0
    for link in links:
        frames = frames_of(tmp_path / f"{link}.pcap")
        times = [time_ns for time_ns, _ in frames]
        assert times == sorted(times)
        parsed = [parse_frame(frame, DSCP) for _, frame in frames]
        assert all(frame.check_icrc() for frame in parsed)
        data += sum(frame.is_data for frame in parsed)
    assert data == result.packets.data_sent == 32


def test_the_written_result_is_the_result(tmp_path: Path) -> None:
    result = run_scenario(scenario(), results_dir=tmp_path)
    assert read_result(tmp_path / "result.json") == result
    assert read_environment(tmp_path / "environment.json").packet_hops > 100


def test_a_capture_without_a_results_folder_is_refused() -> None:
    with pytest.raises(ScenarioError, match="results folder"):
        run_scenario(scenario(capture=["h1-p0t0a"]))


def test_an_unknown_world_is_refused() -> None:
    with pytest.raises(ScenarioError, match="no world 'real'"):
        run_scenario(scenario(), world="real")


def test_a_file_arrives_whole_in_spite_of_a_fault(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(random.Random(1).randbytes(300_001))
    arrived = tmp_path / "arrived"
    sent = send_file(
        source,
        "h1",
        "h4",
        topology="tiny",
        faults=[{"kind": "link_down", "link": "p0t0a-p0t1a", "at": "5us"}],
        message_bytes=65_536,
        out=arrived,
    )
    assert sent.intact
    assert sent.length == sent.result.bytes_verified == 300_001
    assert sent.result.packets.data_lost > 0
    assert arrived.read_bytes() == source.read_bytes()
    assert sent.source_sha256 == hashlib.sha256(source.read_bytes()).hexdigest()


@pytest.mark.parametrize("length", [0, 1])
def test_the_shortest_files_arrive(tmp_path: Path, length: int) -> None:
    source, arrived = tmp_path / "short", tmp_path / "arrived"
    source.write_bytes(b"x" * length)
    sent = send_file(source, "h1", "h3", topology="tiny", out=arrived)
    assert sent.intact and sent.length == length
    assert arrived.read_bytes() == source.read_bytes()
    assert sent.result.packets.data_placed == 1
    assert sent.result.completion_times[0].completed == 1


def test_a_file_that_cannot_be_sent_is_named(tmp_path: Path) -> None:
    for path, text in ((tmp_path, "is no regular file"), (tmp_path / "none", "No such file")):
        with pytest.raises(ScenarioError, match=text):
            send_file(path, "h1", "h3", topology="tiny")
