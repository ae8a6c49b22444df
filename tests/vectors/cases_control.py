# SPDX-License-Identifier: Apache-2.0
"""Golden control packets: acknowledgements, SACKs, NACKs, probes, endpoint messages."""

from __future__ import annotations

from typing import Any

from vector_packet import CONTROL, DATA, DSCP, QP, Golden, Net, packet

from endpoint.wire import nack, opcodes, sack
from endpoint.wire.aeth import SYNDROME_ACK, SYNDROME_REMOTE_ACCESS_ERROR, Aeth
from endpoint.wire.bth import Bth
from endpoint.wire.endpoint_message import (
    OP_EV_PROBE,
    OP_PORT_STATUS_UPDATE,
    EndpointRequest,
    EndpointResponse,
)
from endpoint.wire.nack import Nack
from endpoint.wire.probe import Probe
from endpoint.wire.sack import Sack

CACK = 0x00AA00
ECHOED_EV = 0xD00D5B2C
"""Plane 3, uplink 44: the path of the data packet that is answered."""
STAMP = 0xBEEF


def _sack(name: str, about: str, cack_psn: int = CACK, **values: Any) -> Golden:
    values = {"ev": ECHOED_EV, "tx_timestamp": STAMP} | values
    body = Sack(cack_psn, **values)
    return packet(name, about, Bth(opcodes.SACK, QP, cack_psn), body, net=CONTROL)


def _acknowledges() -> list[Golden]:
    return [
        packet("ack", "transport ACK without credits", Bth(opcodes.ACKNOWLEDGE, QP, 10),
               Aeth(SYNDROME_ACK, 0x000304), net=CONTROL),
        packet("nak_remote_access", "transport NAK: remote access error",
               Bth(opcodes.ACKNOWLEDGE, QP, 11), Aeth(SYNDROME_REMOTE_ACCESS_ERROR, 0xFFFFFF),
               net=CONTROL),
    ]  # fmt: skip


def sacks() -> list[Golden]:
    """The acknowledgements' capture."""
    return [
        *_acknowledges(),
        _sack("sack_in_order", "everything to cack_psn has arrived, nothing behind it"),
        _sack("sack_skip_once", "m = SKIP_ONCE: the packet arrived marked",
              mark=sack.MARK_SKIP_ONCE),
        _sack("sack_always_skip", "m = ALWAYS_SKIP: stop using the echoed EV",
              mark=sack.MARK_ALWAYS_SKIP),
        _sack("sack_gap", "cack + 1 and cack + 4 are not known to have arrived",
              ack_psn_offset=6, bitmap=0b110110, ooo_count=4),
        _sack("sack_gaps_many", "every other packet of 64 has arrived",
              ack_psn_offset=64, bitmap=0xAAAAAAAAAAAAAAAA, ooo_count=32),
        _sack("sack_no_gap", "cack + 1 is missing, the 63 behind it have arrived",
              ack_psn_offset=64, bitmap=0xFFFFFFFFFFFFFFFE, ooo_count=63),
        _sack("sack_slid", "the bitmap starts at cack + 101, so that the newest PSN fits",
              ack_psn_offset=164, sack_offset=101, bitmap=0x8000000000000001, ooo_count=90),
        _sack("sack_ack_behind", "caused by a duplicate: its PSN lies behind cack",
              ack_psn_offset=-2),
        _sack("sack_bitmap_behind", "a bitmap that starts behind cack",
              sack_offset=-31, bitmap=0x00000005FFFFFFFF, ack_psn_offset=3, ooo_count=1),
        _sack("sack_offsets_least", "both offsets at their least",
              ack_psn_offset=-32768, sack_offset=-32768),
        _sack("sack_offsets_most", "both offsets at their most",
              ack_psn_offset=32767, sack_offset=32767, bitmap=1),
        _sack("sack_wrap", "cack before the wrap of PSNs, the bitmap behind it", cack_psn=0xFFFFFE,
              ack_psn_offset=4, bitmap=0b1010, ooo_count=2),
        _sack("sack_probe_response", "the answer to a reliability probe (pr = 1)",
              probe_id=0xFFFE, bitmap=0b10, ooo_count=1),
        _sack("sack_congestion", "receiver brake, restore_cwnd, delivered bytes",
              mpr_units=16, rcvd_units=0x123456, rcv_cwnd_pen=100, restore_cwnd=True),
        _sack("sack_all_ones", "every number at its most", cack_psn=0xFFFFFF, ev=0xFFFFFFFF,
              ack_psn_offset=-1, sack_offset=-1, bitmap=(1 << 64) - 1, mark=2, mpr_units=255,
              tx_timestamp=0xFFFF, ooo_count=0x7FFF, rcvd_units=0xFFFFFF, rcv_cwnd_pen=127,
              restore_cwnd=True, spdcid=0xFFFF, dpdcid=0xFFFF, cc_type=15, cc_flags=15,
              next_code=31),
    ]  # fmt: skip


def nacks() -> list[Golden]:
    """The negative acknowledgements' capture: one of each reason."""
    found = [
        packet(f"nack_{title.lower()}", f"NACK {title}", Bth(opcodes.NACK, QP, CACK + number),
               Nack(CACK + number, reason, ECHOED_EV, STAMP), net=CONTROL)
        for number, (reason, title) in enumerate(nack.REASON_NAMES.items())
    ]  # fmt: skip
    psn = 0xFFFFFF
    body = Nack(psn, 0x7F, 0xFFFFFFFF, 0xFFFF, 0x5A, spdcid=0x1111, dpdcid=0x2222, cc_flags=15)
    found.append(
        packet("nack_other", "a reason that is none of MRC's, and a vendor's code",
               Bth(opcodes.NACK, QP, psn), body, net=CONTROL)
    )  # fmt: skip
    return found


def _request(name: str, about: str, psn: int, request: EndpointRequest, **net: Any) -> Golden:
    bth = Bth(opcodes.ENDPOINT_REQUEST, opcodes.ENDPOINT_QP, psn)
    return packet(name, about, bth, request, net=Net(**net) if net else CONTROL)


def _response(name: str, about: str, psn: int, op: int, stamp: int) -> Golden:
    bth = Bth(opcodes.ENDPOINT_RESPONSE, opcodes.ENDPOINT_QP, psn)
    return packet(name, about, bth, EndpointResponse(op, stamp), net=CONTROL)


def messages() -> list[Golden]:
    """The probes' and endpoint messages' capture."""
    data_class = {"dscp": DSCP.trimmable, "ecn": 2}
    status, probe = OP_PORT_STATUS_UPDATE, OP_EV_PROBE
    return [
        packet("probe", "reliability probe", Bth(opcodes.PROBE_REQUEST, QP, 0),
               Probe(0x4321, STAMP), net=CONTROL),
        packet("probe_data_class", "reliability probe that queues with data, and may be marked",
               Bth(opcodes.PROBE_REQUEST, QP, 0), Probe(0x4322, STAMP), net=DATA),
        packet("probe_all_fields", "reliability probe, every field set",
               Bth(opcodes.PROBE_REQUEST, QP, 0xFFFFFF),
               Probe(0xFFFF, 0xFFFF, 0x5A, 0x1111, 0x2222, tsr=True), net=CONTROL),
        _request("port_status_all_up", "port status update: eight ports usable", 1,
                 EndpointRequest(status, 0xFF, STAMP)),
        _request("port_status_one_down", "port status update: port 2 of four is not usable", 2,
                 EndpointRequest(status, 0b1011, STAMP)),
        _request("port_status_all_down", "port status update: no port is usable", 3,
                 EndpointRequest(status, 0, STAMP)),
        _response("port_status_response", "the answer to a port status update", 3, status, STAMP),
        _request("ev_probe", "EV probe, on the class of data", 0x1234,
                 EndpointRequest(probe, 0, STAMP), **data_class),
        _response("ev_probe_response", "the answer to an EV probe, on the control class", 0x1234,
                  probe, STAMP),
        _request("endpoint_request_all_fields", "endpoint request, every field set", 0xFFFF,
                 EndpointRequest(probe, 0xFFFFFFFF, 0xFFFF, 0x5A, tsr=True)),
        _response("endpoint_response_all_fields", "endpoint response, every field set", 0xFFFF,
                  probe, 0xFFFF),
    ]  # fmt: skip
