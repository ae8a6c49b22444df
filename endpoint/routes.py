# SPDX-License-Identifier: Apache-2.0
"""From an EV to the addresses of a frame: one `Route` for each pair of NICs."""

from endpoint.wire.envelope import PathAddresses
from topologies import Fabric
from topologies.sids import ev_plane


class Route:
    """The paths from NIC `src` to NIC `dst` (0-based indexes), looked up once for the pair."""

    def __init__(self, fabric: Fabric, src: int, dst: int) -> None:
        here, there = fabric.hosts[src], fabric.hosts[dst]
        self.source = here.address
        self.destination = there.address
        self._template = fabric.path_template(src, dst)
        self._macs = [
            (fabric.mac(here.name, port), fabric.mac(*fabric.neighbour(here.name, port)))
            for port in fabric.ports(here.name)
        ]

    def addresses(self, ev: int) -> PathAddresses:
        """What a frame on this EV carries; IndexError for a plane the NIC does not have."""
        smac, dmac = self._macs[ev_plane(ev)]
        return PathAddresses(
            smac, dmac, self.source, self.destination, self._template.address_of_ev(ev), ev
        )
