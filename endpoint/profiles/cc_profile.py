# SPDX-License-Identifier: Apache-2.0
"""One congestion control profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from endpoint.congestion.fixed_window import FixedWindowConfig
from endpoint.profiles.kinds import MRC_CTL_PROFILE_INIT, mrc_ctl_profile_state
from endpoint.queue_pair import QueuePair

_NO_WINDOW = FixedWindowConfig(1 << 62)
"""Congestion control that never holds a packet back: what "no algorithm" means here."""


@dataclass(slots=True)
class CcProfile:
    """`algorithm` None disables congestion control; `is_default` leaves the choice to the NIC."""

    profile_id: int
    state: mrc_ctl_profile_state = MRC_CTL_PROFILE_INIT
    algorithm: str | None = None
    has_algorithm: bool = False
    has_config: bool = False
    config: Any | None = None
    cc_config: Any | None = None
    is_default: bool = False
    users: dict[int, QueuePair] = field(default_factory=dict)

    def engine_name(self, default: str) -> str:
        """The engine's name for the algorithm; `default` is the NIC's own."""
        if self.is_default:
            return default
        return "fixed-window" if self.algorithm is None else self.algorithm

    def engine_config(self, default: Any | None) -> Any | None:
        """The settings of the algorithm."""
        if self.is_default:
            return default
        return _NO_WINDOW if self.algorithm is None else self.config
