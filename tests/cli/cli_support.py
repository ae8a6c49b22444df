# SPDX-License-Identifier: Apache-2.0
"""The `mrc` command as tests call it: in a process of its own, or within this one."""

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from testbed.cli.app import app

MRC = Path(sys.executable).with_name("mrc")

SCENARIO = """\
# SPDX-License-Identifier: Apache-2.0
name: short
description: A link dies under one write; <b>not bold</b> & not an entity.
topology: tiny
seed: 7
duration: 3ms
workload:
  kind: one_write
  source: h1
  destination: h3
  message_bytes: 64KiB
  messages: 12
  in_flight: 4
faults:
  - kind: link_down
    link: p0t0a-p0t1b
    at: 10us
measure:
  bin: 1us
  settle: 5us
expect:
  min_evs_assumed_bad: 1
"""


def process(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The installed command, run as people run it (without a terminal)."""
    return subprocess.run(
        [str(MRC), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )


def call(*arguments: object) -> Result:
    """The command within this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refusal(result: Result) -> str:
    """The one line by which a command refuses its input."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("mrc: ")
    return lines[0].removeprefix("mrc: ")
