# SPDX-License-Identifier: Apache-2.0
"""Frames that a receiver must refuse, each made from a golden packet, and the field at fault."""

from __future__ import annotations

from dataclasses import dataclass

from vector_packet import Golden

_LENGTHS = (18, 58, 98)
"""Where the outer IPv6, inner IPv6 and UDP lengths stand in a frame without SRH."""


@dataclass(frozen=True)
class Malformed:
    """One frame: ``base`` names the golden packet, ``changes`` what was overwritten in it."""

    name: str
    about: str
    frame: bytes
    error: str
    base: str
    changes: list[tuple[int, str]]


# Name, what is wrong, golden packet, changes, change of length, field that is to be named.
_CASES: list[tuple[str, str, str, dict[int, str], int, str]] = [
    ("ethertype", "IPv4's ethertype", "write_only", {12: "0800"}, 0, "ethernet.ethertype"),
    ("outer_version", "outer IP version 4", "write_only", {14: "41"}, 0, "outer_ipv6.version"),
    ("outer_next_header", "TCP directly behind the outer header", "write_only", {20: "06"}, 0,
     "outer_ipv6.next_header"),
    ("outer_length_short", "bytes behind the end of the packet", "write_only", {18: "005b"}, 0,
     "outer_ipv6.payload_length"),
    ("inner_version", "inner IP version 5", "write_only", {54: "51"}, 0, "ipv6.version"),
    ("inner_next_header", "TCP inside", "write_only", {60: "06"}, 0, "ipv6.next_header"),
    ("udp_length", "UDP length one less than the IPv6 payload", "write_only", {98: "0033"}, 0,
     "udp.length"),
    ("udp_port", "another UDP port", "write_only", {96: "12b6"}, 0, "udp.destination_port"),
    ("bth_version", "BTH version 1", "write_only", {103: "01"}, 0, "bth.version"),
    ("opcode", "an opcode that is neither RoCE's nor MRC's", "write_only", {102: "cf"}, 0,
     "bth.opcode"),
    ("opcode_roce", "a plain RoCE RDMA WRITE Only", "write_only", {102: "0a"}, 0, "bth.opcode"),
    ("reth_length", "RETH length one more than the payload", "write_only", {130: "00000009"}, 0,
     "reth.length"),
    ("pad", "more pad than there is payload", "payload_0", {103: "30"}, 0, "udp.length"),
    ("unaligned", "payload and pad no multiple of four", "write_only", {}, 1, "udp.length"),
    ("no_room_for_reth", "an uncut packet too short for its headers", "payload_0", {}, -8,
     "udp.length"),
    ("tseth_type", "TSETH of type 2", "write_only_timestamp", {121: "02"}, 0, "tseth.type"),
    ("control_with_timestamp", "TS flag on a SACK", "sack_gap", {110: "10"}, 0, "bth.ts"),
    ("control_with_pad", "pad count on a NACK", "nack_trimmed", {103: "10"}, 0, "bth.pad_count"),
    ("sack_long", "four bytes too many behind a SACK", "sack_gap", {}, 4, "udp.length"),
    ("sack_short", "CC_STATE four bytes short", "sack_gap", {}, -4, "udp.length"),
    ("seth_type", "SETH of type 1", "sack_gap", {114: "10"}, 0, "seth.type"),
    ("seth_mark", "m = 3", "sack_gap", {115: "60"}, 0, "seth.m"),
    ("neth_cc_type", "NETH of cc_type 1", "nack_trimmed", {130: "10"}, 0, "neth.cc_type"),
    ("peth_type", "PETH of type 0", "probe", {129: "00"}, 0, "peth.type"),
    ("erth_type", "ERTH of type 2", "ev_probe", {129: "02"}, 0, "erth.type"),
    ("erth_op", "an unknown endpoint operation in a request", "ev_probe", {115: "03"}, 0,
     "erth.op"),
    ("eeth_op", "an unknown endpoint operation in a response", "ev_probe_response", {115: "0c"}, 0,
     "eeth.op"),
    ("srh_segments", "an SRH of two segments", "srh", {55: "04"}, 0, "srh.header_length"),
    ("srh_segments_left", "two segments left of one", "srh", {57: "02"}, 0, "srh.segments_left"),
]  # fmt: skip


def malformed(golden: dict[str, Golden]) -> list[Malformed]:
    """All of them. The ICRC is left as it was: these are refused before it is looked at."""
    found = []
    for name, about, base, changes, delta, error in _CASES:
        frame = bytearray(golden[base].frame)
        written = [(at, text) for at, text in changes.items()]
        if delta:
            frame = frame[: len(frame) + min(delta, 0)] + bytes(max(delta, 0))
            for at in _LENGTHS:
                length = int.from_bytes(frame[at : at + 2], "big") + delta
                written.append((at, f"{length:04x}"))
        for at, text in written:
            raw = bytes.fromhex(text)
            frame[at : at + len(raw)] = raw
        found.append(Malformed(name, about, bytes(frame), error, base, written))
    return found
