# SPDX-License-Identifier: Apache-2.0
"""Frame sizes, base round-trip time, bandwidth-delay product, and thresholds in packets.

Sources: header lengths from the packet layout of MRC (OCP MRC 1.0 as its implementers agree);
thresholds as multiples of the bandwidth-delay product from Ultra Ethernet 1.0 and its group's
simulator (uet-htsim), whose base RTT formula is the one below: with 4,150-byte frames, 64-byte
acknowledgements, 100 Gb/s and 500 ns a link it gives their 5.35 µs and 66,856 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from topologies.model import FabricSpec

# Preamble and start of frame 8, frame check sequence 4, inter-frame gap 12 (IEEE 802.3).
ETHERNET_OVERHEAD_BYTES = 24

# Ethernet 14, outer IPv6 40, inner IPv6 40, UDP 8, BTH 12, METH 4, TSETH 4, RETH 16, ImmDt 4.
DATA_HEADER_BYTES = 142
ICRC_BYTES = 4
# Ethernet 14, outer and inner IPv6 80, UDP 8, BTH 12, SETH 28, CC_STATE 8, ICRC 4.
SACK_FRAME_BYTES = 154

# Thresholds never come from fewer packets than this, or a slow or short link would trim
# whatever is more than one packet per sender.
THRESHOLD_FLOOR_PACKETS = 8


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Queue thresholds and capacities of every switch port, in packets of their class.

    ecn_min < ecn_max < trim < trim_last_hop < data_capacity. A data queue trims (or drops) at its
    threshold and so never fills to data_capacity: reaching that would mean a silent tail drop.
    """

    ecn_min: int
    ecn_max: int
    trim: int
    trim_last_hop: int
    data_capacity: int
    trimmed_capacity: int
    control_capacity: int


def data_frame_bytes(path_mtu: int) -> int:
    """The longest data frame for a path MTU (payload bytes): every optional header present.

    Counted from the Ethernet header, without `ETHERNET_OVERHEAD_BYTES`.
    """
    return path_mtu + DATA_HEADER_BYTES + ICRC_BYTES


def link_bytes(frame_bytes: int) -> int:
    """Bytes of link time that a frame takes."""
    return frame_bytes + ETHERNET_OVERHEAD_BYTES


def round_trip_ns(hops: list[tuple[int, int]], frame_bytes: int, reply_bytes: int) -> int:
    """Unloaded round-trip time in ns, rounded up, over `hops` of (rate in bit/s, delay in ns).

    2 × Σ delay + Σ over hops of the serialisation of the frame there and of the reply back:
    switches store and forward, and forwarding itself takes no time.
    """
    there_and_back = (link_bytes(frame_bytes) + link_bytes(reply_bytes)) * 8 * 1_000_000_000
    return sum(2 * delay for _, delay in hops) + _ceil_sum(
        [(there_and_back, rate) for rate, _ in hops]
    )


def _ceil_sum(fractions: list[tuple[int, int]]) -> int:
    """The sum of numerator / denominator, rounded up once, in exact arithmetic."""
    numerator, denominator = 0, 1
    for top, bottom in fractions:
        numerator, denominator = numerator * bottom + top * denominator, denominator * bottom
    return -(-numerator // denominator)


def bdp_bytes(rate_bps: int, rtt_ns: int) -> int:
    """Bandwidth-delay product in bytes, rounded down."""
    return rate_bps * rtt_ns // 8_000_000_000


def rising(values: list[float]) -> list[int]:
    """Each value rounded to an integer of at least 1 and above the one before it."""
    result: list[int] = []
    for value in values:
        result.append(max(round(value), result[-1] + 1 if result else 1))
    return result


def thresholds_packets(spec: FabricSpec, bdp: int) -> Thresholds:
    """The spec's multiples of `bdp` (bytes) in packets.

    Data thresholds count full frames and come from at least THRESHOLD_FLOOR_PACKETS; the trimmed
    and control queues count frames of their own length. The data queue's capacity is twice its
    highest threshold: room enough that the threshold, and never the queue's end, decides.
    """
    full = link_bytes(data_frame_bytes(spec.path_mtu))
    packets = max(bdp / full, THRESHOLD_FLOOR_PACKETS)
    wanted = spec.thresholds
    multiples = [wanted.ecn_min, wanted.ecn_max, wanted.trim, wanted.trim_last_hop]
    ecn_min, ecn_max, trim, trim_last_hop = rising([m * packets for m in multiples])
    return Thresholds(
        ecn_min=ecn_min,
        ecn_max=ecn_max,
        trim=trim,
        trim_last_hop=trim_last_hop,
        data_capacity=2 * trim_last_hop,
        trimmed_capacity=_short_queue(wanted.trimmed_drop * bdp, spec.trim_length),
        control_capacity=_short_queue(wanted.control_drop * bdp, SACK_FRAME_BYTES),
    )


def _short_queue(queue_bytes: float, frame_bytes: int) -> int:
    """Packets of `frame_bytes` in a queue of `queue_bytes`, never fewer than the data floor's."""
    floor = 4 * THRESHOLD_FLOOR_PACKETS
    return max(round(queue_bytes / link_bytes(frame_bytes)), floor)
