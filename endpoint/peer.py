# SPDX-License-Identifier: Apache-2.0
"""One peer NIC: the endpoint messages (QP 2) between it and this one.

Port Status Updates tell each other's usable ports; EV Probes find out whether a path works. Both
belong to no queue pair, but travel on the paths of those that connect the two NICs.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from endpoint.port_status import PeerPorts, PortStatusSender
from endpoint.serial import ID_MASK
from endpoint.wire.build import ControlTemplate
from endpoint.wire.endpoint_message import (
    OP_EV_PROBE,
    OP_PORT_STATUS_UPDATE,
    EndpointRequest,
    EndpointResponse,
)
from endpoint.wire.frame import ParsedFrame
from endpoint.wire.ipv6 import ECN_ECT0
from endpoint.wire.opcodes import ENDPOINT_QP
from endpoint.wire.tseth import ticks
from topologies.sids import ev_plane

if TYPE_CHECKING:
    from endpoint.host_services import HostServices
    from endpoint.queue_pair import QueuePair
    from endpoint.routes import Route


class Peer:
    """`queue_pairs` are those connected to it, oldest first; there is always at least one."""

    def __init__(
        self, services: HostServices, route: Route, local_mask: int, rng: random.Random
    ) -> None:
        planes = services.fabric.spec.planes
        self.route = route
        self.queue_pairs: list[QueuePair] = []
        self.status = PortStatusSender(planes, rng)
        self.ports = PeerPorts(planes)
        self.status.changed(local_mask)
        self._services = services
        self._next_id = rng.getrandbits(16)
        self._asked: dict[int, QueuePair] = {}
        self._answers: dict[int, ControlTemplate] = {}
        self._probes: dict[int, ControlTemplate] = {}

    # -- sending --------------------------------------------------------------------------------

    def send_ev_probe(self, asker: QueuePair, ev: int, now_ns: int) -> int:
        """Sends an EV Probe on `ev` into the queues that data meets; the request id."""
        request_id = self._next_id
        self._next_id = request_id + 1 & ID_MASK
        self._asked.pop(request_id, None)
        self._asked[request_id] = asker
        if len(self._asked) > _ASKED_REMEMBERED:
            del self._asked[next(iter(self._asked))]
        template = self._probes.get(ev)
        if template is None:
            template = self._probes[ev] = ControlTemplate(
                self.route.addresses(ev), ENDPOINT_QP, self._services.dscp.no_trim, ecn=ECN_ECT0
            )
        request = EndpointRequest(OP_EV_PROBE, tx_timestamp=ticks(now_ns))
        self._services.emit(ev_plane(ev), template.endpoint_request(request_id, request))
        return request_id

    def send_due(self, now_ns: int) -> None:
        """Sends a Port Status Update if one is due."""
        update = self.status.due(now_ns, self.queue_pairs[0].rtt.smoothed_ns)
        if update is None:
            return
        request = EndpointRequest(OP_PORT_STATUS_UPDATE, update.mask, ticks(now_ns))
        ev = self.queue_pairs[0].reverse.on_plane(update.plane)
        frame = self._answer_on(ev).endpoint_request(update.request_id, request)
        self._services.emit(update.plane, frame)

    def _answer_on(self, ev: int) -> ControlTemplate:
        template = self._answers.get(ev)
        if template is None:
            template = self._answers[ev] = ControlTemplate(
                self.route.addresses(ev), ENDPOINT_QP, self._services.dscp.control
            )
        return template

    # -- receiving ------------------------------------------------------------------------------

    def receive(self, frame: ParsedFrame, now_ns: int) -> int | None:
        """A message from this peer; the peer's usable ports if it brought news of them."""
        message = frame.endpoint
        if isinstance(message, EndpointResponse):
            self._take_response(message, frame.request_id, now_ns)
            return None
        if not isinstance(message, EndpointRequest):
            return None
        ev = self.queue_pairs[0].reverse.answer_on(ev_plane(frame.ev))
        if ev is not None:
            response = EndpointResponse(message.op, message.tx_timestamp)
            answer = self._answer_on(ev).endpoint_response(frame.request_id, response)
            self._services.emit(ev_plane(ev), answer)
        if message.op == OP_PORT_STATUS_UPDATE and self.ports.apply(
            frame.request_id, message.port_status_mask
        ):
            self.status.set_peer_ports(self.ports.mask)
            return self.ports.mask
        return None

    def _take_response(self, response: EndpointResponse, request_id: int, now_ns: int) -> None:
        if response.op == OP_PORT_STATUS_UPDATE:
            self.status.answered(request_id)
            return
        asker = self._asked.pop(request_id, None)
        if asker is not None:
            asker.ev_probe_answered(request_id, now_ns)

    def next_timer_ns(self, now_ns: int) -> int | None:
        """When `send_due` has something to do."""
        return self.status.next_timer_ns(now_ns)


_ASKED_REMEMBERED = 1024
