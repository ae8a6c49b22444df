# SPDX-License-Identifier: Apache-2.0
"""Where each field of each header stands, written down from docs/wire-format.md.

This is the description that the JSON files carry, on purpose apart from the codecs in
endpoint/wire: the tests hold the one against the other. A layout lists fields in the order of
their bits, each with its width; offsets follow.
"""

from __future__ import annotations

_IPV6 = (
    "version 4, dscp 6, ecn 2, flow_label 20, payload_length 16, next_header 8, hop_limit 8, "
    "source 128, destination 128"
)
_STAMP = "tx_timestamp 16, tsr 1, reserved_tsr 11, type 4"

LAYOUTS: dict[str, str] = {
    "ethernet": "destination 48, source 48, ethertype 16",
    "outer_ipv6": _IPV6,
    "srh": (
        "next_header 8, header_length 8, routing_type 8, segments_left 8, last_entry 8, flags 8, "
        "tag 16, segment 128"
    ),
    "ipv6": _IPV6,
    "udp": "source_port 16, destination_port 16, length 16, checksum 16",
    "bth": (
        "opcode 8, solicited 1, migration 1, pad_count 2, version 4, pkey 16, reserved 8, "
        "dest_qp 24, ack_request 1, r 1, rtx 1, ts 1, reserved_flags 4, psn 24"
    ),
    "meth": "rqmsn 16, msn 16",
    "tseth": _STAMP,
    "reth": "va 64, rkey 32, length 32",
    "immdt": "imm 32",
    "aeth": "syndrome 8, msn 24",
    "seth": (
        "type 4, next_code 5, mark 2, reserved1 3, pr 1, reserved2 1, ack_psn_offset 16, ev 32, "
        "spdcid 16, dpdcid 16, reserved3 8, cack_psn 24, cc_type 4, cc_flags 4, mpr_units 8, "
        "sack_offset 16, bitmap 64"
    ),
    "cc_state": (
        "tx_timestamp 16, reserved 1, ooo_count 15, restore_cwnd 1, rcv_cwnd_pen 7, rcvd_units 24"
    ),
    "neth": (
        "reserved1 16, reason 8, vendor 8, ev 32, spdcid 16, dpdcid 16, reserved2 8, nack_psn 24, "
        "cc_type 4, cc_flags 4, reserved3 8, tx_timestamp 16"
    ),
    "peth": ("reserved1 24, vendor 8, probe_id 16, reserved2 16, spdcid 16, dpdcid 16, " + _STAMP),
    "erth": (
        "reserved1 8, reserved2 6, op 2, reserved3 8, vendor 8, port_status_mask 32, "
        "reserved4 32, " + _STAMP
    ),
    "eeth": (
        "reserved1 8, reserved2 4, op 2, reserved3 2, reserved4 16, reserved5 64, reserved6 64, "
        "reserved7 64, tx_timestamp 16, reserved8 48"
    ),
}

SIGNED = {"seth.ack_psn_offset", "seth.sack_offset"}

# With pr set, the probe's id stands where the PSN offset is otherwise.
LAYOUTS["seth of a probe"] = LAYOUTS["seth"].replace("ack_psn_offset", "probe_id")


def fields_of(layout: str) -> list[tuple[str, int]]:
    """Names and widths in bits of a header's fields, in the order of their bits."""
    pairs = (item.split(" ") for item in LAYOUTS[layout].split(", "))
    return [(name, int(width)) for name, width in pairs]
