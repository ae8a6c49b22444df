# SPDX-License-Identifier: Apache-2.0
"""DSCP values of the traffic classes, as the operator of a fabric set them.

The values come from the fabric description; this package holds no defaults of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from endpoint.wire.errors import FieldError
from endpoint.wire.fields import check_unsigned


@dataclass(frozen=True, slots=True)
class DscpMap:
    """DSCP (0..63) of each traffic class; all six differ, or a receiver could not tell them."""

    no_trim: int
    trimmable: int
    trimmable_retx: int
    trimmed: int
    trimmed_lasthop: int
    control: int

    def __post_init__(self) -> None:
        owner: dict[int, str] = {}
        for field in fields(self):
            value = check_unsigned(f"dscp.{field.name}", getattr(self, field.name), 6)
            if value in owner:
                raise FieldError(f"dscp.{field.name}", f"{value} is dscp.{owner[value]} already")
            owner[value] = field.name
