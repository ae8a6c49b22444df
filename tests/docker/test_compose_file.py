# SPDX-License-Identifier: Apache-2.0
"""Containers have the privileges that docs/docker.md states and no more, and no Open vSwitch."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def _code(name: str) -> str:
    """A file without its comment lines, continued lines joined."""
    lines = (ROOT / name).read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).replace("\\\n", " ")


def test_the_services_that_the_documents_name():
    assert set(SERVICES) == {"testbed", "scenario", "test", "mrc"}


@pytest.mark.parametrize("name", SERVICES)
def test_privileges_are_those_stated(name):
    service = SERVICES[name]
    stated = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs/docker.md").read_text(), re.MULTILINE)
    assert service["cap_drop"] == ["ALL"]
    assert sorted(service["cap_add"]) == sorted(stated)
    assert service["security_opt"] == ["apparmor=unconfined"]
    assert service["network_mode"] == "none"
    assert not {"privileged", "devices", "pid", "ipc", "userns_mode", "cgroup"} & set(service)


@pytest.mark.parametrize("name", SERVICES)
def test_results_and_nothing_else_is_mounted(name):
    assert SERVICES[name]["volumes"] == ["./results:/mrc/results"]


@pytest.mark.parametrize("name", SERVICES)
def test_the_base_image_is_a_build_argument(name):
    assert SERVICES[name]["build"]["args"]["BASE"] == "${MRC_BASE:-p4lang/p4c:latest}"
    assert "ARG BASE=p4lang/p4c:latest\nFROM ${BASE}\n" in _code("docker/Dockerfile")


@pytest.mark.parametrize("name", ["docker/Dockerfile", "docker/mend-base.sh"])
def test_no_package_is_installed_for_being_recommended(name):
    """Mininet recommends Open vSwitch, which hangs where its kernel module is missing."""
    installs = re.findall(r"apt-get install.*", _code(name))
    assert installs
    assert all("--no-install-recommends" in line for line in installs)
    assert "openvswitch" not in _code(name)
