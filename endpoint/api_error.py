# SPDX-License-Identifier: Apache-2.0
"""The exception of the verbs and control API: an errno and a sentence."""

from typing import Any


class MrcError(OSError):
    """What the C API reports by -1 or NULL and errno; `errno` is that number.

    `bad_wr` is the work request that a post call stopped at, where there is one. `entry` is the
    index of the first entry that failed in a batch of EV operations; `responses` are what came
    before a batch of endpoint operations timed out.
    """

    bad_wr: Any | None = None
    entry: int | None = None
    responses: Any | None = None

    def __init__(self, code: int, what: str) -> None:
        super().__init__(code, what)
