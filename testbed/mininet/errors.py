# SPDX-License-Identifier: Apache-2.0
"""Why a fabric of real packets cannot be brought up, or has broken."""

from __future__ import annotations


class MininetWorldError(Exception):
    """One clear line (or a few) for the user: what is wrong, and what to do."""


class NotReady(MininetWorldError):
    """This machine lacks something; nothing was started."""


class SwitchProcessError(MininetWorldError):
    """A switch process did not start, or ended; the message holds the end of its log."""


class FaultError(MininetWorldError):
    """A fault could not be carried out."""
