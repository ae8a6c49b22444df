# SPDX-License-Identifier: Apache-2.0
"""`python -m testbed.mininet.janitor FOLDER`: clears a run when the process that owns it is gone.

Its owner holds the other end of its standard input; the kernel closes that, however the owner
ends. After an orderly end there is nothing left to clear.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from testbed.mininet.run_folder import clear_run


def main() -> int:
    """Exit status 0."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    folder = Path(sys.argv[1])
    if folder.exists():
        clear_run(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
