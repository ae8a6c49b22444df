# SPDX-License-Identifier: Apache-2.0
"""Frames of every opcode equal, to the byte, frames written by hand from the layouts."""

import pytest
from wire_samples import (
    AETH,
    DSCP,
    EV,
    NACK,
    PATH,
    PROBE,
    QP,
    REQUEST,
    REQUEST_ID,
    RESPONSE,
    SACK,
    SACK_FOR_PROBE,
    WRITES,
    golden_frames,
    sample_frames,
)

from endpoint.wire import opcodes
from endpoint.wire.bth import FLAG_ACK_REQUEST, FLAG_RTX
from endpoint.wire.frame import parse_frame

GOLDEN = golden_frames()


@pytest.mark.fact("opcode.all")
def test_the_golden_frames_cover_every_opcode() -> None:
    assert {frame[102] for frame in GOLDEN.values()} == set(opcodes.NAMES)


@pytest.mark.fact("opcode.all")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_built_frame_equals_the_one_written_by_hand(name: str) -> None:
    assert sample_frames()[name].hex() == GOLDEN[name].hex()


@pytest.mark.fact("packet.ev", "packet.port", "packet.source", "opcode.endpoint-qp")
@pytest.mark.parametrize("name", GOLDEN)
def test_the_headers_common_to_all_are_parsed(name: str) -> None:
    parsed = parse_frame(GOLDEN[name], DSCP)
    assert parsed.outer_sa == parsed.src == PATH.source
    assert (parsed.outer_da, parsed.dst) == (PATH.route, PATH.destination)
    assert (parsed.outer_flow_label, parsed.hop_limit) == (EV & 0xFFFF, 64)
    assert (parsed.udp_sport, parsed.udp_dport, parsed.ev) == (EV >> 16, 4791, EV)
    assert parsed.dest_qp == (2 if name.startswith("endpoint") else QP)
    assert not parsed.is_trimmed and not parsed.is_cut and not parsed.last_hop
    assert parsed.icrc_ok is None
    assert parsed.check_icrc()
    assert parsed.icrc_ok is True


@pytest.mark.fact("opcode.write", "reth.every")
@pytest.mark.parametrize("name", WRITES)
def test_a_golden_write_is_parsed_into_its_values(name: str) -> None:
    values = WRITES[name]
    parsed = parse_frame(GOLDEN[name], DSCP)
    assert parsed.is_data and parsed.has_reth
    assert parsed.opcode == values["opcode"]
    assert parsed.psn == values["psn"]
    assert parsed.ack_request == bool(values["flags"] & FLAG_ACK_REQUEST)
    assert parsed.rtx == bool(values["flags"] & FLAG_RTX)
    assert (parsed.va, parsed.rkey) == (values["va"], values["rkey"])
    assert (parsed.msn, parsed.rqmsn) == (values["msn"], values["rqmsn"])
    assert parsed.imm == values.get("imm")
    assert parsed.tx_timestamp == values.get("timestamp")
    assert parsed.payload == values["payload"]
    assert parsed.length == parsed.payload_length == len(values["payload"])
    assert parsed.outer_dscp == (DSCP.trimmable_retx if parsed.rtx else DSCP.trimmable)
    assert parsed.outer_ecn == 2
    assert (parsed.sack, parsed.nack, parsed.probe, parsed.aeth, parsed.endpoint) == (None,) * 5


@pytest.mark.fact("opcode.control")
@pytest.mark.parametrize(
    ("name", "field", "value", "psn"),
    [
        ("acknowledge", "aeth", AETH, 10),
        ("endpoint_request", "endpoint", REQUEST, REQUEST_ID),
        ("endpoint_response", "endpoint", RESPONSE, REQUEST_ID),
        ("sack", "sack", SACK, SACK.cack_psn),
        ("sack_for_probe", "sack", SACK_FOR_PROBE, SACK_FOR_PROBE.cack_psn),
        ("nack", "nack", NACK, NACK.nack_psn),
        ("probe_request", "probe", PROBE, 0),
    ],
)
def test_a_golden_control_frame_is_parsed_into_its_value(
    name: str, field: str, value: object, psn: int
) -> None:
    parsed = parse_frame(GOLDEN[name], DSCP)
    found = {n: getattr(parsed, n) for n in ("sack", "nack", "probe", "aeth", "endpoint")}
    assert found == dict.fromkeys(found, None) | {field: value}
    assert not parsed.is_data
    assert parsed.psn == psn
    assert parsed.payload_length == 0
    assert parsed.outer_dscp == DSCP.control
    assert parsed.tx_timestamp == getattr(value, "tx_timestamp", None)


@pytest.mark.fact("sack.serial")
def test_sack_positions_are_serial() -> None:
    near_wrap = SACK._replace(cack_psn=0xFFFFFE, ack_psn_offset=-3, sack_offset=5)
    assert near_wrap.ack_psn == 0xFFFFFB
    assert near_wrap.bitmap_base == 3


@pytest.mark.fact("packet.port-4971")
def test_the_port_as_printed_is_taken_too() -> None:
    frame = bytearray(GOLDEN["write_first"])
    frame[96:98] = (4971).to_bytes(2)
    assert parse_frame(bytes(frame), DSCP).udp_dport == 4971
