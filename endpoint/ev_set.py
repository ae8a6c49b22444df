# SPDX-License-Identifier: Apache-2.0
"""The paths of one queue pair: which EV the next packet takes, and what is known of each.

Sources: P1 section 4 (same number of EVs on every plane, backup from the same plane, retired on
the first loss), SPEC (states, ``ev_min_active``); ``docs/paths.md`` has the decisions.

No I/O and no clock: every call is passed the time in integer nanoseconds. All randomness comes
from the generator passed in, nothing depends on hash order.
"""

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from endpoint.ev_states import (
    FLOOR,
    PORT_INPUTS,
    RETIRE_INPUTS,
    EvEvent,
    EvInput,
    EvState,
    next_state,
)
from endpoint.probes import ProbeSchedule
from endpoint.readmit import ReadmitPolicy, Record
from endpoint.rotation import Path, Rotation
from topologies.sids import ev_plane

# The two transitions that happen for every marked packet, looked up once.
_AFTER_CONGESTION = next_state(EvState.GOOD, EvInput.CONGESTED)
_AFTER_MISSED_TURN = next_state(EvState.SKIP, EvInput.TURN_MISSED)


class EvSet:
    """Active and backup EVs of a queue pair, their states, and the rotation over them.

    ``evs_by_plane``: all candidate EVs by plane (plane numbers are NIC port numbers, 0..31).
    ``count``: how many are active over all planes; every plane gets the same number, a random
    subset of its candidates: at least one, and at most what the plane with the fewest has.
    ``backup_per_plane``: how many more are kept as backup; by default as many as are active.
    ``min_active``: the floor ``ev_min_active``; by default a quarter of the set, at least 1.
    ``event_limit``: events kept until drained; beyond it the oldest are lost and counted.

    Reports about an EV that is not in the set are ignored: they come from the wire.
    """

    def __init__(
        self,
        evs_by_plane: Mapping[int, Sequence[int]],
        count: int,
        rng: random.Random,
        *,
        min_active: int | None = None,
        readmit: ReadmitPolicy | None = None,
        backup_per_plane: int | None = None,
        event_limit: int = 16_384,
    ) -> None:
        _check_candidates(evs_by_plane, count)
        self._policy = readmit if readmit is not None else ReadmitPolicy()
        self._paths: dict[int, Path] = {}
        self._on_plane: dict[int, list[Path]] = {}
        self._backup: dict[int, deque[Path]] = {}
        self._rotation = Rotation(list(evs_by_plane), rng, self._turn_missed)
        smallest = min(len(evs) for evs in evs_by_plane.values())
        self._quota = min(smallest, max(1, count // len(evs_by_plane)))
        kept = self._quota + (self._quota if backup_per_plane is None else backup_per_plane)
        for plane in sorted(evs_by_plane):
            evs = evs_by_plane[plane]
            paths = [Path(ev, plane) for ev in rng.sample(evs, min(kept, len(evs)))]
            self._paths.update((path.ev, path) for path in paths)
            self._on_plane[plane] = paths
            self._backup[plane] = deque(paths[self._quota :])
            for path in paths[: self._quota]:
                self._rotation.join(path)
        self.min_active = max(1, self._rotation.size // 4) if min_active is None else min_active
        if self.min_active < 0:
            raise ValueError(f"min_active is negative: {min_active}")
        self._local_ports = self._peer_ports = sum(1 << plane for plane in self._on_plane)
        self._schedule = ProbeSchedule()
        self._held: set[int] = set()
        self._now_ns = 0
        self._event_limit = event_limit
        self._events: deque[EvEvent] = deque(maxlen=event_limit)
        self.events_lost = 0

    # -- the next packet ----------------------------------------------------------------------

    def next(
        self,
        now_ns: int,
        avoid: int | None = None,
        ok_port: Callable[[int], bool] | None = None,
    ) -> int | None:
        """The EV for the next packet; None when no path may be used now.

        ``avoid``: the EV that a retransmission must not take again, unless it is the only one.
        ``ok_port(plane)``: whether the plane's port has room; when the EV whose turn it is has
        none, one of the next few is used and the turn is kept; None when those have none either.
        """
        self._now_ns = now_ns
        rotation = self._rotation
        shunned = self._paths.get(avoid) if avoid is not None else None
        path = rotation.take() if shunned is None else rotation.take_other(shunned)
        if path is not None and ok_port is not None and not ok_port(path.plane):
            path = rotation.exchange(path, shunned, ok_port)
        return None if path is None else path.ev

    def _turn_missed(self, path: Path) -> None:
        self._set(path, _AFTER_MISSED_TURN, EvInput.TURN_MISSED, self._now_ns)
        self._rotation.restored(path)

    # -- reports ------------------------------------------------------------------------------

    def skip(self, ev: int, now_ns: int) -> None:
        """SACK with SKIP_ONCE, or NACK TRIMMED: the EV misses its next turn.

        An EV in reserve has no turn to miss, so nothing changes for it.
        """
        path = self._paths.get(ev)
        if path is not None and path.ready:
            self._set(path, _AFTER_CONGESTION, EvInput.CONGESTED, now_ns)
            self._rotation.skipped(path)

    def retire(
        self, ev: int, now_ns: int, cause: EvInput = EvInput.LOSS, sent_ns: int | None = None
    ) -> EvState | None:
        """An untrimmed loss, or ALWAYS_SKIP: the EV is ASSUMED_BAD at once and replaced.

        ``sent_ns``: when the lost packet was sent; a loss from before the EV's last readmission
        is old news and ignored. With no backup on its plane and no more than ``min_active`` EVs
        in use it stays, and an event with cause FLOOR says so, once until there are more.
        Returns the EV's state afterwards, None for an unknown EV. ValueError for a ``cause`` that
        does not retire.
        """
        if cause not in RETIRE_INPUTS:
            raise ValueError(f"EV {ev:#010x}: {cause!r} does not retire an EV")
        path = self._paths.get(ev)
        if path is None:
            return None
        if next_state(path.state, cause) is path.state:
            return path.state
        readmitted_ns = path.record.readmitted_ns
        if sent_ns is not None and readmitted_ns is not None and sent_ns < readmitted_ns:
            return path.state
        if self._floor_holds(path):
            if ev not in self._held:
                self._held.add(ev)
                self._note(EvEvent(now_ns, ev, path.plane, path.state, path.state, FLOOR))
            return path.state
        self._change(path, cause, now_ns)
        path.record.retired(self._policy, now_ns)
        self._schedule.add(ev, now_ns)
        self._withdraw(path)
        return path.state

    def _floor_holds(self, path: Path) -> bool:
        shrinks = path.member and not self._backup[path.plane]
        return shrinks and self._rotation.size <= self.min_active

    # -- the operator -------------------------------------------------------------------------

    def deny(self, ev: int, now_ns: int | None = None) -> None:
        """The operator takes an EV out, whatever the floor says. ValueError when unknown.

        Without ``now_ns`` the event carries the last time seen.
        """
        path = self._known(ev)
        if self._change(path, EvInput.DENY, self._now_ns if now_ns is None else now_ns):
            self._schedule.remove(ev)
            self._withdraw(path)

    def allow(self, ev: int, now_ns: int | None = None) -> None:
        """The operator gives a denied EV back: GOOD, or dead while its port is down.

        ValueError when unknown.
        """
        path = self._known(ev)
        now_ns = self._now_ns if now_ns is None else now_ns
        if not self._change(path, EvInput.ALLOW, now_ns):
            return
        path.record.readmitted_ns = now_ns
        if self._usable(path.plane):
            self._admit(path)
            return
        down_here = not self._local_ports >> path.plane & 1
        cause = EvInput.LOCAL_PORT_DOWN if down_here else EvInput.PEER_PORT_DOWN
        self._change(path, cause, now_ns)
        path.record.retired(self._policy, now_ns)

    def replace(self, old: int, new: int, now_ns: int) -> None:
        """The operator puts another EV in the place of one, GOOD whatever the old one was.

        ValueError when ``old`` is unknown, or ``new`` is in the set or on another plane.
        """
        path = self._known(old)
        if new in self._paths or ev_plane(new) != path.plane:
            raise ValueError(f"EV {new:#010x} cannot replace {old:#010x}")
        self.deny(old, now_ns)
        del self._paths[old]
        path.ev, path.record = new, Record()
        self._paths[new] = path
        self.allow(new, now_ns)

    # -- ports --------------------------------------------------------------------------------

    def set_local_ports(self, mask: int, now_ns: int) -> None:
        """Usable ports of this NIC (bit = plane). EVs of a port that went down are ASSUMED_BAD
        whatever the floor says; one that came up returns by probes."""
        self._set_ports(mask, self._peer_ports, EvInput.LOCAL_PORT_DOWN, now_ns)

    def set_peer_ports(self, mask: int, now_ns: int) -> None:
        """Usable ports of the peer's NIC, as it reported them; otherwise as the local ones."""
        self._set_ports(self._local_ports, mask, EvInput.PEER_PORT_DOWN, now_ns)

    def _set_ports(self, local: int, peer: int, cause: EvInput, now_ns: int) -> None:
        before = self._local_ports & self._peer_ports
        self._local_ports, self._peer_ports = local, peer
        changed = before ^ (local & peer)
        for plane, paths in self._on_plane.items():
            if not changed >> plane & 1:
                continue
            if before >> plane & 1:
                self._plane_down(plane, paths, cause, now_ns)
            else:
                bad = [path.ev for path in paths if path.state is EvState.ASSUMED_BAD]
                self._schedule.add_spread(bad, now_ns)

    def _plane_down(self, plane: int, paths: list[Path], cause: EvInput, now_ns: int) -> None:
        assert cause in PORT_INPUTS
        self._rotation.leave_plane(plane)
        self._backup[plane].clear()
        for path in paths:
            self._schedule.remove(path.ev)
            if self._change(path, cause, now_ns):
                path.record.retired(self._policy, now_ns)
            else:
                path.record.restarted(now_ns)

    def _usable(self, plane: int) -> bool:
        return bool((self._local_ports & self._peer_ports) >> plane & 1)

    # -- probes -------------------------------------------------------------------------------

    def probes_due(self, now_ns: int, srtt_ns: int) -> list[int]:
        """EVs to send a Reliability Probe on now: each one in ASSUMED_BAD whose port is usable,
        every 4 smoothed round trips. They count as probed."""
        return self._schedule.due(now_ns, srtt_ns)

    def pace_probes(self, srtt_ns: int) -> None:
        """The newest round trip: the probes of a port that comes up are spread by it."""
        self._schedule.pace(srtt_ns)

    def next_timer_ns(self) -> int | None:
        """When ``probes_due`` is to be asked next; None while no EV is to be probed."""
        return self._schedule.next_ns()

    def probe_answered(
        self, ev: int, now_ns: int, marked: bool = False, sent_ns: int | None = None
    ) -> bool:
        """A probe on ``ev`` was answered; true when that readmitted the EV.

        ``marked``: the probe had arrived with CE. The path lives, so it counts, but the EV
        returns as SKIP. ``sent_ns``: an answer to a probe from before the present probation does
        not count.
        """
        path = self._on_probation(ev, sent_ns)
        if path is None or not self._usable(path.plane):
            return False
        urgent = self._rotation.size <= self.min_active
        if not path.record.probe_answered(self._policy, now_ns, urgent):
            return False
        self._change(path, EvInput.PROBES_PASSED, now_ns)
        self._schedule.remove(ev)
        self._admit(path)
        if marked:
            self.skip(ev, now_ns)
        return True

    def probe_lost(self, ev: int, now_ns: int, sent_ns: int | None = None) -> None:
        """A probe on ``ev`` timed out: the answers in a row start from zero."""
        path = self._on_probation(ev, sent_ns)
        if path is not None:
            path.record.probe_lost(now_ns)

    def _on_probation(self, ev: int, sent_ns: int | None) -> Path | None:
        path = self._paths.get(ev)
        if path is None or path.state is not EvState.ASSUMED_BAD:
            return None
        return path if sent_ns is None or sent_ns >= path.record.since_ns else None

    # -- membership ---------------------------------------------------------------------------

    def _withdraw(self, path: Path) -> None:
        """Out of the active set, replaced from its plane's backup, or out of the backup."""
        backup = self._backup[path.plane]
        if path.member:
            self._rotation.leave(path, backup.popleft() if backup else None)
            self._held.discard(path.ev)
        elif path in backup:
            backup.remove(path)

    def _admit(self, path: Path) -> None:
        """Into the active set when its plane is below its count, else to the backup's end."""
        if self._rotation.members_of(path.plane) < self._quota:
            self._rotation.join(path)
            if self._rotation.size > self.min_active:
                self._held.clear()
        else:
            self._backup[path.plane].append(path)

    # -- answers ------------------------------------------------------------------------------

    def __contains__(self, ev: int) -> bool:
        return ev in self._paths

    def state(self, ev: int) -> EvState:
        """State of an EV of the set; ValueError when unknown."""
        return self._known(ev).state

    def in_use(self, ev: int) -> bool:
        """Whether packets may take this EV: active, GOOD or SKIP, both its ports usable."""
        path = self._paths.get(ev)
        return path is not None and path.member

    def active(self) -> list[int]:
        """EVs in use, plane by plane, each plane's in ascending order."""
        members = self._rotation.members()
        members.sort(key=lambda path: (path.plane, path.ev))
        return [path.ev for path in members]

    def backup(self) -> list[int]:
        """EVs in reserve, plane by plane, in the order they would be used."""
        return [path.ev for reserve in self._backup.values() for path in reserve]

    def all_evs(self) -> list[int]:
        """Every EV of the set, plane by plane."""
        return list(self._paths)

    def usable_planes(self) -> list[int]:
        """Planes with at least one EV in use, ascending."""
        return [plane for plane in self._on_plane if self._rotation.members_of(plane)]

    def drain_events(self) -> list[EvEvent]:
        """The events since the last call, oldest first."""
        events = list(self._events)
        self._events.clear()
        return events

    def _known(self, ev: int) -> Path:
        path = self._paths.get(ev)
        if path is None:
            raise ValueError(f"EV {ev:#010x} is not in this set of {len(self._paths)} EVs")
        return path

    def _change(self, path: Path, heard: EvInput, now_ns: int) -> bool:
        """Applies the table; whether the state changed. Keeps the event."""
        new = next_state(path.state, heard)
        if new is path.state:
            return False
        self._set(path, new, heard, now_ns)
        return True

    def _set(self, path: Path, new: EvState, heard: EvInput, now_ns: int) -> None:
        old = path.state
        path.state = new
        self._note(EvEvent(now_ns, path.ev, path.plane, old, new, heard))

    def _note(self, event: EvEvent) -> None:
        events = self._events
        if len(events) == self._event_limit:
            self.events_lost += 1
        events.append(event)


def _check_candidates(evs_by_plane: Mapping[int, Iterable[int]], count: int) -> None:
    if not evs_by_plane:
        raise ValueError("evs_by_plane has no plane")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    seen: set[int] = set()
    for plane, evs in evs_by_plane.items():
        if not 0 <= plane < 32:
            raise ValueError(f"plane {plane} is not a bit of a 32-bit port mask")
        here = list(evs)
        if not here:
            raise ValueError(f"plane {plane} has no candidate EV")
        for ev in here:
            if ev in seen:
                raise ValueError(f"EV {ev:#010x} is a candidate twice")
            seen.add(ev)
