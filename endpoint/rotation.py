# SPDX-License-Identifier: Apache-2.0
"""The order in which active EVs take their turns: every one once a rotation, then a new order.

The order is random but stratified: within a rotation, the k-th of a plane's n paths gets a
random place in the k-th n-th of the rotation. So any few packets in a row are spread over the
planes in proportion to their paths (with equal planes, counts never differ by more than one
within a rotation), and which path of a plane comes next stays random.
"""

import random
from collections.abc import Callable, Sequence
from itertools import chain
from operator import itemgetter

from endpoint.ev_states import EvState
from endpoint.readmit import Record

LOOK_AHEAD = 16
"""Turns that may be taken early when the next path's port has no room: two of each of 8 planes,
and a bound on the work for one packet."""

_first = itemgetter(0)


class Path:
    """One EV of a queue pair."""

    __slots__ = ("ev", "member", "plane", "ready", "record", "state")

    def __init__(self, ev: int, plane: int) -> None:
        self.ev = ev
        self.plane = plane
        self.state = EvState.GOOD
        self.member = False
        """In the active set, hence in the rotation."""
        self.ready = False
        """A member and GOOD (kept in a flag of its own for speed)."""
        self.record = Record()


class Rotation:
    """Members are GOOD or SKIP. One that is SKIP misses one turn, and ``on_turn_missed`` must
    make it GOOD again and call ``restored``.

    ``take`` is amortised O(1): a rotation of n turns costs O(n log n) in two C sorts to set up,
    and each passed turn is paid for by one call of ``skipped``.
    """

    def __init__(
        self,
        planes: Sequence[int],
        rng: random.Random,
        on_turn_missed: Callable[[Path], None],
    ) -> None:
        self._planes: dict[int, list[Path]] = {plane: [] for plane in sorted(planes)}
        self._random = rng.random
        self._on_turn_missed = on_turn_missed
        self._order: list[Path] = []
        self._turn = 0
        self._ready = 0
        self.size = 0
        """Members."""

    def members(self) -> list[Path]:
        """All members, plane by plane."""
        return list(chain.from_iterable(self._planes.values()))

    def members_of(self, plane: int) -> int:
        """Number of members on a plane."""
        return len(self._planes[plane])

    # -- membership ---------------------------------------------------------------------------

    def join(self, path: Path) -> None:
        """Takes turns from the next rotation on. The path must be GOOD and no member."""
        self._planes[path.plane].append(path)
        path.member = path.ready = True
        self.size += 1
        self._ready += 1

    def leave(self, path: Path, heir: Path | None = None) -> None:
        """Takes no turn any more; ``heir`` joins, and gets the turn if it was still to come."""
        self._drop(path)
        self._planes[path.plane].remove(path)
        if heir is not None:
            self.join(heir)
        try:
            place = self._order.index(path, self._turn)
        except ValueError:
            return
        if heir is None:
            del self._order[place]
        else:
            self._order[place] = heir

    def leave_plane(self, plane: int) -> None:
        """All paths of a plane leave."""
        for path in self._planes[plane]:
            self._drop(path)
        self._planes[plane].clear()
        self._order = [path for path in self._order[self._turn :] if path.member]
        self._turn = 0

    def _drop(self, path: Path) -> None:
        self._ready -= path.ready
        self.size -= 1
        path.member = path.ready = False

    def skipped(self, path: Path) -> None:
        """A member became SKIP."""
        path.ready = False
        self._ready -= 1

    def restored(self, path: Path) -> None:
        """A member that was SKIP is GOOD again."""
        path.ready = True
        self._ready += 1

    # -- turns --------------------------------------------------------------------------------

    def take(self) -> Path | None:
        """The next path of the rotation; None without members.

        With no member GOOD, the next in order is used at once: it is the one due soonest.
        """
        while self.size:
            turn = self._turn
            if turn >= len(self._order):
                self._shuffle()
                continue
            path = self._order[turn]
            self._turn = turn + 1
            if path.ready:
                return path
            none_good = self._ready == 0
            self._on_turn_missed(path)
            if none_good:
                return path
        return None

    def take_other(self, avoid: Path) -> Path | None:
        """As ``take``, but not ``avoid``, unless it is the only member.

        ``avoid`` keeps its turn and is next, except at the end of a rotation, where it loses it.
        """
        path = self.take()
        if path is not avoid or self.size == 1:
            return path
        order = self._order
        while path is avoid:
            path = self.take()
        if self._order is order:
            self._turn -= 1
            order[self._turn] = avoid
        return path

    def exchange(
        self, path: Path, avoid: Path | None, has_room: Callable[[int], bool]
    ) -> Path | None:
        """Instead of ``path``, just taken: one of the next few whose plane has room.

        The two change places, so no turn is lost. Without one ``path`` is next again, and the
        answer is None. ``has_room`` is asked once a plane.
        """
        refused = 1 << path.plane
        order = self._order
        for place in range(self._turn, min(self._turn + LOOK_AHEAD, len(order))):
            other = order[place]
            if not other.ready or other is avoid or refused >> other.plane & 1:
                continue
            if has_room(other.plane):
                order[place] = path
                return other
            refused |= 1 << other.plane
        self._turn -= 1
        order[self._turn] = path
        return None

    def _shuffle(self) -> None:
        rand = self._random
        places: list[tuple[float, Path]] = []
        for members in self._planes.values():
            members.sort(key=lambda _path: rand())
            n = len(members)
            places.extend([((k + rand()) / n, path) for k, path in enumerate(members)])
        places.sort(key=_first)
        self._order = [path for _place, path in places]
        self._turn = 0
