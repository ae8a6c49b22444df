# SPDX-License-Identifier: Apache-2.0
"""Endpoint messages that belong to no queue pair: an operator's requests, and answers to NICs
that have no queue pair here.

An EV Probe is connectionless, so any NIC of the fabric gets its answer, on the plane and by the
uplink that it came on. A Port Status Update is of a connection: without one it is not answered,
because nothing would be kept of it.
"""

from __future__ import annotations

from typing import NamedTuple

from endpoint.host_services import HostServices
from endpoint.routes import Route
from endpoint.serial import ID_MASK
from endpoint.wire.build import ControlTemplate, PathAddresses
from endpoint.wire.endpoint_message import OP_EV_PROBE, EndpointRequest, EndpointResponse
from endpoint.wire.frame import ParsedFrame
from endpoint.wire.ipv6 import ECN_ECT0
from endpoint.wire.opcodes import ENDPOINT_QP
from endpoint.wire.tseth import ticks
from topologies.sids import ev_pack, ev_uplink

ROUTES_KEPT = 256


class EndpointAnswer(NamedTuple):
    """An answer: `key` of the request, port (from 0) that it came on, round trip in ns."""

    key: int
    port: int
    rtt_ns: int


class EndpointDesk:
    """One for each NIC."""

    def __init__(self, services: HostServices) -> None:
        self._services = services
        self._next_id = 0
        self._next_key = 0
        self._open: dict[tuple[bytes, int], tuple[int, int]] = {}
        self._routes: dict[bytes, Route] = {}
        self.answers: list[EndpointAnswer] = []

    def free_id(self) -> int:
        """A request id for a NIC that there is no series for."""
        self._next_id = self._next_id + 1 & ID_MASK
        return self._next_id

    def ask(
        self,
        path: PathAddresses,
        port: int,
        request_id: int,
        request: EndpointRequest,
        dscp: int,
        now_ns: int,
    ) -> int:
        """Sends a request from a port (from 0); the key of its answer."""
        self._next_key += 1
        self._open[path.destination, request_id] = (self._next_key, now_ns)
        template = ControlTemplate(path, ENDPOINT_QP, dscp, ecn=ECN_ECT0)
        stamped = request._replace(tx_timestamp=ticks(now_ns))
        self._services.emit(port, template.endpoint_request(request_id, stamped))
        return self._next_key

    def forget(self) -> None:
        """Answers that come from now on to what was asked are not wanted."""
        self._open.clear()
        self.answers.clear()

    def receive(self, frame: ParsedFrame, port: int, now_ns: int, *, stranger: bool) -> bool:
        """A message that came on a port; whether it was for this desk. `stranger`: no queue pair
        is connected to its sender."""
        message = frame.endpoint
        if isinstance(message, EndpointResponse):
            asked = self._open.pop((frame.src, frame.request_id), None)
            if asked is not None:
                key, sent_ns = asked
                self.answers.append(EndpointAnswer(key, port, now_ns - sent_ns))
            return asked is not None
        if stranger and isinstance(message, EndpointRequest) and message.op == OP_EV_PROBE:
            return self._answer(frame, message, port)
        return False

    def _answer(self, frame: ParsedFrame, message: EndpointRequest, port: int) -> bool:
        route = self._route_to(frame.src)
        if route is None:
            return False
        fabric = self._services.fabric
        uplink = ev_uplink(frame.ev)
        path = route.addresses(ev_pack(port, uplink if uplink < fabric.spec.t1s else 0))
        if frame.outer_da == frame.dst:
            path = path._replace(route=None)  # it came without SRv6, and so goes the answer
        template = ControlTemplate(
            path._replace(ev=frame.ev), ENDPOINT_QP, self._services.dscp.control
        )
        response = EndpointResponse(message.op, message.tx_timestamp)
        self._services.emit(port, template.endpoint_response(frame.request_id, response))
        return True

    def _route_to(self, address: bytes) -> Route | None:
        route = self._routes.get(address)
        if route is None:
            services = self._services
            index = services.fabric.index_of(address)
            if index is None:
                return None
            if len(self._routes) >= ROUTES_KEPT:
                del self._routes[next(iter(self._routes))]
            route = self._routes[address] = Route(services.fabric, services.host_index, index)
        return route
