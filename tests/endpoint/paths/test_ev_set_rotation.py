# SPDX-License-Identifier: Apache-2.0
"""Proves the rotation: every active EV once, planes in step, SKIP for one turn, O(1) a packet."""

import os
import random
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.ev_set import EvSet
from endpoint.ev_states import EvState


def take(evs, n, **how):
    return [evs.next(0, **how) for _ in range(n)]


@pytest.mark.fact("ev.rotation")
@pytest.mark.parametrize(("planes", "active"), [(1, 1), (1, 7), (2, 2), (4, 4), (8, 32)])
def test_each_rotation_uses_each_active_ev_once(make_set, planes, active):
    evs = make_set(planes, active)
    rotations = [take(evs, planes * active) for _ in range(6)]
    for rotation in rotations:
        assert sorted(rotation) == evs.active()
    if planes * active > 4:
        assert len(set(map(tuple, rotations))) == 6, "a rotation must be reshuffled"


def test_planes_are_within_one_packet_of_each_other_at_any_time(make_set):
    evs = make_set(8, 32)
    sent = Counter(dict.fromkeys(range(8), 0))
    for ev in take(evs, 2560):
        sent[ev >> 8] += 1
        assert max(sent.values()) - min(sent.values()) <= 1


@pytest.mark.fact("ev.shrink")
def test_a_plane_with_fewer_paths_gets_load_in_proportion(make_set):
    evs = make_set(4, 8)
    for ev in (0x100, 0x103, 0x104, 0x106):
        evs.retire(ev, 0)
    take(evs, 32)  # to the end of the present rotation, whatever is left of it
    sent = Counter(ev >> 8 for ev in take(evs, 28 * 50))
    assert abs(sent[1] - 4 * 50) <= 4
    for plane in (0, 2, 3):
        assert abs(sent[plane] - 8 * 50) <= 8
    per_ev = Counter(take(evs, 28 * 50))
    assert set(per_ev) == set(evs.active())
    assert set(per_ev.values()) <= {49, 50, 51}


def test_a_replacement_inherits_the_turn(make_set):
    evs = make_set(2, 8, backup=8, seed=5)
    used = take(evs, 5)
    waiting = next(ev for ev in evs.active() if ev not in used)
    heirs = evs.backup()
    evs.retire(waiting, 0)
    evs.retire(used[0], 0)
    rest = take(evs, 11)
    assert [ev in rest for ev in heirs if ev in evs.active()].count(True) == 1
    assert len({*used, *rest}) == 16, "no EV twice in the rotation"
    assert sorted(take(evs, 16)) == evs.active()


def test_an_ev_without_replacement_leaves_the_rotation_at_once(make_set):
    evs = make_set(2, 8, seed=5)
    used = take(evs, 5)
    waiting = next(ev for ev in evs.active() if ev not in used)
    evs.retire(waiting, 0)
    assert waiting not in take(evs, 10)
    assert sorted(take(evs, 15)) == evs.active()
    for ev in evs.active():
        evs.skip(ev, 0)
    used_anyway = evs.next(0)
    good = [ev for ev in evs.active() if evs.state(ev) is EvState.GOOD]
    assert good == [used_anyway], "the departed one is not counted as good"


def test_skip_misses_exactly_one_turn(make_set):
    for seed in range(20):
        evs, twin = make_set(2, 8, seed=seed), make_set(2, 8, seed=seed)
        take(evs, seed)
        evs.skip(0x103, 0)
        undisturbed = take(twin, seed + 60)[seed:]
        undisturbed.remove(0x103)
        assert take(evs, 59) == undisturbed


def test_more_marks_before_the_missed_turn_change_nothing(make_set):
    once, thrice = make_set(1, 3), make_set(1, 3)
    once.skip(1, 0)
    for _ in range(3):
        thrice.skip(1, 0)
    assert take(once, 30) == take(thrice, 30)


@pytest.mark.fact("ev.good-skip")
def test_skip_lasts_about_one_rotation(make_set):
    gaps = []
    for seed in range(200):
        evs = make_set(4, 4, seed=seed)
        take(evs, seed % 16)
        last = evs.next(0)
        evs.skip(last, 0)
        gaps.append(take(evs, 64).index(last) + 1)
    mean = sum(gaps) / len(gaps)
    assert 24 <= mean <= 36, f"mean distance of two uses is {mean}, two rotations are 31"
    assert min(gaps) >= 15


@pytest.mark.fact("ev.none-good")
def test_with_no_ev_good_the_skip_one_due_soonest_is_used(make_set):
    evs = make_set(2, 4, seed=3)
    twin = make_set(2, 4, seed=3)
    take(evs, 2)
    take(twin, 2)
    for ev in evs.active():
        evs.skip(ev, 0)
    soonest = twin.next(0)
    assert evs.next(0) == soonest
    assert evs.state(soonest) is EvState.GOOD
    following = take(evs, 4)
    assert len(set(following)) == 4, "load spreads, it does not stay on one EV"


def test_all_skip_again_and_again_still_sends(make_set):
    evs = make_set(4, 4)
    for now in range(500):
        for ev in evs.active():
            evs.skip(ev, now)
        assert evs.next(now) in evs.active()


# -- retransmissions and full ports ---------------------------------------------------------------


@pytest.mark.fact("ev.retransmission")
def test_a_retransmission_takes_another_ev(make_set):
    evs = make_set(2, 2)
    for now in range(400):
        avoid = evs.active()[now % 4]
        assert evs.next(now, avoid=avoid) != avoid


def test_the_avoided_ev_keeps_its_turn(make_set):
    evs = make_set(2, 8)
    head = make_set(2, 8).next(0)
    packets = [evs.next(0, avoid=head), *take(evs, 15)]
    assert packets[1] == head
    assert sorted(packets) == evs.active()


def test_avoid_prefers_a_skipped_ev_to_the_same_one_again(make_set):
    evs = make_set(1, 3)
    evs.skip(0, 0)
    evs.skip(1, 0)
    assert evs.next(0, avoid=2) in (0, 1)


def test_the_only_ev_is_used_again(make_set):
    evs = make_set(1, 1)
    assert evs.next(0, avoid=0) == 0


def test_a_full_port_lets_another_plane_go_first(make_set):
    evs = make_set(4, 4)
    packets = take(evs, 4, ok_port=lambda plane: plane != 2)
    assert all(ev >> 8 != 2 for ev in packets)
    assert sorted(packets + take(evs, 12)) == evs.active()


def test_no_room_anywhere_takes_no_turn(make_set):
    evs, twin = make_set(4, 4), make_set(4, 4)
    assert take(evs, 30, ok_port=lambda plane: False) == [None] * 30
    assert take(evs, 32) == take(twin, 32)


def test_the_last_of_a_rotation_waits_for_its_port(make_set):
    evs = make_set(4, 4)
    sent = take(evs, 40, ok_port=lambda plane: plane != 2)
    assert [ev for ev in sent if ev is not None] == sent[:12]
    assert Counter(ev >> 8 for ev in sent[:12]) == {0: 4, 1: 4, 3: 4}


def test_a_retransmission_waits_rather_than_take_the_same_ev(make_set):
    evs = make_set(2, 1)
    assert take(evs, 8, avoid=0x000, ok_port=lambda plane: plane == 0) == [None] * 8
    assert take(evs, 1, avoid=0x000, ok_port=lambda plane: plane == 1) == [0x100]


@given(seed=st.integers(0, 1000), rooms=st.lists(st.integers(0, 15), min_size=1, max_size=200))
def test_full_ports_never_cost_a_turn(seed, rooms):
    evs = EvSet({p: list(range(p * 10, p * 10 + 3)) for p in range(4)}, 12, random.Random(seed))
    sent = []
    for room in rooms:
        ev = evs.next(0, ok_port=lambda plane, room=room: bool(room >> plane & 1))
        if ev is not None:
            assert room >> ev // 10 & 1
            sent.append(ev)
    for start in range(0, len(sent) - 11, 12):
        assert sorted(sent[start : start + 12]) == evs.active()


# -- repeatability and cost -----------------------------------------------------------------------

WALK = """
import random
from endpoint.ev_set import EvSet
rng = random.Random(9)
evs = EvSet({p: list(range(p * 100, p * 100 + 20)) for p in range(4)}, 40, rng)
out = []
for now in range(3000):
    ev = evs.next(now, avoid=out[-1] if out and now % 7 == 0 else None)
    out.append(ev)
    if now % 3 == 0:
        evs.skip(out[now // 2], now)
    if now % 50 == 0:
        evs.retire(out[now // 2], now)
    for probed in evs.probes_due(now, 5):
        evs.probe_answered(probed, now)
    if now % 400 == 200:
        evs.set_local_ports(0b1011, now)
    if now % 400 == 300:
        evs.set_local_ports(0b1111, now)
print(hash(tuple(out)), [(e.time_ns, e.ev, e.cause) for e in evs.drain_events()])
"""


def test_the_same_seed_gives_the_same_walk_under_any_hash_seed():
    walks = {
        subprocess.run(
            [sys.executable, "-c", WALK],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(walks) == 1
    assert "probes_passed" in walks.pop()


class CountingRandom(random.Random):
    calls = 0

    def random(self):
        self.calls += 1
        return super().random()


@pytest.mark.parametrize("per_plane", [4, 32, 128])
def test_the_work_for_a_packet_does_not_grow_with_the_set(per_plane):
    rng = CountingRandom(1)
    evs = EvSet(
        {plane: list(range(plane << 8, (plane << 8) + per_plane)) for plane in range(4)},
        4 * per_plane,
        rng,
    )
    rng.calls = 0
    turns = 4 * per_plane * 5
    take(evs, turns)
    assert rng.calls == 2 * turns, "two draws a packet: one shuffle a rotation, no more"
