# SPDX-License-Identifier: Apache-2.0
"""What generated code calls for rare operations."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("softswitch")


def divide(a: int, b: int) -> int:
    """Quotient, 0 where BMv2 would abort."""
    return a // b if b else 0


def modulo(a: int, b: int) -> int:
    """Remainder, 0 where BMv2 would abort."""
    return a % b if b else 0


def log(text: str, arguments: tuple[int, ...]) -> None:
    """``log_msg``: braces are replaced by the arguments in order."""
    for argument in arguments:
        text = text.replace("{}", str(argument), 1)
    LOGGER.info("%s", text)
