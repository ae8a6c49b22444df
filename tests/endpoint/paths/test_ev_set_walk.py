# SPDX-License-Identifier: Apache-2.0
"""Proves the invariants of an EV set over any sequence of inputs (hypothesis state machine)."""

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from endpoint.ev_set import EvSet
from endpoint.ev_states import FLOOR, RETIRE_INPUTS, TRANSITIONS, EvInput, EvState
from endpoint.readmit import ReadmitPolicy

PLANES = 3
ALL_PORTS = (1 << PLANES) - 1
IN_USE = {EvState.GOOD, EvState.SKIP}
index = st.integers(0, 99)
masks = st.integers(0, ALL_PORTS)


class Walk(RuleBasedStateMachine):
    @initialize(
        active=st.integers(1, 3),
        backup=st.integers(0, 2),
        floor=st.integers(0, 4),
        seed=st.integers(0, 2**32),
    )
    def build(self, active, backup, floor, seed):
        self.now = 0
        self.quota = active
        candidates = {p: [p * 10 + k for k in range(active + backup)] for p in range(PLANES)}
        self.evs = EvSet(
            candidates,
            PLANES * active,
            random.Random(seed),
            min_active=floor,
            readmit=ReadmitPolicy(2, 8, 50),
            backup_per_plane=backup,
        )
        self.known = dict.fromkeys(self.evs.all_evs(), EvState.GOOD)
        self.local = self.peer = ALL_PORTS

    def pick(self, at):
        evs = self.evs.all_evs()
        return evs[at % len(evs)]

    def usable(self, ev):
        return bool((self.local & self.peer) >> ev // 10 & 1)

    @rule(n=st.integers(1, 12), avoid=st.none() | index, room=masks)
    def send(self, n, avoid, room):
        avoided = None if avoid is None else self.pick(avoid)
        in_use = set(self.evs.active())
        for _ in range(n):
            self.now += 1
            ev = self.evs.next(self.now, avoided, lambda plane: bool(room >> plane & 1))
            if ev is None:
                assert not in_use or room != ALL_PORTS
                continue
            assert ev in in_use and self.evs.state(ev) in IN_USE
            assert self.usable(ev) and room >> ev // 10 & 1
            assert ev != avoided or in_use == {ev}

    @rule(at=index)
    def skip(self, at):
        self.evs.skip(self.pick(at), self.now)

    @rule()
    def everything_is_congested(self):
        for ev in self.evs.active():
            self.evs.skip(ev, self.now)
        used = self.evs.next(self.now)
        good = [ev for ev in self.evs.active() if self.evs.state(ev) is EvState.GOOD]
        assert good == ([] if used is None else [used]), "the soonest one, and no other yet"

    @rule(at=index, cause=st.sampled_from(sorted(RETIRE_INPUTS)))
    def retire(self, at, cause):
        ev = self.pick(at)
        before = len(self.evs.active())
        spare = any(other // 10 == ev // 10 for other in self.evs.backup())
        held = before <= self.evs.min_active and self.evs.in_use(ev) and not spare
        self.evs.retire(ev, self.now, cause)
        if held:
            assert self.evs.state(ev) in IN_USE
        elif self.evs.state(ev) is not EvState.DENIED:
            assert self.evs.state(ev) is EvState.ASSUMED_BAD
        assert len(self.evs.active()) >= min(before, self.evs.min_active)

    @rule(at=index)
    def deny(self, at):
        self.evs.deny(self.pick(at), self.now)

    @rule(at=index)
    def allow(self, at):
        self.evs.allow(self.pick(at), self.now)

    @rule(mask=masks)
    def local_ports(self, mask):
        self.local = mask
        self.evs.set_local_ports(mask, self.now)

    @rule(mask=masks)
    def peer_ports(self, mask):
        self.peer = mask
        self.evs.set_peer_ports(mask, self.now)

    @rule(wait=st.integers(0, 60), lose=st.sets(st.integers(0, 5)), marked=st.booleans())
    def probe(self, wait, lose, marked):
        self.now += wait
        for k, ev in enumerate(self.evs.probes_due(self.now, 3)):
            assert self.evs.state(ev) is EvState.ASSUMED_BAD and self.usable(ev)
            if k in lose:
                self.evs.probe_lost(ev, self.now)
            else:
                self.evs.probe_answered(ev, self.now, marked)

    @invariant()
    def events_follow_the_table(self):
        for event in self.evs.drain_events():
            assert event.old is self.known[event.ev]
            if event.cause == FLOOR:
                assert event.old is event.new and event.old in IN_USE
            else:
                assert TRANSITIONS[event.old, EvInput(event.cause)] is event.new
            self.known[event.ev] = event.new
        assert self.known == {ev: self.evs.state(ev) for ev in self.evs.all_evs()}

    @invariant()
    def every_ev_is_in_its_place(self):
        active, backup = self.evs.active(), self.evs.backup()
        assert not set(active) & set(backup)
        for ev, state in self.known.items():
            if ev in active:
                assert state in IN_USE and self.usable(ev)
            elif ev in backup:
                assert state is EvState.GOOD and self.usable(ev)
            else:
                assert state in (EvState.ASSUMED_BAD, EvState.DENIED)
        for plane in range(PLANES):
            in_use = sum(ev // 10 == plane for ev in active)
            spare = sum(ev // 10 == plane for ev in backup)
            assert in_use == self.quota or (in_use < self.quota and not spare)

    @invariant()
    def exactly_the_dead_evs_with_a_usable_port_are_probed(self):
        dead = [ev for ev, s in self.known.items() if s is EvState.ASSUMED_BAD and self.usable(ev)]
        assert (self.evs.next_timer_ns() is not None) == bool(dead)

    def teardown(self):
        if not hasattr(self, "evs"):
            return
        # Whatever happened: with ports up, nothing denied and probes answered, all return.
        for ev in self.evs.all_evs():
            self.evs.allow(ev, self.now)
        self.local = self.peer = ALL_PORTS
        self.evs.set_local_ports(ALL_PORTS, self.now)
        self.evs.set_peer_ports(ALL_PORTS, self.now)
        for _ in range(20):
            self.now += 12
            for ev in self.evs.probes_due(self.now, 3):
                self.evs.probe_answered(ev, self.now)
        active = self.evs.active()
        assert len(active) == PLANES * self.quota
        sent = [self.evs.next(self.now) for _ in range(8 * len(active))]
        for ev in active:  # two rotations for turns still to be missed, then equal shares
            assert 5 <= sent[2 * len(active) :].count(ev) <= 7


Walk.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestWalk = Walk.TestCase
