# SPDX-License-Identifier: Apache-2.0
"""`mrc send` carries a file across faults unchanged, and says so by two digests."""

import hashlib
import json
import random

import pytest
from cli_support import call, process, refusal

from testbed.cli.output import FAILED, PASSED, BadInput
from testbed.cli.send import parse_fault


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("send") / "of mine.bin"
    path.write_bytes(random.Random(4).randbytes(700_003))
    return path


def test_a_file_crosses_three_faults_and_both_digests_are_its_own(file, tmp_path):
    out = tmp_path / "arrived.bin"
    faults = ["p0t0a-p0t1b@8us", "silent:p1t1a@12us", "h4:0@20us+15us"]
    options = [part for fault in faults for part in ("--fail", fault)]
    options += ["--topology", "tiny", "--out", out, "--results", tmp_path]
    done = process(
        "send",
        file,
        "h1",
        "h4",
        "--topology",
        "tiny",
        *options,
        "--out",
        out,
        "--results",
        tmp_path,
    )
    assert done.returncode == PASSED, done.stdout + done.stderr
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert done.stdout.count(digest) == 2
    assert out.read_bytes() == file.read_bytes()
    result = json.loads((tmp_path / "send-1" / "result.json").read_text())
    assert [f["kind"] for f in result["faults"]] == ["link_down", "switch_silent", "nic_port_down"]
    assert sum(f["data_packets_lost"] for f in result["faults"]) > 0


def test_json_has_the_digests_and_the_result(file, tmp_path):
    done = call("send", file, "h2", "h3", "--topology", "tiny", "--json", "--results", tmp_path)
    assert (done.exit_code, done.stderr) == (PASSED, "")
    document = json.loads(done.stdout)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert document["sent_sha256"] == document["received_sha256"] == digest
    assert document["intact"] is True
    assert document["bytes"] == document["result"]["bytes_verified"] == 700_003


def test_a_file_that_cannot_get_across_ends_with_1(tmp_path):
    path = tmp_path / "small"
    path.write_bytes(bytes(range(256)) * 100)
    ports = ["--fail", "h1:0@1us", "--fail", "h1:1@1us"]
    done = call("send", path, "h1", "h4", "--topology", "tiny", *ports, "--results", tmp_path)
    assert done.exit_code == FAILED
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert done.stdout.count(digest) == 1
    assert "retry_exceeded" in done.stdout


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("p0t0a-p0t1b@20us", {"kind": "link_down", "link": "p0t0a-p0t1b", "at": "20us"}),
        (
            "silent:h1-p0t0a@1ms+2us",
            {"kind": "link_silent", "link": "h1-p0t0a", "at": "1ms", "lasts": "2us"},
        ),
        ("p0t1b@20us", {"kind": "switch_stop", "switch": "p0t1b", "at": "20us"}),
        ("silent:p3t0a@5us", {"kind": "switch_silent", "switch": "p3t0a", "at": "5us"}),
        ("h3:2@1us", {"kind": "nic_port_down", "host": "h3", "port": 2, "at": "1us"}),
    ],
)
def test_a_fault_is_named_by_what_breaks(text, fault):
    assert parse_fault(text) == fault


@pytest.mark.parametrize("text", ["p0t0a", "@20us", "p0t1b@", "a@b@c", "silent:h1:0@1us", ""])
def test_a_fault_of_another_form_is_refused_with_its_text(text):
    with pytest.raises(BadInput, match="--fail") as caught:
        parse_fault(text)
    assert text in str(caught.value)


def test_what_is_wrong_is_named_in_one_line(file, tmp_path):
    where = ["--topology", "tiny", "--results", tmp_path]
    assert refusal(call("send", tmp_path / "none", "h1", "h3", *where)).endswith(
        "none: no such file"
    )
    assert "no host 'h9'" in refusal(call("send", file, "h1", "h9", *where))
    assert "would send to itself" in refusal(call("send", file, "h1", "h1", *where))
    fail = ["--fail", "p0t0a-p9t1z@1us"]
    assert "faults[0].link: no link 'p0t0a-p9t1z'" in refusal(
        call("send", file, "h1", "h3", *where, *fail)
    )
    fail = ["--fail", "p0t1a@1"]
    assert "faults[0].at: '1' is not a time" in refusal(
        call("send", file, "h1", "h3", *where, *fail)
    )
    assert not list(tmp_path.iterdir())
