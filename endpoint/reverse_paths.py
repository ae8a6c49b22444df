# SPDX-License-Identifier: Apache-2.0
"""The EVs that control packets of one queue pair take: one current EV on each plane.

Source: P1 section 2.4; the alternation of probes and the rule of two are protocol decisions.
Nothing here touches forward EV state: a dead reverse EV only changes this set. The other way
round is fine, since a data packet and a control packet of one NIC on one EV share the path.
"""

import random
from collections.abc import Mapping, Sequence

from topologies.sids import ev_plane

MISSES_TO_REPLACE = 2
"""Unanswered probes in a row on a current EV that replace it (protocol decision)."""


class _Current:
    """A plane's reverse EV.

    ``suspect``: not proven since it took over from a dead one, or since its port came up.
    """

    __slots__ = ("candidates", "ev", "misses", "plane", "suspect")

    def __init__(self, plane: int, candidates: Sequence[int], ev: int) -> None:
        self.plane = plane
        self.candidates = candidates
        self.ev = ev
        self.misses = 0
        self.suspect = False

    @property
    def in_doubt(self) -> bool:
        return self.suspect or self.misses > 0


class ReversePaths:
    """Reverse EVs of a queue pair, and the EV Probes that keep them alive.

    ``evs_by_plane``: all paths to the peer, by plane; the sequences are kept, not copied. The
    caller sends the probes that ``probe_due`` asks for (EV Probe, destination QP 2), gives them
    ids from its own series, and reports answers and time. At most ``limit`` are remembered, and
    as many that were given up: an answer that comes after all tells that it was too early.
    """

    def __init__(
        self, evs_by_plane: Mapping[int, Sequence[int]], rng: random.Random, limit: int = 1024
    ) -> None:
        if not evs_by_plane or not all(evs_by_plane.values()):
            raise ValueError("evs_by_plane needs at least one EV on each plane")
        self._rng = rng
        self._limit = limit
        self._currents = {
            plane: _Current(plane, evs_by_plane[plane], rng.choice(evs_by_plane[plane]))
            for plane in sorted(evs_by_plane)
        }
        self._local_ports = self._peer_ports = sum(1 << plane for plane in self._currents)
        self._usable: list[_Current] = []
        self._chosen: list[_Current] = []
        self._turn = rng.randrange(len(self._currents))
        self._probe_turn = self._turn
        self._random_next = False
        self._probes: dict[int, tuple[int, int]] = {}
        self._given_up: dict[int, tuple[int, int]] = {}
        self._trip_ns: int | None = None
        self._sent_in_trip = False
        self._srtt_ns = 0
        self._choose()

    # -- control packets ----------------------------------------------------------------------

    def next(self) -> int | None:
        """EV for the next control packet, the planes in turn; None when no port is usable.

        Planes whose reverse EV is suspect are left out while another one is not. A single
        unanswered probe does not suffice: the answer may have died on the peer's way back, and
        all control packets would go where nothing has been proven either.
        """
        chosen = self._chosen
        if not chosen:
            return None
        turn = self._turn
        self._turn = turn + 1 if turn + 1 < len(chosen) else 0
        return chosen[turn].ev

    def on_plane(self, plane: int) -> int:
        """The current reverse EV of a plane."""
        return self._currents[plane].ev

    def answer_on(self, plane: int) -> int | None:
        """EV for the answer to a request that came on `plane`: the same plane while its port is
        usable, or the next of the others.

        An answer that came back on any plane would let a dead path of one plane cast doubt on
        the paths of all of them.
        """
        current = self._currents.get(plane)
        return current.ev if current in self._usable and current is not None else self.next()

    def in_doubt(self, plane: int) -> bool:
        """Whether the plane's reverse EV has an unanswered probe, or is still to be proven."""
        return self._currents[plane].in_doubt

    def _set_ports(self, local: int, peer: int) -> None:
        came_up = local & peer & ~(self._local_ports & self._peer_ports)
        self._local_ports, self._peer_ports = local, peer
        for current in self._currents.values():
            if came_up >> current.plane & 1:
                current.suspect = True
        self._choose()

    def _choose(self) -> None:
        usable = self._local_ports & self._peer_ports
        self._usable = [c for c in self._currents.values() if usable >> c.plane & 1]
        self._chosen = [c for c in self._usable if not c.suspect] or self._usable
        if self._turn >= len(self._chosen):
            self._turn = 0

    def set_local_ports(self, mask: int) -> None:
        """Usable ports of this NIC (bit = plane). A plane that comes up is in doubt at first."""
        self._set_ports(mask, self._peer_ports)

    def set_peer_ports(self, mask: int) -> None:
        """Usable ports of the peer's NIC; otherwise as the local ones."""
        self._set_ports(self._local_ports, mask)

    # -- what data teaches --------------------------------------------------------------------

    def data_received(self, now_ns: int) -> None:
        """A data packet of the peer arrived."""
        if self._trip_ns is None:
            self._trip_ns = now_ns
            self._sent_in_trip = False

    def data_sent(self) -> None:
        """A data packet was sent: its SACK will teach what a probe would."""
        self._sent_in_trip = True

    def learned(self, ev: int) -> None:
        """A SACK acknowledged a data packet sent on ``ev``: the newest proof for its plane."""
        current = self._currents.get(ev_plane(ev))
        if current is not None:
            self._prove(current, ev)

    def doubted(self, ev: int) -> None:
        """A data packet was lost on ``ev``: another EV takes over if it is its plane's."""
        current = self._currents.get(ev_plane(ev))
        if current is not None and current.ev == ev:
            self._replace(current)
            self._choose()

    def _prove(self, current: _Current, ev: int) -> None:
        current.ev = ev
        if current.in_doubt:
            current.misses = 0
            current.suspect = False
            self._choose()

    def _replace(self, current: _Current) -> None:
        others = [ev for ev in current.candidates if ev != current.ev]
        if others:
            current.ev = self._rng.choice(others)
        current.misses = 0
        current.suspect = True

    # -- probes -------------------------------------------------------------------------------

    def probe_due(self, now_ns: int, srtt_ns: int) -> int | None:
        """The EV to probe now, if any: once for each round trip in which data only came in.

        Alternates between a current EV, the planes in turn, and a random one.
        """
        self._srtt_ns = srtt_ns
        if self._trip_ns is None or now_ns < self._trip_ns + srtt_ns:
            return None
        self._trip_ns = None
        if self._sent_in_trip or not self._usable:
            return None
        self._random_next = not self._random_next
        if self._random_next:
            self._probe_turn += 1
            return self._usable[self._probe_turn % len(self._usable)].ev
        return self._rng.choice(self._rng.choice(self._usable).candidates)

    def probe_sent(self, request_id: int, ev: int, now_ns: int) -> None:
        """The probe that ``probe_due`` asked for left under this id."""
        if len(self._probes) >= self._limit:
            self._give_up(next(iter(self._probes)))
        self._probes.pop(request_id, None)
        self._given_up.pop(request_id, None)
        self._probes[request_id] = (ev, now_ns)

    def probe_answered(self, request_id: int, now_ns: int) -> int | None:
        """The answer makes its EV the plane's reverse EV. Round trip in ns; None when unknown."""
        probe = self._probes.pop(request_id, None) or self._given_up.pop(request_id, None)
        if probe is None:
            return None
        ev, sent_ns = probe
        self._prove(self._currents[ev_plane(ev)], ev)
        return now_ns - sent_ns

    def expire(self, now_ns: int, timeout_ns: int) -> None:
        """Gives up probes sent ``timeout_ns`` ago or earlier."""
        until = now_ns - timeout_ns
        while self._probes:
            request_id, (_ev, sent_ns) = next(iter(self._probes.items()))
            if sent_ns > until:
                return
            self._give_up(request_id)

    def _give_up(self, request_id: int) -> None:
        probe = self._given_up[request_id] = self._probes.pop(request_id)
        if len(self._given_up) > self._limit:
            del self._given_up[next(iter(self._given_up))]
        ev = probe[0]
        current = self._currents[ev_plane(ev)]
        if current.ev != ev:
            return
        current.misses += 1
        if current.misses >= MISSES_TO_REPLACE:
            self._replace(current)
        self._choose()

    def next_timer_ns(self, timeout_ns: int) -> int | None:
        """When ``probe_due`` or ``expire`` has something to do; None when neither."""
        due = None if self._trip_ns is None else self._trip_ns + self._srtt_ns
        if self._probes:
            given_up = next(iter(self._probes.values()))[1] + timeout_ns
            if due is None or given_up < due:
                due = given_up
        return due
