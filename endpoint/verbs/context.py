# SPDX-License-Identifier: Apache-2.0
"""The MRC context: parent of an application's objects; asynchronous events."""

from __future__ import annotations

import errno
from collections import Counter, deque
from typing import TYPE_CHECKING

from endpoint.api_error import MrcError
from endpoint.events import Event, PortChanged, QpChanged
from endpoint.qp_states import QpState
from endpoint.verbs.device import ibv_context
from endpoint.verbs.ibv import (
    IBV_EVENT_PORT_ACTIVE,
    IBV_EVENT_PORT_ERR,
    IBV_EVENT_QP_FATAL,
    ibv_event_type,
)
from endpoint.verbs.objects import mrc_async_event, mrc_context_attr
from endpoint.verbs.versions import MRC_API_CURRENT_VERSION, MRC_API_VER_LATEST, is_supported

if TYPE_CHECKING:
    from endpoint.verbs.cq import mrc_cq
    from endpoint.verbs.qp import mrc_qp


class mrc_context:
    """An application's instance of the library on one device.

    `children` counts objects that must be destroyed before it, by kind.
    """

    def __init__(self, device: ibv_context, api_version: int) -> None:
        self.device = device
        self.api_version = api_version
        self.children: Counter[str] = Counter()
        self.qps: dict[int, mrc_qp] = {}
        self.events: deque[mrc_async_event] = deque()
        self._unacknowledged: Counter[int] = Counter()  # by identity of the element
        self.open = True
        device.contexts.append(self)
        device.on_event.append(self._heard)

    def _heard(self, event: Event) -> None:
        if isinstance(event, PortChanged) and not event.remote:
            kind = IBV_EVENT_PORT_ACTIVE if event.usable else IBV_EVENT_PORT_ERR
            self.raise_event(event.port + 1, kind)
        elif isinstance(event, QpChanged) and event.new == QpState.ERROR.value:
            qp = self.qps.get(event.qpn)
            if qp is not None and not qp.error_expected:
                self.raise_event(qp, IBV_EVENT_QP_FATAL)

    def raise_event(self, element: mrc_cq | mrc_qp | int, kind: ibv_event_type) -> None:
        """Queues an asynchronous event."""
        self.events.append(mrc_async_event(element, kind, self))

    def take_event(self) -> mrc_async_event:
        """The oldest event, to be acknowledged. IndexError when there is none."""
        event = self.events.popleft()
        self._unacknowledged[id(event.element)] += 1
        return event

    def acknowledge(self, event: mrc_async_event) -> None:
        """MrcError(EINVAL) for an event that was not taken, or was acknowledged before."""
        if not self._unacknowledged[id(event.element)]:
            raise MrcError(errno.EINVAL, "this event is not waiting for an acknowledgement")
        self._unacknowledged[id(event.element)] -= 1

    def forget(self, element: mrc_cq | mrc_qp) -> None:
        """Drops the events of an element that goes; MrcError(EBUSY) while one that was taken is
        not acknowledged (libibverbs would block)."""
        if self._unacknowledged[id(element)]:
            raise MrcError(errno.EBUSY, "events of this object are not acknowledged")
        self.events = deque(event for event in self.events if event.element is not element)

    def close(self) -> None:
        """The device's events go elsewhere from now on."""
        self.device.contexts.remove(self)
        self.device.on_event.remove(self._heard)
        self.open = False


def mrc_create_context(
    vcontext: ibv_context, context_attr: mrc_context_attr | None = None
) -> mrc_context:
    """A context. MrcError(EINVAL) when the application wants a version that is not supported."""
    wanted = context_attr.mrc_api_version_used if context_attr else 0
    if not is_supported(wanted):
        raise MrcError(errno.EINVAL, f"API version {wanted:#x} is not supported")
    latest = wanted in (0, MRC_API_VER_LATEST)
    return mrc_context(vcontext, MRC_API_CURRENT_VERSION if latest else wanted)


def mrc_destroy_context(mrc_ctx: mrc_context) -> None:
    """MrcError(EBUSY) while objects of it live, EINVAL when it was destroyed before."""
    if not mrc_ctx.open:
        raise MrcError(errno.EINVAL, "the context is destroyed")
    alive = [f"{count} {kind}" for kind, count in sorted(mrc_ctx.children.items()) if count]
    if alive:
        raise MrcError(errno.EBUSY, f"the context still has {', '.join(alive)}")
    mrc_ctx.close()


def mrc_get_async_event(mrc_ctx: mrc_context) -> mrc_async_event:
    """The next event, to be acknowledged. MrcError(EAGAIN) when there is none: this call never
    blocks."""
    mrc_ctx.device.harvest()
    try:
        return mrc_ctx.take_event()
    except IndexError:
        raise MrcError(errno.EAGAIN, "no asynchronous event") from None


def mrc_ack_async_event(event: mrc_async_event) -> None:
    """Acknowledges an event; its QP or CQ cannot be destroyed before."""
    event.context.acknowledge(event)
