# SPDX-License-Identifier: Apache-2.0
"""Health of one entropy value (EV): two enums and one table of transitions.

Source: P1 section 4 and the SPEC's EV states. A pair that is not in ``TRANSITIONS`` changes
nothing: reports about a path arrive late by nature (a SACK for a packet sent before the path was
retired, a port that goes down twice), so they are no errors.
"""

from enum import StrEnum
from typing import Final, NamedTuple


class EvState(StrEnum):
    """What is known about a path."""

    GOOD = "good"
    SKIP = "skip"
    """Congested: misses its next turn in the rotation."""
    ASSUMED_BAD = "assumed_bad"
    """Dead until background probes say otherwise."""
    DENIED = "denied"
    """Taken out by the operator."""


class EvInput(StrEnum):
    """What is learned about a path; the value is the ``cause`` of the event it leads to."""

    CONGESTED = "congested"
    """SACK with m = SKIP_ONCE, or NACK TRIMMED. NACK TRIMMED_LASTHOP is not an input: it says
    nothing about the path."""
    TURN_MISSED = "turn_missed"
    """The rotation passed the EV over once; or had no better one."""
    LOSS = "loss"
    """A packet that was not trimmed was lost (rules a and b of loss detection)."""
    TIMEOUT = "timeout"
    """A packet was declared lost by the retransmission timer."""
    ALWAYS_SKIP = "always_skip"
    """SACK with m = ALWAYS_SKIP."""
    LOCAL_PORT_DOWN = "local_port_down"
    PEER_PORT_DOWN = "peer_port_down"
    PROBES_PASSED = "probes_passed"
    """Enough background probes in a row were answered."""
    DENY = "deny"
    ALLOW = "allow"


FLOOR: Final = "floor"
"""Cause of the event raised when an EV should be retired but the floor keeps it in use."""

PORT_INPUTS: Final = frozenset({EvInput.LOCAL_PORT_DOWN, EvInput.PEER_PORT_DOWN})
RETIRE_INPUTS: Final = frozenset({EvInput.LOSS, EvInput.TIMEOUT, EvInput.ALWAYS_SKIP})
"""Reports that retire an EV and that the floor may hold back."""

TRANSITIONS: Final[dict[tuple[EvState, EvInput], EvState]] = {
    (EvState.GOOD, EvInput.CONGESTED): EvState.SKIP,
    (EvState.SKIP, EvInput.TURN_MISSED): EvState.GOOD,
    (EvState.GOOD, EvInput.LOSS): EvState.ASSUMED_BAD,
    (EvState.SKIP, EvInput.LOSS): EvState.ASSUMED_BAD,
    (EvState.GOOD, EvInput.TIMEOUT): EvState.ASSUMED_BAD,
    (EvState.SKIP, EvInput.TIMEOUT): EvState.ASSUMED_BAD,
    (EvState.GOOD, EvInput.ALWAYS_SKIP): EvState.ASSUMED_BAD,
    (EvState.SKIP, EvInput.ALWAYS_SKIP): EvState.ASSUMED_BAD,
    (EvState.GOOD, EvInput.LOCAL_PORT_DOWN): EvState.ASSUMED_BAD,
    (EvState.SKIP, EvInput.LOCAL_PORT_DOWN): EvState.ASSUMED_BAD,
    (EvState.GOOD, EvInput.PEER_PORT_DOWN): EvState.ASSUMED_BAD,
    (EvState.SKIP, EvInput.PEER_PORT_DOWN): EvState.ASSUMED_BAD,
    (EvState.ASSUMED_BAD, EvInput.PROBES_PASSED): EvState.GOOD,
    (EvState.GOOD, EvInput.DENY): EvState.DENIED,
    (EvState.SKIP, EvInput.DENY): EvState.DENIED,
    (EvState.ASSUMED_BAD, EvInput.DENY): EvState.DENIED,
    (EvState.DENIED, EvInput.ALLOW): EvState.GOOD,
}


def next_state(state: EvState, heard: EvInput) -> EvState:
    """State after ``heard``; the same one when the table has no such row."""
    return TRANSITIONS.get((state, heard), state)


class EvEvent(NamedTuple):
    """A change of an EV's state, or a demotion that the floor held back (``old`` = ``new``)."""

    time_ns: int
    ev: int
    plane: int
    old: EvState
    new: EvState
    cause: str
    """An ``EvInput``, or ``FLOOR``."""
