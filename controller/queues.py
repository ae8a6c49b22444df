# SPDX-License-Identifier: Apache-2.0
"""Queue capacities and rates of a switch port, the same numbers for every world.

A queue limits packets. A world with a true port rate (`rate_bps`, one strict scheduler) uses the
rate and the three capacities; BMv2 has a packet rate of its own for each priority queue and none
of the port, so it gets fixed shares of the link's bytes that add up to the link, each in packets
of its class's length.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.tables import QUEUE_CONTROL, QUEUE_DATA, QUEUE_TRIMMED
from topologies import Fabric
from topologies.timing import SACK_FRAME_BYTES, data_frame_bytes, link_bytes

QUEUE_COUNT = 3

# Shares of the link's bytes. Headers must not starve data, so the trimmed class has less than a
# quarter of the link (UEC 1.0). The control class must carry a SACK for every 4,096 counted bytes
# of data, and a packet counts for at least 1,024: at a path MTU of 256 that needs 8 % of the bytes.
# A share of *packets* would not do: as many SACKs as data packets cross a link at 4,096 bytes.
BMV2_SHARE_PERCENT = {QUEUE_DATA: 70, QUEUE_TRIMMED: 20, QUEUE_CONTROL: 10}


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
        bmv2_packet_rates=bmv2_packet_rates(rate, fabric.spec.path_mtu, fabric.spec.trim_length),
    )


def bmv2_packet_rates(rate_bps: int, path_mtu: int, trim_length: int) -> tuple[int, int, int]:
    """Packets/s of the data, trimmed and control queue of a BMv2 port, each at least one.

    Of a link of `rate_bps`, with full data frames of `path_mtu` bytes of payload, frames cut to
    `trim_length` bytes, and SACKs.
    """
    frames = {
        QUEUE_DATA: data_frame_bytes(path_mtu),
        QUEUE_TRIMMED: trim_length,
        QUEUE_CONTROL: SACK_FRAME_BYTES,
    }
    data, trimmed, control = (
        max(1, rate_bps * BMV2_SHARE_PERCENT[queue] // (800 * link_bytes(frames[queue])))
        for queue in range(QUEUE_COUNT)
    )
    return data, trimmed, control
