# SPDX-License-Identifier: Apache-2.0
"""What the Mininet world needs of a machine, and what to do where it is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import site
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.mininet.bmv2 import CLI, PROGRAM
from testbed.mininet.errors import NotReady

SWITCH_KINDS = ("bmv2", "soft")

DEBIAN_MODULES = Path("/usr/lib/python3/dist-packages")
"""Where Debian's packages put modules of the system's Python."""

_PROGRAMS = {
    "mnexec": "apt-get install mininet",
    "ifconfig": "apt-get install net-tools",
    "ip": "apt-get install iproute2",
    "nft": "apt-get install nftables",
    "ethtool": "apt-get install ethtool",
    "sysctl": "apt-get install procps",
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that is needed (or, with `optional`, only good to have)."""

    name: str
    found: bool
    advice: str
    optional: bool = False


def requirements() -> Iterator[Requirement]:
    """Everything, in the order in which one would mend it."""
    yield Requirement("root", os.geteuid() == 0, "run it as root (sudo)")
    for program, advice in _PROGRAMS.items():
        yield Requirement(program, shutil.which(program) is not None, advice)
    linked = importlib.util.find_spec("mininet") is not None
    yield Requirement("mininet for this Python", linked, "mrc doctor --link-mininet")
    for program in (PROGRAM, CLI):
        found = shutil.which(program) is not None
        yield Requirement(program, found, "BMv2; without it the embedded switch is used", True)


def check(switch: str = "soft") -> None:
    """NotReady, in one line, unless fabrics with this kind of switch can be brought up here."""
    for requirement in requirements():
        needed = not requirement.optional or switch == "bmv2"
        if needed and not requirement.found:
            raise NotReady(
                f"the mininet world needs {requirement.name}: {requirement.advice} "
                "(`mrc doctor` shows all that is needed)"
            )


def choose_switch(wanted: str | None) -> str:
    """The kind of switch to use: the wanted one, else BMv2 where it is on the PATH, else soft."""
    if wanted is not None:
        if wanted not in SWITCH_KINDS:
            raise NotReady(f"no switch {wanted!r} (there are: {', '.join(SWITCH_KINDS)})")
        return wanted
    return "bmv2" if all(shutil.which(name) for name in (PROGRAM, CLI)) else "soft"


def link_mininet() -> Path:
    """Link Debian's `mininet` folder, and nothing else of its Python, into this environment.

    PyPI's package of that name lacks `mnexec`, and the system's site-packages would bring other
    versions of our dependencies. Returns the link; NotReady says what is in the way.
    """
    source = DEBIAN_MODULES / "mininet"
    if not source.is_dir():
        raise NotReady(f"{source} is not there: apt-get install mininet")
    if sys.prefix == sys.base_prefix:
        raise NotReady("this Python is no virtual environment: make install, then .venv/bin/mrc")
    link = Path(site.getsitepackages()[0]) / "mininet"
    if link.is_symlink():
        link.unlink()
    elif link.exists():
        raise NotReady(f"{link} is there already and is no link: remove it first")
    link.symlink_to(source)
    return link
