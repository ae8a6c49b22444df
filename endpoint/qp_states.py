# SPDX-License-Identifier: Apache-2.0
"""States of a queue pair: two enums and one table. What is not in the table is refused."""

from enum import StrEnum
from typing import Final


class QpState(StrEnum):
    """RESET → INIT → RTR (ready to receive) → RTS (ready to send); ERROR from any of the last."""

    RESET = "reset"
    INIT = "init"
    RTR = "rtr"
    RTS = "rts"
    ERROR = "error"


class QpInput(StrEnum):
    """What moves a queue pair."""

    INITIALISE = "initialise"
    PEER_KNOWN = "peer known"
    START = "start"
    FAIL = "fail"
    DESTROY = "destroy"


class QpStateError(Exception):
    """An operation that the queue pair's state does not allow."""


TRANSITIONS: Final[dict[tuple[QpState, QpInput], QpState]] = {
    (QpState.RESET, QpInput.INITIALISE): QpState.INIT,
    (QpState.INIT, QpInput.PEER_KNOWN): QpState.RTR,
    (QpState.RTR, QpInput.START): QpState.RTS,
    (QpState.INIT, QpInput.FAIL): QpState.ERROR,
    (QpState.RTR, QpInput.FAIL): QpState.ERROR,
    (QpState.RTS, QpInput.FAIL): QpState.ERROR,
    (QpState.INIT, QpInput.DESTROY): QpState.RESET,
    (QpState.RTR, QpInput.DESTROY): QpState.RESET,
    (QpState.RTS, QpInput.DESTROY): QpState.RESET,
    (QpState.ERROR, QpInput.DESTROY): QpState.RESET,
}


def next_state(state: QpState, heard: QpInput) -> QpState:
    """The state after `heard`; QpStateError when the table has no such row."""
    new = TRANSITIONS.get((state, heard))
    if new is None:
        raise QpStateError(f"queue pair in {state.name} cannot take {heard.value!r}")
    return new
