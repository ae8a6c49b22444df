# SPDX-License-Identifier: Apache-2.0
"""What templates build parse_frame reads back, for any values, paths and order of building."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import (
    CODECS,
    DSCP,
    PATH,
    PATH_WITH_SRH,
    PROBE,
    SACK,
    SEGMENT,
    WRITES,
    control_template,
    data_template,
    sample_frames,
)

from endpoint.wire import opcodes
from endpoint.wire.build import ControlTemplate, DataTemplate
from endpoint.wire.frame import parse_frame
from endpoint.wire.srh import Srh
from endpoint.wire.tseth import ticks

WRITE_OPCODES = [opcode for opcode in range(256) if opcodes.IS_WRITE[opcode]]
PATHS = [PATH, PATH_WITH_SRH]


def _u(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


@st.composite
def writes(draw: st.DrawFn) -> dict[str, Any]:
    opcode = draw(st.sampled_from(WRITE_OPCODES))
    return {
        "opcode": opcode,
        "psn": draw(_u(24)),
        "flags": draw(st.sampled_from([0, 0x80, 0x20, 0xA0])),
        "va": draw(_u(64)),
        "rkey": draw(_u(32)),
        "msn": draw(_u(16)),
        "rqmsn": draw(_u(16)),
        "payload": draw(st.binary(max_size=40)) * draw(st.sampled_from([1, 3, 100])),
        "imm": draw(_u(32)) if opcodes.HAS_IMM[opcode] else None,
        "timestamp": draw(st.none() | _u(16)),
    }


@given(
    values=st.lists(writes(), min_size=1, max_size=5),
    path=st.sampled_from(PATHS),
    trimmable=st.booleans(),
    port=st.sampled_from([4791, 4971]),
    ev=_u(32),
)
def test_any_write_is_read_back(
    values: list[dict[str, Any]], path: Any, trimmable: bool, port: int, ev: int
) -> None:
    template = data_template(path=path._replace(ev=ev), trimmable=trimmable, udp_port=port)
    for value in values:
        parsed = parse_frame(template.build(**value), DSCP)
        assert parsed.check_icrc()
        names = ("opcode", "psn", "va", "rkey", "msn", "rqmsn", "payload", "imm")
        assert {name: getattr(parsed, name) for name in names} == {
            name: value[name] for name in names
        }
        assert parsed.tx_timestamp == value["timestamp"]
        assert (parsed.ack_request, parsed.rtx) == (
            bool(value["flags"] & 0x80),
            bool(value["flags"] & 0x20),
        )
        assert (parsed.ev, parsed.udp_dport) == (ev, port)
        trim_class = DSCP.trimmable_retx if parsed.rtx else DSCP.trimmable
        assert parsed.outer_dscp == (trim_class if trimmable else DSCP.no_trim)


@given(first=writes(), second=writes())
def test_a_frame_does_not_depend_on_what_was_built_before(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    template = data_template()
    before = template.build(**first)
    kept = bytes(before)
    assert template.build(**second) == data_template().build(**second)
    assert before == kept
    assert template.build(**first) == kept


@given(payload=st.binary(max_size=64))
def test_payload_of_any_buffer_type_gives_the_same_frame(payload: bytes) -> None:
    values = WRITES["write_first"] | {"payload": payload}
    frames = {
        data_template().build(**values | {"payload": kind(payload)})
        for kind in (bytes, bytearray, memoryview)
    }
    assert len(frames) == 1


@pytest.mark.parametrize("path", PATHS)
@given(data=st.data())
def test_any_control_value_is_read_back(path: Any, data: st.DataObject) -> None:
    template = control_template(path=path)
    psn = data.draw(_u(24))
    sack = data.draw(CODECS["sack"][2] | CODECS["sack_for_probe"][2])
    nack, probe, aeth = (data.draw(CODECS[n][2]) for n in ("nack", "probe", "aeth"))
    request, response = (data.draw(CODECS[n][2]) for n in ("endpoint_request", "endpoint_response"))
    assert parse_frame(template.sack(sack), DSCP).sack == sack
    assert parse_frame(template.nack(nack), DSCP).nack == nack
    assert parse_frame(template.probe_request(probe, psn), DSCP).probe == probe
    assert parse_frame(template.acknowledge(aeth, psn), DSCP).aeth == aeth
    asked = parse_frame(template.endpoint_request(psn & 0xFFFF, request), DSCP)
    answered = parse_frame(template.endpoint_response(psn & 0xFFFF, response), DSCP)
    assert (asked.endpoint, answered.endpoint) == (request, response)
    assert asked.request_id == answered.request_id == psn & 0xFFFF
    assert asked.dest_qp == answered.dest_qp == opcodes.ENDPOINT_QP


def test_the_psn_of_a_sack_may_be_given() -> None:
    assert parse_frame(control_template().sack(SACK, psn=5), DSCP).psn == 5


def test_a_probe_may_travel_in_a_data_class() -> None:
    template = ControlTemplate(PATH, 9, DSCP.no_trim, ecn=2)
    parsed = parse_frame(template.probe_request(PROBE), DSCP)
    assert (parsed.outer_dscp, parsed.outer_ecn, parsed.dest_qp) == (DSCP.no_trim, 2, 9)


@pytest.mark.parametrize("name", sample_frames())
def test_an_srh_stands_between_the_headers_and_changes_nothing_else(name: str) -> None:
    plain, routed = sample_frames()[name], sample_frames(PATH_WITH_SRH)[name]
    assert routed[20] == 43
    assert routed[54:78] == Srh(SEGMENT).pack()
    assert routed[78:] == plain[54:]
    assert int.from_bytes(routed[18:20]) == int.from_bytes(plain[18:20]) + 24
    assert parse_frame(routed, DSCP).segments_left == 1
    used = bytearray(routed)
    used[24 + 14 : 40 + 14] = SEGMENT
    used[57] = 0
    parsed = parse_frame(bytes(used), DSCP)
    assert (parsed.segments_left, parsed.outer_da) == (0, SEGMENT)
    assert parsed.check_icrc()


def test_a_whole_path_mtu_fits() -> None:
    payload = bytes(4096)
    frame = DataTemplate(PATH, 1, DSCP).build(0xC9, 1, 0, 0, 1, 1, 1, payload, 5, 6)
    assert len(frame) == 142 + 4096 + 4
    parsed = parse_frame(frame, DSCP)
    assert parsed.payload_offset == 142
    assert parsed.payload_length == 4096


def test_a_parsed_frame_shows_what_it_is() -> None:
    parsed = parse_frame(sample_frames()["write_last"], DSCP)
    assert repr(parsed) == "<RDMA WRITE Last: QP 291, PSN 11259377, EV 0xc0de4a17, 5 bytes>"


@pytest.mark.fact("tseth.ticks")
def test_timestamp_ticks_wrap_after_8_39_ms() -> None:
    assert ticks(0) == ticks(127) == 0
    assert ticks(128) == 1
    assert ticks(128 * 65_536 - 1) == 65_535
    assert ticks(128 * 65_536) == 0
