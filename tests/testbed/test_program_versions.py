# SPDX-License-Identifier: Apache-2.0
"""Results name the versions of p4c and BMv2 on the PATH, whatever state those programs are in."""

import shutil

import pytest

from testbed.program_versions import program_versions
from testbed.results import environment


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A PATH that holds nothing but what the test puts there: a program's name and its shell."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def put(name: str, shell: str) -> None:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{shell}\n")
        program.chmod(0o755)

    return put


def test_nothing_installed_nothing_recorded(install):
    assert program_versions() == {}


def test_each_program_is_asked_in_the_form_it_answers(install):
    install("simple_switch_grpc", "echo 1.15.5-b3a1d2c4")
    install("p4c-bm2-ss", "echo p4c-bm2-ss; echo 'Version 1.2.4.1 (SHA: b9775ee BUILD: x)' >&2")
    wanted = {"simple_switch_grpc": "1.15.5-b3a1d2c4", "p4c-bm2-ss": "1.2.4.1"}
    assert program_versions() == wanted
    recorded = environment(wall_seconds=1, events=1, packet_hops=1).versions
    assert wanted.items() <= recorded.items()


@pytest.mark.parametrize(
    "shell",
    [
        "echo 'lib.so.1.74.0: cannot open shared object file' >&2; exit 127",
        "echo no number here",
        r"printf '\377\376'",
    ],
)
def test_a_program_that_does_not_run_or_states_nothing_is_unknown(install, shell):
    install("p4c-bm2-ss", shell)
    assert program_versions() == {"p4c-bm2-ss": "unknown"}


@pytest.mark.p4c
@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="p4c-bm2-ss is not on the PATH")
def test_the_real_compiler_states_its_version():
    assert program_versions()["p4c-bm2-ss"].startswith("1.")


@pytest.mark.bmv2
@pytest.mark.skipif(
    shutil.which("simple_switch_grpc") is None, reason="simple_switch_grpc is not on the PATH"
)
def test_the_real_switch_states_its_version():
    assert program_versions()["simple_switch_grpc"].startswith("1.")
