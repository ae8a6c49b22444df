# SPDX-License-Identifier: Apache-2.0
"""What a v1model switch can hold: whether a fabric that validates can also be installed."""

from __future__ import annotations

from topologies import Fabric

# v1model ports are 9 bits wide, and 511 is the drop port (p4lang/behavioral-model,
# docs/simple_switch.md).
DROP_PORT = 511
LAST_PORT = DROP_PORT - 1


class NotInstallableError(ValueError):
    """The fabric does not fit v1model switches; the text names the first switch and port."""


def not_installable(fabric: Fabric) -> str | None:
    """Why the fabric cannot be installed on v1model switches, None when it can.

    The tables never fill first: they hold 1,024 entries and a switch needs one a port, and one.
    """
    for tier in (0, 1):
        switch = fabric.switch_at(0, tier, 0)
        ports = fabric.switch_ports(switch)
        if ports[-1] > LAST_PORT:
            return (
                f"{fabric.name} cannot be installed: switch {switch.name} port {DROP_PORT} is the "
                f"drop port of v1model, whose usable ports end at {LAST_PORT}, and the switch has "
                f"{len(ports)}. Its tables can be computed and printed; for an installable fabric "
                f"keep {_dimension(tier)} at {LAST_PORT} or below"
            )
    return None


def check_installable(fabric: Fabric) -> None:
    """Raise NotInstallableError when the fabric does not fit v1model switches."""
    reason = not_installable(fabric)
    if reason is not None:
        raise NotInstallableError(reason)


def _dimension(tier: int) -> str:
    return "t0s" if tier else "nics_per_t0 + t1s"
