# SPDX-License-Identifier: Apache-2.0
"""The `mrc` command. No logic here: commands parse, call, and show."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `mrc` command.

    Exit status: 0 passed, 1 an expectation failed, 2 bad input, 130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal without µ or → still gets its tables
    try:
        from testbed.cli.app import app

        app(prog_name="mrc")
    except KeyboardInterrupt:  # while it starts; commands have their own way to end
        sys.exit(130)
