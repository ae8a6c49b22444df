# SPDX-License-Identifier: Apache-2.0
"""Queue capacities and rates of a switch port, the same numbers for every world.

A queue limits packets. A world with a true port rate (`rate_bps`, one strict scheduler) uses the
rate and the three capacities; BMv2 has a packet rate of its own for each priority queue and none
of the port, so it gets fixed shares of the link's packets that add up to the link.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.tables import QUEUE_CONTROL, QUEUE_DATA, QUEUE_TRIMMED
from topologies import Fabric
from topologies.timing import data_frame_bytes, link_bytes

QUEUE_COUNT = 3

# Shares of the link's packets. The trimmed class has about a quarter of the link so that headers
# cannot starve data (UEC 1.0); what SACKs and probes need is far below the rest.
BMV2_SHARE_PERCENT = {QUEUE_DATA: 70, QUEUE_TRIMMED: 25, QUEUE_CONTROL: 5}


@dataclass(frozen=True, slots=True)
class PortQueues:
    """Queues of one egress port, each tuple indexed by priority: data, trimmed, control.

    `rate_bps` of the port; `capacity` in packets; `bmv2_packet_rates` in packets/s.
    """

    rate_bps: int
    capacity: tuple[int, int, int]
    bmv2_packet_rates: tuple[int, int, int]


def port_queues(fabric: Fabric, node: str, port: int) -> PortQueues:
    """The queues of a switch's egress port, or of a NIC's own.

    TopologyError when the fabric has no such node or port.
    """
    rate = fabric.link_at(node, port).rate_bps
    limits = fabric.thresholds_packets()
    return PortQueues(
        rate_bps=rate,
        capacity=(limits.data_capacity, limits.trimmed_capacity, limits.control_capacity),
        bmv2_packet_rates=bmv2_packet_rates(rate, fabric.spec.path_mtu),
    )


def bmv2_packet_rates(rate_bps: int, path_mtu: int) -> tuple[int, int, int]:
    """Packets/s of the data, trimmed and control queue of a BMv2 port, each at least one.

    The link's packets are full frames of `path_mtu` bytes of payload at `rate_bps`.
    """
    packets = rate_bps / (8 * link_bytes(data_frame_bytes(path_mtu)))
    data, trimmed, control = (
        max(1, int(packets * BMV2_SHARE_PERCENT[queue] / 100)) for queue in range(QUEUE_COUNT)
    )
    return data, trimmed, control
