# SPDX-License-Identifier: Apache-2.0
"""Completion queues and the channels that tell of them."""

from __future__ import annotations

import errno
from collections import deque
from typing import TYPE_CHECKING, Any

from endpoint.api_error import MrcError
from endpoint.verbs.context import mrc_context
from endpoint.verbs.ibv import IBV_EVENT_CQ_ERR, IBV_WC_SUCCESS, ibv_wc

if TYPE_CHECKING:
    from endpoint.verbs.qp import mrc_qp

MAX_CQE = 1 << 22


class mrc_comp_channel:
    """Where completion queues announce that they have something."""

    def __init__(self, context: mrc_context) -> None:
        self.context = context
        self.ready: deque[mrc_cq] = deque()
        self.users = 0


class mrc_cq:
    """A completion queue. `cqe`: how many completions it holds at least (and here at most)."""

    def __init__(
        self, context: mrc_context, cqe: int, cq_context: Any, channel: mrc_comp_channel | None
    ) -> None:
        self.context = context
        self.cqe = cqe
        self.cq_context = cq_context
        self.channel = channel
        self.entries: deque[ibv_wc] = deque()
        self.overrun = False
        self.users = 0
        self.unacknowledged = 0
        self._armed: str = ""  # "any" or "solicited" completions announce themselves, once

    def push(self, wc: ibv_wc, qp: mrc_qp, *, solicited: bool) -> None:
        """A completion. One that finds no room is an overrun: the QP goes to ERROR, as in
        hardware, since what it completed is lost."""
        if len(self.entries) >= self.cqe:
            if not self.overrun:
                self.overrun = True
                self.context.raise_event(self, IBV_EVENT_CQ_ERR)
            qp.fail("completion queue overrun")
            return
        self.entries.append(wc)
        failed = wc.status is not IBV_WC_SUCCESS
        if self._armed == "any" or (self._armed and (solicited or failed)):
            self.announce()

    def closed(self) -> None:
        """It was destroyed."""

    def arm(self, solicited_only: bool) -> None:
        """The next completion (of the kind) is announced."""
        if self._armed != "any":
            self._armed = "solicited" if solicited_only else "any"

    def announce(self) -> None:
        """Tells the channel, if there is one."""
        self._armed = ""
        if self.channel is not None:
            self.channel.ready.append(self)


def mrc_create_comp_channel(mrc_ctx: mrc_context) -> mrc_comp_channel:
    """A new completion channel."""
    mrc_ctx.children["completion channels"] += 1
    return mrc_comp_channel(mrc_ctx)


def mrc_get_comp_channel_fd(channel: mrc_comp_channel) -> int:
    """MrcError(ENOTSUP) always: a file descriptor has no meaning where time is virtual.

    `mrc_get_cq_event` never blocks instead.
    """
    raise MrcError(errno.ENOTSUP, "a completion channel has no file descriptor")


def mrc_destroy_comp_channel(channel: mrc_comp_channel) -> None:
    """MrcError(EBUSY) while a CQ uses it."""
    if channel.users:
        raise MrcError(errno.EBUSY, f"{channel.users} CQs use the channel")
    channel.context.children["completion channels"] -= 1


def mrc_create_cq(
    mrc_ctx: mrc_context,
    cqe: int,
    cq_context: Any = None,
    channel: mrc_comp_channel | None = None,
    comp_vector: int = 0,
) -> mrc_cq:
    """A completion queue for `cqe` entries (1 to 2**22). MrcError(EINVAL)."""
    if not 1 <= cqe <= MAX_CQE:
        raise MrcError(errno.EINVAL, f"cqe {cqe} is outside 1..{MAX_CQE}")
    if comp_vector != 0:
        raise MrcError(errno.EINVAL, f"comp_vector {comp_vector}: there is one, 0")
    if channel is not None:
        channel.users += 1
    mrc_ctx.children["CQs"] += 1
    return mrc_cq(mrc_ctx, cqe, cq_context, channel)


def mrc_poll_cq(cq: mrc_cq, num_entries: int) -> list[ibv_wc]:
    """At most `num_entries` completions, oldest first; fewer when the queue was emptied.

    MrcError(EINVAL) for a negative number, EOVERFLOW when the emptied queue has lost some.
    """
    if num_entries < 0:
        raise MrcError(errno.EINVAL, f"num_entries {num_entries} is negative")
    cq.context.device.harvest()
    if cq.overrun and not cq.entries:
        raise MrcError(errno.EOVERFLOW, "the CQ was overrun")
    return [cq.entries.popleft() for _ in range(min(num_entries, len(cq.entries)))]


def mrc_req_notify_cq(cq: mrc_cq, solicited_only: int = 0) -> None:
    """The next completion after this call is announced on the CQ's channel, once."""
    cq.context.device.harvest()
    cq.arm(bool(solicited_only))


def mrc_get_cq_event(channel: mrc_comp_channel) -> tuple[mrc_cq, Any]:
    """The CQ that has something, and its context; to be acknowledged. MrcError(EAGAIN)."""
    channel.context.device.harvest()
    if not channel.ready:
        raise MrcError(errno.EAGAIN, "no completion event")
    cq = channel.ready.popleft()
    cq.unacknowledged += 1
    return cq, cq.cq_context


def mrc_ack_cq_events(cq: mrc_cq, nevents: int) -> None:
    """Acknowledges completion events. MrcError(EINVAL) for more than were taken."""
    if not 0 <= nevents <= cq.unacknowledged:
        raise MrcError(errno.EINVAL, f"{nevents} of {cq.unacknowledged} events")
    cq.unacknowledged -= nevents


def mrc_destroy_cq(cq: mrc_cq) -> None:
    """MrcError(EBUSY) while QPs use it or events of it are not acknowledged."""
    if cq.users or cq.unacknowledged:
        raise MrcError(errno.EBUSY, "QPs use the CQ, or its events are not acknowledged")
    cq.context.forget(cq)
    cq.closed()
    if cq.channel is not None:
        cq.channel.users -= 1
        ready = cq.channel.ready
        cq.channel.ready = deque(other for other in ready if other is not cq)
    cq.context.children["CQs"] -= 1
