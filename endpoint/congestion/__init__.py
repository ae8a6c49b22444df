# SPDX-License-Identifier: Apache-2.0
"""Congestion control of one queue pair: an interface, a registry of names, and three algorithms.

`window` is plain and the default, `uet-1.0-nscc` (also `nscc`) is that of Ultra Ethernet 1.0,
`fixed-window` does nothing and shows why something must be done.
"""

from endpoint.congestion.fixed_window import FixedWindow, FixedWindowConfig
from endpoint.congestion.interface import CongestionControl, CongestionParameters
from endpoint.congestion.nscc import NsccControl
from endpoint.congestion.nscc_config import NsccConfig
from endpoint.congestion.registry import configure, create, names, register
from endpoint.congestion.window import WindowControl

__all__ = [
    "NSCC",
    "CongestionControl",
    "CongestionParameters",
    "FixedWindow",
    "FixedWindowConfig",
    "NsccConfig",
    "NsccControl",
    "WindowControl",
    "configure",
    "create",
    "names",
    "register",
]

NSCC = "uet-1.0-nscc"
"""The name that the OCP control API gives to NSCC."""

register("window", WindowControl)
register("fixed-window", FixedWindow, FixedWindowConfig)
register(NSCC, NsccControl, NsccConfig)
register("nscc", NsccControl, NsccConfig)
