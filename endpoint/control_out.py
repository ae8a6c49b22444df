# SPDX-License-Identifier: Apache-2.0
"""Control packets of one queue pair: on the reverse paths, in the control class, at once."""

from endpoint.host_services import HostServices
from endpoint.reverse_paths import ReversePaths
from endpoint.routes import Route
from endpoint.wire.aeth import Aeth
from endpoint.wire.build import ControlTemplate
from endpoint.wire.nack import Nack
from endpoint.wire.sack import Sack
from topologies.sids import ev_plane


class ControlOut:
    """With no usable port a control packet is not sent: the peer's timer covers for it."""

    def __init__(
        self, services: HostServices, reverse: ReversePaths, route: Route, dest_qp: int
    ) -> None:
        self._services = services
        self._reverse = reverse
        self._route = route
        self._dest_qp = dest_qp
        self._templates: dict[int, ControlTemplate] = {}

    def send_sack(self, sack: Sack) -> None:
        """Sends a SACK on the next reverse path."""
        ev = self._reverse.next()
        if ev is not None:
            self._services.emit(ev_plane(ev), self._on(ev).sack(sack))

    def send_nack(self, nack: Nack) -> None:
        """Sends a NACK on the next reverse path."""
        ev = self._reverse.next()
        if ev is not None:
            self._services.emit(ev_plane(ev), self._on(ev).nack(nack))

    def send_acknowledge(self, aeth: Aeth, psn: int) -> None:
        """Sends a transport acknowledgement or NAK of `psn` on the next reverse path."""
        ev = self._reverse.next()
        if ev is not None:
            self._services.emit(ev_plane(ev), self._on(ev).acknowledge(aeth, psn))

    def _on(self, ev: int) -> ControlTemplate:
        template = self._templates.get(ev)
        if template is None:
            template = self._templates[ev] = ControlTemplate(
                self._route.addresses(ev), self._dest_qp, self._services.dscp.control
            )
        return template
