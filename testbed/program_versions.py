# SPDX-License-Identifier: Apache-2.0
"""Versions of the programs of p4lang that are installed, as they state them themselves."""

from __future__ import annotations

import re
import shutil
import subprocess

PROGRAMS = ("p4c-bm2-ss", "simple_switch_grpc")
_NUMBER = re.compile(r"\d+\.\d+\S*")
_ANSWER_S = 10.0


def program_versions() -> dict[str, str]:
    """Program and version, for those of `PROGRAMS` that are on the PATH.

    "unknown" stands for a program that is there but states no version, or does not run.
    """
    return {name: _version(name) for name in PROGRAMS if shutil.which(name)}


def _version(program: str) -> str:
    try:
        said = subprocess.run(
            [program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    # p4c states it on stderr.
    number = _NUMBER.search(said.stdout + said.stderr) if said.returncode == 0 else None
    return number.group() if number else "unknown"
