# SPDX-License-Identifier: Apache-2.0
"""`mrc write-bw` and `mrc write-lat` take perftest's options, and refuse in one line."""

import json

import pytest
from cli_support import call, process, refusal

from testbed.cli.output import PASSED


def test_write_lat_prints_a_head_and_a_row():
    done = process("write-lat", "h1", "h3", "--topology", "tiny", "-s", "64", "-n", "10")
    assert done.returncode == PASSED, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].strip() == "MRC Write Latency Test"
    assert lines[-3].split()[:2] == ["#bytes", "#iterations"]
    assert lines[-2].split()[:2] == ["64", "10"]


def test_write_bw_takes_perftest_s_short_options():
    options = ["-s", "4096", "-n", "40", "-m", "2048", "-q", "2", "-t", "8", "-b"]
    done = call("write-bw", "--topology", "tiny", *options, "--report_gbits", "--json")
    made = json.loads(done.stdout)
    info = made["test_info"]
    assert (info["Mtu"], info["Number_of_qps"], info["TX_depth"]) == (2048, 2, 8)
    assert (info["test"], info["unit"]) == ("Write_Bidirectional_BW_Test", "Gb/sec")
    # By default h1 writes to the first host under another T0.
    assert [info["addresses"][0][side]["host"] for side in ("local", "remote")] == ["h1", "h3"]
    (row,) = made["results"]
    assert row["n_iterations"] == 80
    assert 100 < row["BW_average"] <= row["BW_peak"] < 400


def test_equal_seeds_print_equal_documents():
    command = ["write-lat", "h2", "h4", "--topology", "tiny", "-D", "20us", "--json", "--seed"]
    outputs = [call(*command, seed).stdout for seed in ("4", "4", "5")]
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--size", "0"], "--size: 0 is outside"),
        (["-m", "8192"], "--mtu: 8192 is not one of"),
        (["--topology", "no-such"], "no preset 'no-such'"),
        (["h1", "h1"], "h1: a host does not write to itself"),
        (["h1", "h77"], "no host 'h77'"),
        (["--from", "h1"], "--from and --to: one needs the other"),
        (["--server", "x"], "--client and --server: one needs the other"),
        (["h1", "h3", "--from", "h1", "--to", "h3"], "hosts are named once"),
        (["--world", "real"], "--world real: there are virtual and mininet"),
        (["--world", "mininet"], "SRC and DST: on a running fabric both must be given"),
        (["--client", "/no/socket", "--server", "/none"], "/no/socket: GetInfo: no agent answers"),
    ],
)
@pytest.mark.parametrize("command", ["write-bw", "write-lat"])
def test_what_cannot_be_is_refused_in_one_line(command, arguments, complaint):
    assert complaint in refusal(call(command, *arguments))
