# SPDX-License-Identifier: Apache-2.0
"""The ``map`` section of a scenario: how NICs probe links, and what is done with the map."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from testbed.quantities import TimeNs


class MapOptions(BaseModel):
    """The Clustermapper of a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    interval: Annotated[TimeNs, Field(ge=1)] = 5_000
    """Every NIC probes each of its T0s once in this time."""
    t1_share: float = Field(default=1.0, gt=0, le=1)
    """Share of each plane's T1s that it probes in this time, in turn."""
    timeout: TimeNs | None = Field(default=None, ge=1)
    """A probe that is not back by then is lost; four base round trips when absent."""
    policy: Literal["none", "deny"] = "none"
    """deny: paths over what is named are DENIED at all senders until it is cleared."""
