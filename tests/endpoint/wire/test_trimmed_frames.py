# SPDX-License-Identifier: Apache-2.0
"""A trimmed frame is known by its DSCP or by its length, and a whole one under that DSCP too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import DSCP, EV, PATH, PATH_WITH_SRH, QP, data_template, with_dscp

from endpoint.wire.errors import FrameError
from endpoint.wire.frame import parse_frame

PAYLOAD = bytes(range(256)) * 16
VALUES = {
    "opcode": 0xC9, "psn": 77, "flags": 0x80, "va": 0xABCD_EF01_2345, "rkey": 0x77,
    "msn": 3, "rqmsn": 2, "payload": PAYLOAD, "imm": 0xFEED, "timestamp": 0x4321,
}  # fmt: skip
WHOLE = data_template().build(**VALUES)
ROUTED = data_template(path=PATH_WITH_SRH).build(**VALUES)


@pytest.mark.fact("dscp.trimmed")
@pytest.mark.parametrize(
    ("dscp", "last_hop"), [(DSCP.trimmed, False), (DSCP.trimmed_lasthop, True)]
)
def test_the_default_cut_keeps_every_header(dscp: int, last_hop: bool) -> None:
    parsed = parse_frame(with_dscp(WHOLE[:142], dscp), DSCP)
    assert parsed.is_trimmed and parsed.is_cut
    assert parsed.last_hop is last_hop
    assert parsed.check_icrc() is False
    assert (parsed.psn, parsed.dest_qp, parsed.ev) == (77, QP, EV)
    assert (parsed.va, parsed.rkey, parsed.length) == (0xABCD_EF01_2345, 0x77, 4096)
    assert (parsed.imm, parsed.tx_timestamp) == (0xFEED, 0x4321)
    assert parsed.payload_length == 4096
    assert len(parsed.payload) == 0


@pytest.mark.fact("srv6.srh-cut")
def test_with_an_srh_the_cut_is_24_bytes_longer() -> None:
    parsed = parse_frame(with_dscp(ROUTED[:166], DSCP.trimmed), DSCP)
    assert parsed.is_cut and parsed.has_reth
    assert parsed.imm == 0xFEED


@pytest.mark.fact("trim.least")
@pytest.mark.parametrize("size", [122, 128, 137])
def test_the_least_cut_gives_qp_psn_ev_and_timestamp(size: int) -> None:
    parsed = parse_frame(with_dscp(WHOLE[:size], DSCP.trimmed), DSCP)
    assert (parsed.dest_qp, parsed.psn, parsed.ev, parsed.tx_timestamp) == (QP, 77, EV, 0x4321)
    assert not parsed.has_reth
    assert (parsed.va, parsed.rkey, parsed.length, parsed.imm) == (0, 0, 0, None)


def test_a_shorter_cut_is_malformed() -> None:
    for size, field in [(121, "tseth"), (117, "meth"), (113, "frame"), (53, "frame"), (0, "frame")]:
        with pytest.raises(FrameError) as caught:
            parse_frame(with_dscp(WHOLE, DSCP.trimmed)[:size], DSCP)
        assert caught.value.field == field


@pytest.mark.fact("trim.known-by-length")
def test_short_without_the_dscp_is_trimmed_too() -> None:
    parsed = parse_frame(WHOLE[:500], DSCP)
    assert parsed.is_trimmed and parsed.is_cut and not parsed.last_hop
    assert bytes(parsed.payload) == PAYLOAD[: 500 - 142]
    assert not parsed.check_icrc()


@pytest.mark.fact("packet.icrc-trimmed")
@given(missing=st.integers(1, 4104))
def test_one_missing_byte_is_enough_and_never_passes_the_icrc(missing: int) -> None:
    parsed = parse_frame(with_dscp(WHOLE[:-missing], DSCP.trimmed), DSCP)
    assert parsed.is_cut
    assert not parsed.check_icrc()


@pytest.mark.parametrize("dscp", [DSCP.trimmed, DSCP.trimmed_lasthop])
def test_a_whole_frame_under_a_trimmed_dscp_can_be_told(dscp: int) -> None:
    parsed = parse_frame(with_dscp(WHOLE, dscp, ecn=3), DSCP)
    assert parsed.is_trimmed and not parsed.is_cut
    assert parsed.is_marked
    assert parsed.check_icrc() is True
    assert bytes(parsed.payload) == PAYLOAD


def test_a_whole_but_corrupted_frame_under_a_trimmed_dscp_fails_the_icrc() -> None:
    frame = bytearray(with_dscp(WHOLE, DSCP.trimmed))
    frame[200] ^= 1
    parsed = parse_frame(bytes(frame), DSCP)
    assert parsed.is_trimmed and not parsed.is_cut
    assert parsed.check_icrc() is False


@pytest.mark.fact("dscp.trimmed")
@pytest.mark.parametrize(
    "dscp", [DSCP.no_trim, DSCP.trimmable, DSCP.trimmable_retx, DSCP.control, 63]
)
def test_no_other_dscp_means_trimmed(dscp: int) -> None:
    parsed = parse_frame(with_dscp(WHOLE, dscp), DSCP)
    assert not parsed.is_trimmed
    assert parsed.outer_dscp == dscp


@pytest.mark.fact("packet.header")
def test_the_whole_header_is_142_bytes() -> None:
    assert len(WHOLE) == 142 + len(PAYLOAD) + 4
    assert PATH.segment is None
