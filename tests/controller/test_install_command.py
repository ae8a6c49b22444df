# SPDX-License-Identifier: Apache-2.0
"""`python -m controller` installs a fabric, says what it did, and exits with 0, 1 or 2."""

import json
import subprocess
import sys

import pytest
import yaml

import p4src
from controller.pipeline import PipelineFileError, load_pipeline
from controller.targets import TargetsError, load_targets


@pytest.fixture
def switches_file(installation, tmp_path):
    """The file of switch addresses of the running fabric."""
    path = tmp_path / "switches.yaml"
    write(path, installation)
    return path


def write(path, installation, **changes):
    places = {
        target.name: {"address": target.address, "device_id": target.device_id}
        for target in installation.targets.values()
    }
    path.write_text(yaml.safe_dump(places | changes))


def run(path, *arguments):
    command = [sys.executable, "-m", "controller", "tiny", "--switches", str(path)]
    command += ["--program", str(p4src.JSON), "--p4info", str(p4src.P4INFO), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_two_runs_install_and_then_change_nothing(installation, switches_file):
    first = run(switches_file)
    assert (first.returncode, first.stderr) == (0, "")
    count = len(installation.targets)
    lines = first.stdout.splitlines()
    assert lines[-1].startswith(f"{count} of {count} switches installed, ")
    assert any(line.startswith("p0t0a: program pushed, ") for line in lines)
    second = run(switches_file, "--json")
    assert second.returncode == 0
    switches = json.loads(second.stdout)["switches"]
    assert [s["name"] for s in switches] == list(installation.targets)
    assert all(s["inserted"] == s["modified"] == s["deleted"] == 0 for s in switches)
    assert not any(s["pushed"] for s in switches)


def test_failed_switch_is_named_and_the_exit_status_says_so(installation, switches_file):
    installation.servers["p1t0a"].stop()
    done = run(switches_file, "--wait", "1")
    assert done.returncode == 1
    assert done.stderr.startswith("error: switch p1t0a (")
    assert len(done.stderr.splitlines()) == 1
    count = len(installation.targets)
    assert f"{count - 1} of {count} switches installed" in done.stdout


def test_missing_file_is_bad_input(tmp_path):
    done = run(tmp_path / "none.yaml")
    assert done.returncode == 2
    assert done.stderr == f"controller: {tmp_path}/none.yaml: No such file or directory\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"p0t0a": 3}, "p0t0a: should be a mapping of address and device_id"),
        ({"p0t0a": {"address": "x:1"}}, "p0t0a.device_id: Field required"),
        ({"p0t0a": {"address": "x:1", "device_id": -1}}, "p0t0a.device_id: Input should be"),
        ({"p0t0a": {"address": "", "device_id": 1}}, "p0t0a.address: String should have"),
        ({"p0t0a": {"address": "x", "device_id": 1, "port": 2}}, "p0t0a.port: Extra inputs"),
        ({"q": {"address": "x:1", "device_id": 1}}, "q is no switch of tiny"),
    ],
)
def test_wrong_address_file_names_file_and_field(
    fabric, installation, switches_file, changes, message
):
    write(switches_file, installation, **changes)
    with pytest.raises(TargetsError) as wrong:
        load_targets(switches_file, fabric)
    assert str(wrong.value).startswith(f"{switches_file}: {message}")


def test_switch_left_out_is_named(fabric, tmp_path):
    path = tmp_path / "switches.yaml"
    path.write_text("{}")
    with pytest.raises(TargetsError, match="switch p0t0a of tiny is missing"):
        load_targets(path, fabric)
    path.write_text("p0t0a: {}\np0t0a: {}")
    with pytest.raises(TargetsError, match="'p0t0a' is given twice"):
        load_targets(path, fabric)
    path.write_text("a: [")
    with pytest.raises(TargetsError, match="not YAML"):
        load_targets(path, fabric)


def test_cookie_follows_both_files_of_the_program(tmp_path):
    json_path, info_path = tmp_path / "p.json", tmp_path / "p.p4info.txt"
    json_path.write_bytes(p4src.JSON.read_bytes())
    info_path.write_bytes(p4src.P4INFO.read_bytes())
    original = load_pipeline(json_path, info_path)
    assert original.cookie == load_pipeline(p4src.JSON, p4src.P4INFO).cookie
    info_path.write_text(info_path.read_text() + "\n")
    changed = load_pipeline(json_path, info_path)
    assert changed.p4info == original.p4info
    assert changed.cookie != original.cookie
    assert 0 < original.cookie < 1 << 64


def test_broken_program_files_are_named(tmp_path):
    path = tmp_path / "p.p4info.txt"
    path.write_text("tables {")
    with pytest.raises(PipelineFileError, match=f"{path}: not a P4Info"):
        load_pipeline(p4src.JSON, path)
    with pytest.raises(PipelineFileError, match=r"none\.json: No such file"):
        load_pipeline(tmp_path / "none.json", path)
