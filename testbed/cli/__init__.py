# SPDX-License-Identifier: Apache-2.0
"""The `mrc` command. No logic here: commands parse, call, and show."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `mrc` command.

    Exit status: 0 passed, 1 an expectation failed, 2 bad input.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal without µ or → still gets its tables
    from testbed.cli.app import app

    app(prog_name="mrc")
