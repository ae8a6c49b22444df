# SPDX-License-Identifier: Apache-2.0
"""Why a test was not made, or has no result."""

from __future__ import annotations


class PerftestError(Exception):
    """A test that cannot be made as asked; the message names the option, host or socket."""


class MeasurementFailed(Exception):
    """A test that broke while it ran, or whose data did not arrive as sent."""
