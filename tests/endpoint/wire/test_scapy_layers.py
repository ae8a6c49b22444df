# SPDX-License-Identifier: Apache-2.0
"""Scapy layers and codecs agree on every field: each reads and writes the other's bytes."""

import subprocess
import sys
from ipaddress import IPv6Address
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.compat import raw
from scapy.contrib import roce
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from wire_samples import (
    CODECS,
    DSCP,
    EV,
    PATH,
    PATH_WITH_SRH,
    QP,
    control_template,
    data_template,
    golden_frames,
    sample_frames,
    with_dscp,
)

from endpoint import scapy_layers
from endpoint.scapy_layers import *  # noqa: F403 - the advertised way to load them
from endpoint.scapy_layers import (
    NO_ICRC,
    MrcAETH,
    MrcBTH,
    MrcCCState,
    MrcEETH,
    MrcERTH,
    MrcImmDt,
    MrcMETH,
    MrcNETH,
    MrcPETH,
    MrcRETH,
    MrcSETH,
    MrcTSETH,
)
from endpoint.wire import opcodes
from endpoint.wire.errors import FrameError
from endpoint.wire.frame import parse_frame

GOLDEN = golden_frames()
PATHS = {"plain": PATH, "srh": PATH_WITH_SRH, "bare": PATH._replace(route=None)}
"""`bare`: as with the EV formats STEV and UDP, without an outer header."""
TOP_LAYER: dict[str, type[Packet]] = {
    "meth": MrcMETH, "tseth": MrcTSETH, "reth": MrcRETH, "immdt": MrcImmDt, "aeth": MrcAETH,
    "nack": MrcNETH, "probe": MrcPETH, "endpoint_request": MrcERTH, "endpoint_response": MrcEETH,
    "sack": MrcSETH, "sack_for_probe": MrcSETH,
}  # fmt: skip
IN_CC_STATE = ("tx_timestamp", "ooo_count", "restore_cwnd", "rcv_cwnd_pen", "rcvd_units")


def layers_of(name: str, value: Any) -> Packet:
    """A codec's value as scapy layers, every field given."""
    fields = value._asdict()
    if not name.startswith("sack"):
        return TOP_LAYER[name](**fields)
    state = MrcCCState(**{field: fields.pop(field) for field in IN_CC_STATE})
    pr = fields["probe_id"] is not None
    del fields["ack_psn_offset" if pr else "probe_id"]
    return MrcSETH(pr=pr, **fields) / state


def values_of(packet: Packet) -> dict[str, Any]:
    """The fields of all layers, in the terms of the codec where a SETH has two cases."""
    found: dict[str, Any] = {}
    while packet and not isinstance(packet, Raw):
        found |= {field: packet.getfieldval(field) for field in packet.fields}
        packet = packet.payload
    if "pr" in found:
        found |= {"ack_psn_offset": 0} if found["pr"] else {"probe_id": None}
    return found


def reserved_bits(found: dict[str, Any]) -> list[Any]:
    return [v for k, v in found.items() if k.startswith("reserved") and v not in (0, bytes(6))]


@pytest.mark.parametrize("name", TOP_LAYER)
@settings(max_examples=50)
@given(data=st.data())
def test_what_a_codec_packs_is_dissected_into_the_same_values(
    name: str, data: st.DataObject
) -> None:
    value: Any = data.draw(CODECS[name][2])
    found = values_of(TOP_LAYER[name](value.pack()))
    assert {field: found[field] for field in value._fields} == value._asdict()
    assert reserved_bits(found) == []


@pytest.mark.parametrize("name", TOP_LAYER)
@settings(max_examples=50)
@given(data=st.data())
def test_what_scapy_builds_from_the_values_equals_the_codec(name: str, data: st.DataObject) -> None:
    value: Any = data.draw(CODECS[name][2])
    assert raw(layers_of(name, value)) == value.pack()


@pytest.mark.parametrize("name", TOP_LAYER)
@settings(max_examples=50)
@given(data=st.data())
def test_any_bytes_mean_the_same_to_both_and_are_rebuilt(name: str, data: st.DataObject) -> None:
    codec, size, _ = CODECS[name]
    wire = data.draw(st.binary(min_size=size, max_size=size))
    packet = TOP_LAYER[name](wire)
    packet.clear_cache()
    assert raw(packet) == wire
    try:
        value = codec.unpack(wire)  # type: ignore[attr-defined]
    except FrameError:
        return
    found = values_of(packet)
    assert {field: found[field] for field in value._fields} == value._asdict()


@given(value=CODECS["bth"][2])
def test_the_bth_agrees_both_ways(value: Any) -> None:
    assert raw(MrcBTH(**value._asdict(), pad=b"", icrc=NO_ICRC)) == value.pack()
    # The dispatch to RoCE's own layer looks at the opcode, so dissect MRC's only.
    value = value._replace(opcode=opcodes.SACK)
    packet = MrcBTH(value.pack())
    assert {field: packet.getfieldval(field) for field in value._fields} == value._asdict()
    assert (packet.icrc, packet.version, packet.reserved, packet.reserved_flags) == (-1, 0, 0, 0)


def envelope(dscp: int, ecn: int, path: Any) -> Packet:
    """Everything in front of the BTH; lengths, ports and checksum are scapy's to fill in."""

    def text(address: bytes) -> str:
        return str(IPv6Address(address))

    common = {"tc": dscp << 2 | ecn, "fl": EV & 0xFFFF, "src": text(path.source)}
    headers = Ether(src=path.smac.hex(":"), dst=path.dmac.hex(":"))
    if path.route is not None:
        headers /= IPv6(dst=text(path.route), **common)
    if path.segment is not None:
        headers /= IPv6ExtHdrSegmentRouting(addresses=[text(path.segment)], segleft=1, lastentry=0)
    return headers / IPv6(dst=text(path.destination), **common) / UDP(sport=EV >> 16)


@pytest.mark.parametrize("path", PATHS)
@settings(max_examples=60)
@given(
    opcode=st.sampled_from([code for code, is_write in enumerate(opcodes.IS_WRITE) if is_write]),
    ack_request=st.booleans(),
    rtx=st.booleans(),
    psn=st.integers(0, 0xFFFFFF),
    payload=st.binary(max_size=40),
    timestamp=st.none() | st.integers(0, 0xFFFF),
    imm=st.integers(0, 0xFFFFFFFF),
)
def test_a_data_frame_with_all_optional_fields_left_out_equals_the_templates(
    path: str,
    opcode: int,
    ack_request: bool,
    rtx: bool,
    psn: int,
    payload: bytes,
    timestamp: int | None,
    imm: int,
) -> None:
    has_imm = opcodes.HAS_IMM[opcode]
    frame = data_template(path=PATHS[path]).build(
        opcode, psn, ack_request << 7 | rtx << 5, 0x7F00_0000_1000, 0xABCD, 3, 2, payload,
        imm if has_imm else None, timestamp,
    )  # fmt: skip
    packet = envelope(DSCP.trimmable_retx if rtx else DSCP.trimmable, 2, PATHS[path])
    packet /= MrcBTH(opcode=opcode, dest_qp=QP, psn=psn, ack_request=ack_request, rtx=rtx)
    packet /= MrcMETH(rqmsn=2, msn=3)
    if timestamp is not None:
        packet /= MrcTSETH(tx_timestamp=timestamp)
    packet /= MrcRETH(va=0x7F00_0000_1000, rkey=0xABCD)
    if has_imm:
        packet /= MrcImmDt(imm=imm)
    assert raw(packet / Raw(payload)) == frame

    found = Ether(frame)
    assert raw(found.getlayer(Raw) or b"") == payload
    assert (MrcTSETH in found, MrcImmDt in found) == (timestamp is not None, has_imm)
    assert found[MrcRETH].length == len(payload)


@pytest.mark.parametrize("path", PATHS)
@given(data=st.data())
def test_a_control_frame_equals_the_templates(path: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["sack", "sack_for_probe", "nack", "probe", "aeth"]))
    value: Any = data.draw(CODECS[name][2])
    template = control_template(path=PATHS[path])
    build = {"nack": template.nack, "probe": template.probe_request, "aeth": template.acknowledge}
    frame = build.get(name, template.sack)(value, psn=77)
    packet = envelope(DSCP.control, 0, PATHS[path]) / MrcBTH(dest_qp=QP, psn=77)
    assert raw(packet / layers_of(name, value)) == frame


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_frame_is_dissected_and_rebuilt_with_nothing_kept(name: str, path: str) -> None:
    frame = sample_frames(PATHS[path])[name]
    packet = Ether(frame)
    assert raw(packet) == frame
    parsed = parse_frame(frame, DSCP)
    found = packet[MrcBTH]
    assert (found.ev, found.dest_qp, found.psn, found.opcode) == (
        EV, parsed.dest_qp, parsed.psn, parsed.opcode,
    )  # fmt: skip
    assert opcodes.name(parsed.opcode) in packet.summary()
    packet.clear_cache()
    assert raw(packet) == frame
    for field in ("icrc", "pad", "pad_count", "ts"):
        found.delfieldval(field)
    assert raw(packet) == frame


@pytest.mark.parametrize("size", range(114, 158))
def test_a_trimmed_frame_has_no_icrc_and_whatever_headers_are_whole(size: int) -> None:
    whole = data_template().build(0xC9, 9, 0, 1, 2, 3, 4, bytes(range(14)), 5, 6)
    assert len(whole) == 162
    packet = Ether(with_dscp(whole[:size], DSCP.trimmed))
    assert packet[MrcBTH].icrc == NO_ICRC
    ends = {MrcMETH: 118, MrcTSETH: 122, MrcRETH: 138, MrcImmDt: 142}
    assert [layer for layer in ends if layer in packet] == [
        layer for layer, end in ends.items() if size >= end
    ]
    packet.clear_cache()
    assert raw(packet) == with_dscp(whole[:size], DSCP.trimmed)


def test_other_opcodes_and_ports_are_left_to_scapy() -> None:
    plain = raw(IPv6() / UDP(sport=1, dport=4791) / roce.BTH(opcode=0x0A) / b"abcd")
    assert roce.BTH in IPv6(plain)
    assert MrcBTH not in IPv6(plain)
    frame = bytearray(GOLDEN["sack"])
    frame[96:98] = (4971).to_bytes(2, "big")
    assert MrcCCState in Ether(bytes(frame))
    frame[96:98] = (4790).to_bytes(2, "big")
    assert MrcBTH not in Ether(bytes(frame))


def test_a_header_alone_has_no_ev_and_a_zero_icrc() -> None:
    packet = MrcBTH(psn=1) / MrcMETH() / MrcRETH()
    assert packet.ev is None
    assert raw(packet)[-4:] == bytes(4)


def test_everything_public_is_exported() -> None:
    assert set(scapy_layers.__all__) <= set(globals())


def test_without_scapy_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['scapy'] = None; import endpoint.scapy_layers"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "pip install 'mrc-p4[scapy]'" in done.stderr
