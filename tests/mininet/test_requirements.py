# SPDX-License-Identifier: Apache-2.0
"""What a machine lacks is said in one line, with what to do; a command ends with status 2."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from testbed.cli.app import app
from testbed.mininet import requirements
from testbed.mininet.errors import NotReady


def test_without_root_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements.os, "geteuid", lambda: 1000)
    with pytest.raises(NotReady) as refused:
        requirements.check()
    assert str(refused.value) == (
        "the mininet world needs root: run it as root (sudo) (`mrc doctor` shows all that is "
        "needed)"
    )


@pytest.mark.parametrize(
    "command",
    [["run", "link-down", "--world", "mininet"], ["up", "tiny"], ["calibrate"]],
)
def test_commands_refuse_without_root(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements.os, "geteuid", lambda: 1000)
    said = CliRunner().invoke(app, command)
    assert said.exit_code == 2
    assert said.output.splitlines() == [
        "mrc: the mininet world needs root: run it as root (sudo) (`mrc doctor` shows all that "
        "is needed)"
    ]


def test_a_program_that_is_missing_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requirements.os, "geteuid", lambda: 0)
    monkeypatch.setattr(requirements.shutil, "which", lambda name: name != "nft" or None)
    with pytest.raises(NotReady, match="needs nft: apt-get install nftables"):
        requirements.check()


def test_bmv2_is_needed_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements.os, "geteuid", lambda: 0)
    monkeypatch.setattr(requirements.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(
        requirements.shutil, "which", lambda name: None if "simple_switch" in name else name
    )
    requirements.check("soft")
    with pytest.raises(NotReady, match="needs simple_switch_grpc"):
        requirements.check("bmv2")
    assert requirements.choose_switch(None) == "soft"
    monkeypatch.setattr(requirements.shutil, "which", lambda name: name)
    assert requirements.choose_switch(None) == "bmv2"
    assert requirements.choose_switch("soft") == "soft"
    with pytest.raises(NotReady, match="no switch 'ovs' \\(there are: bmv2, soft\\)"):
        requirements.choose_switch("ovs")


def test_doctor_lists_everything_and_its_status_is_that_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requirements.os, "geteuid", lambda: 0)
    monkeypatch.setattr(requirements.shutil, "which", lambda name: None)
    said = CliRunner().invoke(app, ["doctor"])
    assert said.exit_code == 1
    for name in ("root", "mnexec", "ip", "nft", "ethtool", "simple_switch_grpc"):
        assert name in said.output
    assert "apt-get install mininet" in said.output


def test_linking_makes_one_link_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debian, here = tmp_path / "debian", tmp_path / "site-packages"
    (debian / "mininet").mkdir(parents=True)
    (debian / "other").mkdir()
    here.mkdir()
    monkeypatch.setattr(requirements, "DEBIAN_MODULES", debian)
    monkeypatch.setattr(requirements.site, "getsitepackages", lambda: [str(here)])
    monkeypatch.setattr(sys, "base_prefix", "/elsewhere")
    for _ in range(2):
        assert requirements.link_mininet() == here / "mininet"
    assert [path.name for path in here.iterdir()] == ["mininet"]
    assert (here / "mininet").resolve() == debian / "mininet"
    (here / "mininet").unlink()
    (here / "mininet").mkdir()
    with pytest.raises(NotReady, match="is no link"):
        requirements.link_mininet()
    shutil.rmtree(debian)
    with pytest.raises(NotReady, match="apt-get install mininet"):
        requirements.link_mininet()
