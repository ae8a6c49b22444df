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
        self.heard: QueuePair | None = None  # the queue pair that a packet arrived for last
        self._silent = True  # has told nothing since the last connection
        self.status = PortStatusSender(planes, rng)
        self.ports = PeerPorts(planes)
        self.status.changed(local_mask)
        self._services = services
        self._next_id = rng.getrandbits(16)
        self._asked: dict[int, QueuePair] = {}
        self._answers: dict[int, ControlTemplate] = {}
        self._probes: dict[int, ControlTemplate] = {}

    # -- queue pairs ----------------------------------------------------------------------------

    def connected(self, qp: QueuePair) -> None:
        """One more queue pair; either NIC may have restarted since the last one was connected.

        If one has told the other its ports before, it tells them anew, and what the peer tells
        of its own counts whatever its id. A NIC that has told nothing yet does so when it is
        told: that the peer remembers something which a restart has made wrong, it cannot know.
        """
        self.queue_pairs.append(qp)
        self._silent = not (self.status.pending or self.status.was_told or self.ports.was_told)
        if not self._silent:
            self.status.renew()
        self.ports.expect_any()

    def disconnected(self, qp: QueuePair) -> None:
        """A queue pair less; nothing is kept of it."""
        self.queue_pairs.remove(qp)
        if self.heard is qp:
            self.heard = None
        self._asked = {asked: asker for asked, asker in self._asked.items() if asker is not qp}
        self._answers.clear()
        self._probes.clear()

    def _speaker(self) -> QueuePair:
        """The queue pair on whose reverse paths messages travel: the one that heard of the peer
        last, since it is the one that keeps its paths proven."""
        heard = self.heard
        return self.queue_pairs[0] if heard is None else heard

    def use_route(self, route: Route) -> None:
        """Messages go another way from now on: the paths of a queue pair without SRv6."""
        self.route = route
        self._answers.clear()
        self._probes.clear()

    def claim_id(self) -> int:
        """A request id of the series to this peer, for a request that is not asked for here."""
        request_id = self._next_id
        self._next_id = request_id + 1 & ID_MASK
        return request_id

    # -- sending --------------------------------------------------------------------------------

    def send_ev_probe(self, asker: QueuePair, ev: int, now_ns: int) -> int:
        """Sends an EV Probe on `ev` into the queues that data meets; the request id."""
        request_id = self.claim_id()
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
        speaker = self._speaker()
        update = self.status.due(now_ns, speaker.rtt.smoothed_ns)
        if update is None:
            return
        self._silent = False
        request = EndpointRequest(OP_PORT_STATUS_UPDATE, update.mask, ticks(now_ns))
        ev = speaker.reverse.on_plane(update.plane)
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

    def receive(self, frame: ParsedFrame, port: int, now_ns: int) -> int | None:
        """A message from this peer, on a port (its plane); the peer's usable ports if it brought
        news of them."""
        message = frame.endpoint
        if isinstance(message, EndpointResponse):
            self._take_response(message, frame.request_id, now_ns)
            return None
        if not isinstance(message, EndpointRequest):
            return None
        update = message.op == OP_PORT_STATUS_UPDATE
        if update and self.ports.is_old(frame.request_id):
            return None
        ev = self._speaker().reverse.answer_on(port)
        if ev is not None:
            response = EndpointResponse(message.op, message.tx_timestamp)
            answer = self._answer_on(ev).endpoint_response(frame.request_id, response)
            self._services.emit(ev_plane(ev), answer)
        if update and self._silent:
            self._silent = False
            self.status.renew()
        if update and self.ports.apply(frame.request_id, message.port_status_mask):
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
