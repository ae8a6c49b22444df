# SPDX-License-Identifier: Apache-2.0
"""One EV profile: its array of EVs, the operator's states, and the queue pairs that use it.

Decisions. Every EV of the array is in use, the same number on each port; what a port has beyond
that is its backup. An EV's state is that of the profile where the operator denied it, else
ASSUMED_BAD while any queue pair has it so.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from endpoint.api_error import MrcError
from endpoint.ev_states import EvState
from endpoint.profiles.ev_format import EvFormat
from endpoint.profiles.ev_value import (
    MRC_CTL_EV_UNPOPULATED,
    combinations,
    expand,
    generate,
    mrc_ctl_ev,
    mrc_ctl_ev_field,
)
from endpoint.profiles.kinds import (
    MRC_CTL_EV_ASSUMED_BAD,
    MRC_CTL_EV_DENIED,
    MRC_CTL_EV_FMT_MODE_SRV6,
    MRC_CTL_EV_GOOD,
    MRC_CTL_EV_MODE_AUTO,
    MRC_CTL_EV_MODE_EXP,
    MRC_CTL_EV_MODE_GEN,
    MRC_CTL_EV_UNKNOWN,
    MRC_CTL_PROFILE_INIT,
    MRC_CTL_PROFILE_ONLINE,
    mrc_ctl_ev_mode,
    mrc_ctl_ev_state,
    mrc_ctl_profile_state,
)
from endpoint.profiles.planning import PlannedEv, ProfilePlan, in_plane, uplink_of, wire_ev
from endpoint.qp_states import QpState
from endpoint.queue_pair import QueuePair
from topologies.sids import ENTROPY_BITS, ev_pack


@dataclass(slots=True)
class Entry:
    """One place of the array. `ev` names it in the engine, 0 before the profile is ONLINE."""

    value: mrc_ctl_ev = MRC_CTL_EV_UNPOPULATED
    denied: bool = False
    ev: int = 0

    @property
    def filled(self) -> bool:
        """Whether somebody has given it an EV."""
        return self.value.port != 0


@dataclass(frozen=True, slots=True)
class Settings:
    """What a controller sets of an EV profile."""

    mode: mrc_ctl_ev_mode | None
    format: EvFormat | None
    min_active: int | None
    event_mask: mrc_ctl_ev_state | None
    fields: tuple[mrc_ctl_ev_field, ...]
    entries: list[Entry]


class EvProfile:
    """`planes`: ports of the NIC. `rng` draws the entropy of the engine's EVs."""

    def __init__(self, profile_id: int, planes: int, rng: random.Random) -> None:
        self.profile_id = profile_id
        self.state: mrc_ctl_profile_state = MRC_CTL_PROFILE_INIT
        self.mode: mrc_ctl_ev_mode | None = None
        self.format: EvFormat | None = None
        self.min_active: int | None = None
        self.event_mask: mrc_ctl_ev_state | None = None
        self.fields: tuple[mrc_ctl_ev_field, ...] = ()
        self.entries: list[Entry] = []
        self.users: dict[int, QueuePair] = {}
        self._planes = planes
        self._rng = rng
        self._by_ev: dict[int, Entry] = {}

    def settings(self) -> Settings:
        """What `restore` needs to undo changes."""
        entries = [replace(entry) for entry in self.entries]
        return Settings(
            self.mode, self.format, self.min_active, self.event_mask, self.fields, entries
        )

    def restore(self, before: Settings) -> None:
        """Undoes what was changed since `settings`."""
        self.mode, self.format, self.min_active = before.mode, before.format, before.min_active
        self.event_mask, self.fields = before.event_mask, before.fields
        self.entries = before.entries
        self._by_ev = {entry.ev: entry for entry in self.entries if entry.ev}

    # -- the array ------------------------------------------------------------------------------

    def resize(self, count: int) -> None:
        """A new array: generated, or of unfilled places."""
        self.entries = [Entry() for _ in range(count)]
        if self.mode is MRC_CTL_EV_MODE_GEN and self.fields:
            self.generate()

    def generate(self) -> None:
        """Fills the array from the fields, ports in turn. MrcError(EINVAL) when they make fewer
        different EVs; in SRv6 the same value on another port is another EV."""
        count, ports = len(self.entries), self._planes
        rounds = -(-count // ports) if self._is_srv6 else count
        possible = combinations(self.fields)
        if rounds > possible:
            most = possible * (ports if self._is_srv6 else 1)
            raise MrcError(errno.EINVAL, f"{count} EVs: the fields make {most}")
        values = list(generate(self.fields, rounds))
        for index, entry in enumerate(self.entries):
            value, width = values[index // ports if self._is_srv6 else index]
            entry.value = mrc_ctl_ev.of(value, width, index % ports + 1)
            entry.denied, entry.ev = False, 0

    @property
    def _is_srv6(self) -> bool:
        return self.format is not None and self.format.mode is MRC_CTL_EV_FMT_MODE_SRV6

    def find(self, value: mrc_ctl_ev, *, all_copies: bool) -> list[Entry]:
        """The places with an EV, only the first one unless all are asked for. MrcError(ENOENT)."""
        found = [entry for entry in self.entries if entry.value == value]
        if not found:
            raise MrcError(errno.ENOENT, f"EV {value.val.hex()} on port {value.port}: not there")
        return found if all_copies else found[:1]

    def check_value(self, value: mrc_ctl_ev) -> PlannedEv:
        """MrcError(EINVAL) when an EV cannot be used on its port, or does not fit its fields."""
        if not 1 <= value.port <= self._planes:
            raise MrcError(errno.EINVAL, f"EV {value.val.hex()}: there is no port {value.port}")
        assert self.format is not None and self.format.mode is not None
        plane = value.port - 1
        expanded = expand(value, self.fields, self.format.fields)
        parts = [expanded[:16], expanded[16:]] if self._is_srv6 else []
        ev = self._fresh(plane, uplink_of(parts))
        planned = PlannedEv(ev, plane, expanded)
        if self._is_srv6:
            self._check_route(planned)
        return planned

    def _check_route(self, planned: PlannedEv) -> None:
        try:
            in_plane(planned.value[:16], planned.plane)
        except ValueError as error:
            raise MrcError(errno.EINVAL, str(error)) from error

    def _fresh(self, plane: int, uplink: int) -> int:
        """A number for an EV that no other place has."""
        while True:
            ev = ev_pack(plane, uplink, self._rng.getrandbits(ENTROPY_BITS))
            if ev not in self._by_ev:
                return ev

    def go_online(self) -> None:
        """Gives every place its number. MrcError(EINVAL) names a place that is not filled, an EV
        that does not fit, and in STEV and UDP a value that stands there twice."""
        if self.mode is MRC_CTL_EV_MODE_AUTO:
            return
        assert self.format is not None and self.format.mode is not None
        self._by_ev.clear()
        seen: set[int] = set()
        for number, entry in enumerate(self.entries):
            if not entry.filled:
                raise MrcError(errno.EINVAL, f"EV {number} of the array is not populated")
            planned = self.check_value(entry.value)
            if not self._is_srv6:
                wire = wire_ev(self.format.mode, planned.value, planned.ev)
                if wire in seen:
                    raise MrcError(errno.EINVAL, f"EV {number}: its value stands there twice")
                seen.add(wire)
            entry.ev = planned.ev
            self._by_ev[planned.ev] = entry

    # -- queue pairs ----------------------------------------------------------------------------

    def plan(self) -> ProfilePlan | None:
        """What a queue pair needs to use the profile; None when the device chooses."""
        if self.mode is MRC_CTL_EV_MODE_AUTO:
            return None
        assert self.format is not None and self.format.mode is not None
        evs = [
            PlannedEv(
                entry.ev, entry.value.port - 1, expand(entry.value, self.fields, self.format.fields)
            )
            for entry in self.entries
        ]
        return ProfilePlan(self.format.mode, self.format.has_segment, evs)

    def min_active_of_qps(self) -> int | None:
        """The floor for queue pairs; None for the device's own."""
        return self.min_active

    def _connected(self) -> Iterator[QueuePair]:
        for qp in self.users.values():
            if qp.state in (QpState.RTR, QpState.RTS):
                yield qp

    def joined(self, qp: QueuePair, now_ns: int) -> None:
        """A queue pair has connected: what the operator denied holds for it too."""
        for entry in self.entries:
            if entry.denied:
                qp.evs.deny(entry.ev, now_ns)

    @property
    def is_used(self) -> bool:
        """Whether queue pairs use it."""
        return bool(self.users)

    def value_of(self, ev: int) -> mrc_ctl_ev | None:
        """The API's EV for one of the engine, if it is in the array."""
        entry = self._by_ev.get(ev)
        return entry.value if entry is not None else None

    # -- states ---------------------------------------------------------------------------------

    def state_of(self, entry: Entry) -> mrc_ctl_ev_state:
        """State of a place of the array."""
        if not entry.filled:
            return MRC_CTL_EV_UNKNOWN
        if entry.denied:
            return MRC_CTL_EV_DENIED
        for qp in self._connected():
            if entry.ev in qp.evs and qp.evs.state(entry.ev) is EvState.ASSUMED_BAD:
                return MRC_CTL_EV_ASSUMED_BAD
        return MRC_CTL_EV_GOOD

    def set_state(self, entry: Entry, state: mrc_ctl_ev_state, now_ns: int) -> None:
        """The operator sets a state: DENIED, GOOD, or ASSUMED_BAD (probes bring it back)."""
        actions: dict[mrc_ctl_ev_state, Callable[[QueuePair], None]] = {
            MRC_CTL_EV_DENIED: lambda qp: qp.evs.deny(entry.ev, now_ns),
            MRC_CTL_EV_GOOD: lambda qp: _make_good(qp, entry.ev, now_ns),
            MRC_CTL_EV_ASSUMED_BAD: lambda qp: _make_bad(qp, entry.ev, now_ns),
        }
        act = actions.get(state)
        if act is None or not entry.filled:
            raise MrcError(errno.EINVAL, f"an EV cannot be set to {state!r}")
        entry.denied = state is MRC_CTL_EV_DENIED
        if self.state is MRC_CTL_PROFILE_ONLINE:
            for qp in self._connected():
                if entry.ev in qp.evs:
                    act(qp)

    def replace(
        self, entry: Entry, value: mrc_ctl_ev, state: mrc_ctl_ev_state, now_ns: int
    ) -> None:
        """Another EV in a place of the array, also in queue pairs that use it.

        MrcError(EINVAL): an EV that does not fit; while ONLINE also one on another port, and in
        STEV and UDP a value that stands there already.
        """
        if state not in (MRC_CTL_EV_GOOD, MRC_CTL_EV_DENIED):
            raise MrcError(errno.EINVAL, f"a replacement starts GOOD or DENIED, not {state!r}")
        planned = self.check_value(value)
        if self.state is MRC_CTL_PROFILE_ONLINE:
            self._replace_online(entry, value, planned, now_ns)
        entry.value, entry.denied = value, False
        if state is MRC_CTL_EV_DENIED:
            self.set_state(entry, state, now_ns)

    def _replace_online(
        self, entry: Entry, value: mrc_ctl_ev, planned: PlannedEv, now_ns: int
    ) -> None:
        assert self.format is not None and self.format.mode is not None
        if value.port != entry.value.port:
            raise MrcError(errno.EINVAL, "the port of an EV changes OFFLINE only")
        if not self._is_srv6 and any(other.value.val == value.val for other in self.entries):
            raise MrcError(errno.EINVAL, f"EV {value.val.hex()} stands there already")
        plan = ProfilePlan(self.format.mode, self.format.has_segment, [planned])
        for qp in self._connected():
            path = plan.path(planned, *qp.ends)
            qp.replace_path(entry.ev, path, now_ns)
        del self._by_ev[entry.ev]
        entry.ev = planned.ev
        self._by_ev[entry.ev] = entry

    @property
    def is_explicit(self) -> bool:
        """Whether the controller gives the EVs one by one."""
        return self.mode is MRC_CTL_EV_MODE_EXP


def _make_good(qp: QueuePair, ev: int, now_ns: int) -> None:
    if qp.evs.state(ev) is EvState.ASSUMED_BAD:
        qp.evs.deny(ev, now_ns)  # the operator's word is the one way back without probes
    qp.evs.allow(ev, now_ns)


def _make_bad(qp: QueuePair, ev: int, now_ns: int) -> None:
    if qp.evs.state(ev) is EvState.DENIED:
        qp.evs.allow(ev, now_ns)
    qp.evs.retire(ev, now_ns)
