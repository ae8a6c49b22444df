# SPDX-License-Identifier: Apache-2.0
"""The forward paths of one queue pair: which one next, what happened on each, frames for them.

Ties the EV set (health and rotation) to what the requester learns, and keeps a prepared header
for each path in use.
"""

from collections.abc import Sequence

from endpoint.ev_set import EvSet
from endpoint.ev_states import EvInput
from endpoint.loss import LossRule
from endpoint.reverse_paths import ReversePaths
from endpoint.routes import Route
from endpoint.rtt import RttEstimator
from endpoint.wire.build import ControlTemplate, DataTemplate
from endpoint.wire.dscp import DscpMap
from endpoint.wire.ipv6 import ECN_ECT0
from topologies.sids import ev_plane

_CAUSES = {
    LossRule.SAME_PATH: EvInput.LOSS,
    LossRule.TIME: EvInput.LOSS,
    LossRule.TIMER: EvInput.TIMEOUT,
}


class Paths:
    """`trimmable` False puts data into the class that switches drop rather than cut."""

    def __init__(
        self,
        evs: EvSet,
        reverse: ReversePaths,
        route: Route,
        dest_qp: int,
        dscp: DscpMap,
        rtt: RttEstimator,
        *,
        trimmable: bool = True,
    ) -> None:
        self.evs = evs
        self._reverse = reverse
        self._route = route
        self._dest_qp = dest_qp
        self._dscp = dscp
        self._rtt = rtt
        self._trimmable = trimmable
        self._data: dict[int, DataTemplate] = {}
        self._probes: dict[int, ControlTemplate] = {}
        self._last_hop_trims: dict[int, int] = {}  # plane -> time of the newest

    def choose(self, now_ns: int, avoid: int, room: Sequence[int]) -> int | None:
        """The EV for the next packet, other than `avoid`, whose port has room; None without."""
        return self.evs.next(now_ns, avoid or None, lambda port: room[port] > 0)

    def choose_elsewhere(self, now_ns: int, ev: int) -> int | None:
        """An EV on another plane than that of `ev`, or on any where there is no other."""
        plane = ev_plane(ev)
        other = self.evs.next(now_ns, ev, lambda port: port != plane)
        return other if other is not None else self.evs.next(now_ns, ev)

    def template(self, ev: int) -> DataTemplate:
        """The prepared headers of data packets on `ev`."""
        template = self._data.get(ev)
        if template is None:
            template = self._data[ev] = DataTemplate(
                self._route.addresses(ev), self._dest_qp, self._dscp, trimmable=self._trimmable
            )
        return template

    def probe_template(self, ev: int) -> ControlTemplate:
        """The prepared headers of probes on `ev`: they meet the queues that data meets."""
        template = self._probes.get(ev)
        if template is None:
            template = self._probes[ev] = ControlTemplate(
                self._route.addresses(ev), self._dest_qp, self._dscp.no_trim, ecn=ECN_ECT0
            )
        return template

    # -- what the requester learns --------------------------------------------------------------

    def lost(self, ev: int, rule: LossRule, sent_ns: int, now_ns: int) -> None:
        """A transmission on `ev` was lost, which retires the path at once.

        Not while the last hop of its plane trims: a trimmed header may itself have been dropped
        there, and the path is not to blame.
        """
        trimmed_ns = self._last_hop_trims.get(ev_plane(ev))
        if trimmed_ns is not None and now_ns - trimmed_ns <= self._rtt.smoothed_ns:
            return
        self.evs.retire(ev, now_ns, _CAUSES[rule], sent_ns)
        self._reverse.doubted(ev)

    def delivered(self, ev: int) -> None:
        """A SACK names a packet that arrived on `ev`."""
        self._reverse.learned(ev)

    def congested(self, ev: int, now_ns: int) -> None:
        """A packet on `ev` was marked, or trimmed on a fabric hop."""
        self.evs.skip(ev, now_ns)

    def always_skip(self, ev: int, now_ns: int) -> None:
        """The peer asks never to use `ev` again."""
        self.evs.retire(ev, now_ns, EvInput.ALWAYS_SKIP)

    def trimmed_last_hop(self, ev: int, now_ns: int) -> None:
        """A packet on `ev` was trimmed on the last hop: a matter of the receiver's link."""
        self._last_hop_trims[ev_plane(ev)] = now_ns
