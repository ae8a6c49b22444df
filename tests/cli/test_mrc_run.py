# SPDX-License-Identifier: Apache-2.0
"""`mrc run` shows, stores and judges a run; its exit status says what became of it."""

import io
import json

import pytest
from cli_support import SCENARIO, call, process, refusal
from rich.console import Console

from testbed.cli.output import BAD_INPUT, FAILED, PASSED
from testbed.cli.run_tables import show_run
from testbed.report import read_run
from testbed.results import read_environment, read_result


def test_a_run_that_holds_ends_with_0_and_shows_its_fault(short_run):
    done, folder = short_run
    assert (done.returncode, done.stderr) == (PASSED, "")
    result = read_result(folder / "result.json")
    assert result.faults[0].data_packets_lost > 0
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("link_down ")]
    for value in (result.faults[0].last_data_packet_us, result.faults[0].recovered_us):
        assert f" {value:,.1f} " in row
    assert "a few tens" in done.stdout
    assert f"({result.bytes_verified:,} of {12 * 65536:,} B)" in done.stdout
    assert all(check.name in done.stdout for check in result.checks)
    assert "PASSED" in done.stdout


@pytest.mark.parametrize("columns", [80, 120])
def test_the_fault_table_fits_a_terminal_on_one_line_a_fault(short_run, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    result, ran = read_run(short_run[1])
    with Console(width=columns, record=True, file=io.StringIO()) as screen:
        show_run(screen, result, ran, short_run[1])
    text = screen.export_text()
    (row,) = [line for line in text.splitlines() if line.startswith("link_down ")]
    assert row.split()[:4] == [
        "link_down",
        "p0t0a-p0t1b",
        "10",
        str(result.faults[0].data_packets_lost),
    ]
    assert row.split()[-1] in ("%", "–")
    assert "…" not in text


def test_a_run_leaves_result_environment_report_and_capture(short_run):
    _, folder = short_run
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["environment.json", "h1-p0t0a.pcap", "report.html", "result.json"]
    assert (folder / "h1-p0t0a.pcap").stat().st_size > 12 * 65536 / 3
    ran = read_environment(folder / "environment.json")
    assert ran.wall_seconds > 0
    assert "wall" not in (folder / "result.json").read_text()


def test_json_is_result_json_and_nothing_else(scenario_file, tmp_path):
    done = process("run", scenario_file, "--json", "--results", tmp_path, "--seed", 3)
    assert (done.returncode, done.stderr) == (PASSED, "")
    assert done.stdout == (tmp_path / "short-3" / "result.json").read_text()
    assert json.loads(done.stdout)["seed"] == 3


def test_an_expectation_that_does_not_hold_ends_with_1(tmp_path):
    path = tmp_path / "failing.yaml"
    path.write_text(SCENARIO + "  no_ev_assumed_bad: true\n")
    done = process("run", path, "--results", tmp_path)
    assert done.returncode == FAILED
    (line,) = [line for line in done.stdout.splitlines() if "no_ev_assumed_bad" in line]
    assert line.startswith("FAILED")
    passed = [line for line in done.stdout.splitlines() if "all_bytes_verified" in line]
    assert passed[0].startswith("ok")


@pytest.mark.parametrize(
    ("line", "replaced", "field"),
    [
        ("    at: 10us", "    at: 10", "faults[0].at"),
        ("  source: h1", "  source: h1\n  sauce: h2", "workload.sauce"),
        ("seed: 7", "seed: seven", "seed"),
        ("topology: tiny", "", "topology"),
    ],
)
def test_a_wrong_field_is_one_line_with_file_and_field(tmp_path, line, replaced, field):
    path = tmp_path / "wrong.yaml"
    path.write_text(SCENARIO.replace(line, replaced))
    assert refusal(call("run", path, "--results", tmp_path)).startswith(f"{path}: {field}: ")


def test_what_the_fabric_does_not_have_is_refused(scenario_file, tmp_path):
    wrong_link = call("run", scenario_file, "--pcap", "h9-p0t0a", "--results", tmp_path)
    assert "capture[0]: no link 'h9-p0t0a'" in refusal(wrong_link)
    wrong_world = call("run", scenario_file, "--world", "mars", "--results", tmp_path)
    assert "no world 'mars'" in refusal(wrong_world)
    assert "no scenario 'nosuch' (there are: demo, " in refusal(call("run", "nosuch"))
    assert not list(tmp_path.iterdir())


def test_a_fabric_too_large_to_install_is_refused_before_it_is_built(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_text(SCENARIO.replace("topology: tiny", "topology: mrc-131072"))
    assert "mrc-131072 cannot be installed" in refusal(call("run", path, "--results", tmp_path))


def test_a_refusal_in_a_process_is_one_line_without_a_traceback(tmp_path):
    done = process("run", tmp_path / "none.yaml")
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert done.stderr == f"mrc: {tmp_path}/none.yaml: No such file or directory\n"


def test_a_missing_argument_is_status_2_without_a_traceback():
    done = process("run")
    assert done.returncode == BAD_INPUT
    assert "Missing argument" in done.stderr
    assert "Traceback" not in done.stderr
