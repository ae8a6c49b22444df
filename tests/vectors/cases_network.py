# SPDX-License-Identifier: Apache-2.0
"""Golden packets as the network leaves them: on their way, marked, routed by an SRH, trimmed."""

from __future__ import annotations

from dataclasses import replace

from cases_writes import STAMP, WRITE_NAMES, pattern, write
from vector_packet import CONTROL, DSCP, EV, PATHS, QP, Golden, Net, packet

from endpoint.wire import opcodes
from endpoint.wire.bth import Bth
from endpoint.wire.probe import Probe
from endpoint.wire.srh import Srh
from topologies.sids import PathTemplate, ev_pack

DEFAULT_CUT = 142
SRH_SIZE = 24

_WHOLE_PATH = PATHS.address_of_ev(EV)
_SAME_T0 = PathTemplate.between(0x5F000000, src_t0=1, dst_t0=1, dst_downlink=1)
_SEGMENT = PathTemplate.between(0x5F000000, src_t0=2, dst_t0=3, dst_downlink=1).address_of_ev(EV)
_RETX = Net(dscp=DSCP.trimmable_retx)
_TRIMMED = Net(outer_dscp=DSCP.trimmed, cut=DEFAULT_CUT)
_LAST_HOP = Net(outer_dscp=DSCP.trimmed_lasthop, cut=DEFAULT_CUT)


def _shifted(address: bytes, hops: int) -> bytes:
    """The address after ``hops`` switches have each shifted their uSID out (RFC 9800)."""
    return address[:4] + address[4 + 2 * hops :] + bytes(2 * hops)


def paths() -> list[Golden]:
    """The capture of whole packets on their way."""
    found = [
        write(f"plane_{plane}", f"EV of plane {plane}, uplink {uplink}",
              net=Net(ev=ev_pack(plane, uplink, entropy=plane * 0x1234)))
        for plane, uplink in ((0, 0), (1, 1), (7, 255))
    ]  # fmt: skip
    found += [
        write(f"hop_{hops}", f"behind {hops} switches: {4 - hops} uSIDs are left",
              net=Net(route=_shifted(_WHOLE_PATH, hops), outer_hop_limit=64 - hops))
        for hops in (1, 2, 3)
    ]  # fmt: skip
    left, used = Srh(_SEGMENT, segments_left=1), Srh(_SEGMENT, segments_left=0)
    return [
        *found,
        write("same_t0", "both NICs on one T0: two uSIDs",
              net=Net(route=_SAME_T0.address_of_ev(EV))),
        write("marked", "marked congestion experienced, on the outer header only",
              net=Net(outer_ecn=3)),
        write("srh", "one-segment SRH, the segment still left", net=Net(srh=left)),
        write("srh_used", "one-segment SRH, the segment used: it is the destination now",
              net=Net(srh=used, route=_SEGMENT, outer_hop_limit=60)),
        write("srh_all_headers", "one-segment SRH and every other header",
              opcodes.WRITE_ONLY_IMM, pattern(7), stamp=STAMP, net=Net(srh=left)),
        packet("srh_control", "a probe by a one-segment SRH", Bth(opcodes.PROBE_REQUEST, QP, 0),
               Probe(1), net=replace(CONTROL, srh=left)),
        write("corrupted", "a whole packet with a wrong ICRC", net=Net(corrupt=0x00010000)),
    ]  # fmt: skip


def _each_opcode_trimmed() -> list[Golden]:
    found = []
    for opcode, name in WRITE_NAMES.items():
        title = opcodes.name(opcode)
        found += [
            write(f"{name}_trimmed", f"{title}, cut to {DEFAULT_CUT} bytes", opcode, pattern(4096),
                  net=_TRIMMED),
            write(f"{name}_timestamp_trimmed", f"{title} with TSETH, cut to {DEFAULT_CUT} bytes",
                  opcode, pattern(4096), stamp=STAMP, net=_TRIMMED),
        ]  # fmt: skip
    return found


def trimmed() -> list[Golden]:
    """The capture of packets that a switch has cut, or marked as cut."""
    middle, last_imm = opcodes.WRITE_MIDDLE, opcodes.WRITE_LAST_IMM
    page = pattern(4096)
    found = [
        write("trimmed_last_hop", "cut by the last hop", middle, page, net=_LAST_HOP),
        write("trimmed_retransmission", "a retransmission, cut", middle, page, stamp=STAMP,
              rtx=True, ack_request=True, net=replace(_RETX, outer_dscp=DSCP.trimmed, cut=142)),
        write("trimmed_marked", "marked first, then cut", middle, page,
              net=replace(_TRIMMED, outer_ecn=3)),
        write("trimmed_srh", "with an SRH the cut is 24 bytes longer", last_imm, page, stamp=STAMP,
              net=replace(_TRIMMED, srh=Srh(_SEGMENT), cut=DEFAULT_CUT + SRH_SIZE)),
        write("trimmed_pad", "3 bytes of pad, cut off with the payload", middle, pattern(4093),
              net=_TRIMMED),
        write("trimmed_mtu_256", "the smallest path MTU, cut", middle, pattern(256), net=_TRIMMED),
    ]  # fmt: skip
    found += [
        write(f"trimmed_{size}", about, last_imm, page, stamp=STAMP,
              net=replace(_TRIMMED, cut=size))
        for size, about in {
            122: "the least cut that leaves QP, PSN, EV and timestamp",
            128: "a hardware cut that ends in the RETH",
            256: "a hardware cut that leaves some payload",
        }.items()
    ]  # fmt: skip
    return [
        *_each_opcode_trimmed(),
        *found,
        write("cut_without_dscp", "shorter than its length says, under an untrimmed DSCP", middle,
              page, net=Net(cut=500)),
        write("cut_icrc", "only the last byte of the ICRC is gone", net=Net(cut=145)),
        write("whole_trimmed", "too short to be cut: whole, under the trimmed DSCP",
              net=Net(outer_dscp=DSCP.trimmed)),
        write("whole_trimmed_last_hop", "the same by the last hop",
              net=Net(outer_dscp=DSCP.trimmed_lasthop)),
        write("whole_trimmed_corrupted", "whole under the trimmed DSCP, with a wrong ICRC",
              net=Net(outer_dscp=DSCP.trimmed, corrupt=1)),
        packet("probe_trimmed", "a probe in the class of data, marked as trimmed but whole",
               Bth(opcodes.PROBE_REQUEST, QP, 0), Probe(7), net=Net(outer_dscp=DSCP.trimmed)),
    ]  # fmt: skip
