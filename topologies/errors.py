# SPDX-License-Identifier: Apache-2.0
"""The one error that a bad fabric description raises."""

from __future__ import annotations


class TopologyError(ValueError):
    """A fabric description or a name in it is wrong; the text names file and field, or the name."""
