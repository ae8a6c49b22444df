# SPDX-License-Identifier: Apache-2.0
"""Checks that all calls of the control API share."""

from __future__ import annotations

import errno
from enum import IntFlag
from typing import TypeVar

from endpoint.api_error import MrcError
from endpoint.control.objects import MRC_CTL_MAX_VENDOR_CFG_SIZE

_MaskT = TypeVar("_MaskT", bound=IntFlag)


def check_mask(kind: type[_MaskT], mask: int) -> _MaskT:
    """The mask as its type. MrcError(EINVAL) for bits that it does not have."""
    if mask & ~sum(kind):
        raise MrcError(errno.EINVAL, f"{kind.__name__}: {mask:#x} has unknown bits")
    return kind(mask)


def check_vendor_cfg(data: bytes) -> None:
    """MrcError(EINVAL) for more than 128 bytes; what they say has no meaning here."""
    if len(data) > MRC_CTL_MAX_VENDOR_CFG_SIZE:
        raise MrcError(errno.EINVAL, f"vendor_cfg of {len(data)} bytes")
