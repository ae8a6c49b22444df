# SPDX-License-Identifier: Apache-2.0
"""Proves that EV health follows the table of the protocol, row by row, and nothing else."""

import itertools

import pytest

from endpoint.ev_states import TRANSITIONS, EvInput, EvState, next_state

G, S, B, D = EvState.GOOD, EvState.SKIP, EvState.ASSUMED_BAD, EvState.DENIED

# What each input does to GOOD, SKIP, ASSUMED_BAD, DENIED.
TABLE = [
    (EvInput.CONGESTED, S, S, B, D),
    (EvInput.TURN_MISSED, G, G, B, D),
    (EvInput.LOSS, B, B, B, D),
    (EvInput.TIMEOUT, B, B, B, D),
    (EvInput.ALWAYS_SKIP, B, B, B, D),
    (EvInput.LOCAL_PORT_DOWN, B, B, B, D),
    (EvInput.PEER_PORT_DOWN, B, B, B, D),
    (EvInput.PROBES_PASSED, G, S, G, D),
    (EvInput.DENY, D, D, D, D),
    (EvInput.ALLOW, G, S, B, G),
]


@pytest.mark.fact("ev.states")
@pytest.mark.parametrize(("heard", "good", "skip", "bad", "denied"), TABLE, ids=lambda v: str(v))
def test_row(heard, good, skip, bad, denied):
    assert [next_state(state, heard) for state in (G, S, B, D)] == [good, skip, bad, denied]


@pytest.mark.fact("ev.states")
def test_the_table_covers_every_input():
    assert {row[0] for row in TABLE} == set(EvInput)


def test_no_row_of_the_dictionary_is_idle():
    for (state, heard), new in TRANSITIONS.items():
        assert new is not state, (state, heard)


def test_every_state_can_be_left_and_reached():
    for state, other in itertools.permutations(EvState, 2):
        seen = {state}
        for _ in EvState:
            seen |= {next_state(s, heard) for s in seen for heard in EvInput}
        assert other in seen
