# SPDX-License-Identifier: Apache-2.0
"""EV events: a queue of its own kind that is told of every change its profiles ask for.

Decision: each queue pair judges paths for itself, so each one's change is an event of its own.
Every EV event CQ of a device gets every event. A full one drops the newest and counts exactly.
"""

from __future__ import annotations

import errno
from collections import deque
from typing import Any

from endpoint.api_error import MrcError
from endpoint.control.objects import mrc_ctl_ev_event
from endpoint.ev_states import EvState
from endpoint.events import EvChanged, Event
from endpoint.profiles.ev_profile import EvProfile
from endpoint.profiles.ev_value import mrc_ctl_ev
from endpoint.profiles.kinds import (
    MRC_CTL_EV_ASSUMED_BAD,
    MRC_CTL_EV_DENIED,
    MRC_CTL_EV_GOOD,
    MRC_CTL_EV_MODE_AUTO,
)
from endpoint.verbs.context import mrc_context
from endpoint.verbs.cq import MAX_CQE, mrc_comp_channel, mrc_cq

_STATES = {
    EvState.GOOD.value: MRC_CTL_EV_GOOD,
    EvState.SKIP.value: MRC_CTL_EV_GOOD,
    EvState.ASSUMED_BAD.value: MRC_CTL_EV_ASSUMED_BAD,
    EvState.DENIED.value: MRC_CTL_EV_DENIED,
}


class mrc_ctl_ev_cq(mrc_cq):
    """A queue of EV events; it drops and counts where another CQ would be overrun."""

    def __init__(
        self, context: mrc_context, cqe: int, cq_context: Any, channel: mrc_comp_channel | None
    ) -> None:
        super().__init__(context, cqe, cq_context, channel)
        self.ev_events: deque[mrc_ctl_ev_event] = deque()
        self.dropped = 0
        context.device.on_event.append(self._heard)

    def closed(self) -> None:
        """No more events."""
        self.context.device.on_event.remove(self._heard)

    def _heard(self, event: Event) -> None:
        if not isinstance(event, EvChanged):
            return
        old, new = _STATES[event.old], _STATES[event.new]
        profile = self._profile_of(event.qpn)
        if old is new or profile is None or not new & (profile.event_mask or 0):
            return
        value = self._value(profile, event)
        if value is None:
            return
        if len(self.ev_events) >= self.cqe:
            self.dropped += 1
            return
        told = mrc_ctl_ev_event(profile.profile_id, value, self.dropped, new)
        self.dropped = 0
        self.ev_events.append(told)
        if self._armed:
            self.announce()

    def _profile_of(self, qpn: int) -> EvProfile | None:
        profiles = self.context.device.profiles.evs.values()
        return next((profile for profile in profiles if qpn in profile.users), None)

    def _value(self, profile: EvProfile, event: EvChanged) -> mrc_ctl_ev | None:
        """The EV as the profile has it; where the device chose it, its address."""
        if profile.mode is not MRC_CTL_EV_MODE_AUTO:
            return profile.value_of(event.ev)
        fabric, src, dst = profile.users[event.qpn].ends
        address = fabric.path_template(src, dst).address_of_ev(event.ev)
        return mrc_ctl_ev(address, event.plane + 1)


def mrc_ctl_create_ev_event_cq(
    mrc_ctx: mrc_context,
    cqe: int,
    cq_context: Any = None,
    channel: mrc_comp_channel | None = None,
    comp_vector: int = 0,
) -> mrc_ctl_ev_cq:
    """A queue for `cqe` EV events (1 to 2**22); `mrc_destroy_cq` ends it. MrcError(EINVAL)."""
    if not 1 <= cqe <= MAX_CQE or comp_vector != 0:
        raise MrcError(errno.EINVAL, f"cqe {cqe} is outside 1..{MAX_CQE}, or comp_vector not 0")
    mrc_ctx.device.harvest()
    if channel is not None:
        channel.users += 1
    mrc_ctx.children["CQs"] += 1
    return mrc_ctl_ev_cq(mrc_ctx, cqe, cq_context, channel)


def mrc_ctl_poll_ev_event(ev_cq: mrc_cq, num_entries: int) -> list[mrc_ctl_ev_event]:
    """At most `num_entries` events, oldest first. MrcError(EINVAL) for another kind of CQ."""
    if not isinstance(ev_cq, mrc_ctl_ev_cq) or num_entries < 0:
        raise MrcError(errno.EINVAL, "not an EV event CQ, or a negative number")
    ev_cq.context.device.harvest()
    events = ev_cq.ev_events
    return [events.popleft() for _ in range(min(num_entries, len(events)))]
