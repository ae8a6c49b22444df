# SPDX-License-Identifier: Apache-2.0
"""The golden packets are what the script makes, and every decoder reads the same values in them."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from scapy.contrib import roce
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgReader
from vector_files import files, golden

from endpoint import scapy_layers
from endpoint.wire import nack, opcodes
from endpoint.wire.dscp import DscpMap
from endpoint.wire.errors import FrameError
from endpoint.wire.frame import ParsedFrame, parse_frame

HERE = Path(__file__).parent
CAPTURES = ["writes", "sacks", "nacks", "messages", "paths", "trimmed"]
LAYERS = {
    "bth": "MrcBTH", "meth": "MrcMETH", "tseth": "MrcTSETH", "reth": "MrcRETH",
    "immdt": "MrcImmDt", "aeth": "MrcAETH", "seth": "MrcSETH", "cc_state": "MrcCCState",
    "neth": "MrcNETH", "peth": "MrcPETH", "erth": "MrcERTH", "eeth": "MrcEETH",
}  # fmt: skip


def read_frames(capture: str) -> list[bytes]:
    """The frames of a committed capture, read by scapy."""
    with (HERE / f"{capture}.pcapng").open("rb") as handle:
        return [data for data, _ in RawPcapNgReader(handle)]


def read_json(capture: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((HERE / f"{capture}.json").read_text(encoding="utf-8"))
    assert document["format"] == 1
    assert document["capture"] == f"{capture}.pcapng"
    return document


def decode(frame: bytes, offset: int, bit: int, width: int, kind: str) -> int | str:
    """The field at a place, by the rules of README.md and nothing else."""
    end = offset * 8 + bit + width
    value = int.from_bytes(frame[: -(-end // 8)], "big") >> -end % 8 & (1 << width) - 1
    if kind == "hex":
        return f"{value:0{width // 4}x}"
    return value - (1 << width) if kind == "int" and value >> width - 1 else value


PACKETS = {
    f"{capture}/{entry['name']}": (entry, frame)
    for capture in CAPTURES
    for entry, frame in zip(read_json(capture)["packets"], read_frames(capture), strict=True)
}
MALFORMED = {
    entry["name"]: (entry, frame)
    for entry, frame in zip(
        read_json("malformed")["packets"], read_frames("malformed"), strict=True
    )
}
DSCP = DscpMap(**read_json("writes")["dscp"])

each_packet = pytest.mark.parametrize("name", PACKETS)


def test_the_committed_files_are_what_the_script_makes() -> None:
    made = dict(files())
    committed = {file.name for file in HERE.iterdir() if file.suffix in (".json", ".pcapng")}
    assert committed == set(made)
    for name, contents in made.items():
        assert (HERE / name).read_bytes() == contents, f"run tests/vectors/make.py: {name} differs"


@each_packet
def test_the_description_covers_every_bit_once(name: str) -> None:
    entry, frame = PACKETS[name]
    assert entry["length"] == len(frame)
    at = 0
    for _, offset, bit, width, _, _ in entry["fields"]:
        assert (offset * 8 + bit, 0 <= bit <= 7, width > 0) == (at, True, True)
        at += width
    assert at == len(frame) * 8


@pytest.mark.fact(
    "header.bth",
    "header.meth",
    "header.tseth",
    "header.reth",
    "header.seth",
    "header.neth",
    "header.peth",
    "header.erth",
    "header.eeth",
    "header.aeth",
)
@each_packet
def test_every_field_decoded_by_its_place_has_the_value(name: str) -> None:
    entry, frame = PACKETS[name]
    for field, offset, bit, width, kind, value in entry["fields"]:
        assert kind in ("uint", "int", "hex")
        assert decode(frame, offset, bit, width, kind) == value, field


@each_packet
def test_scapy_dissects_the_same_values(name: str) -> None:
    entry, frame = PACKETS[name]
    packet = Ether(frame)
    for field, _, _, width, kind, value in entry["fields"]:
        header, _, short = field.partition(".")
        if header in LAYERS:
            found = packet[getattr(scapy_layers, LAYERS[header])].fields[short]
            if isinstance(found, bytes):
                found = int.from_bytes(found, "big")
            assert found == (int(value, 16) if kind == "hex" else value), (field, width)


def value(entry: dict[str, Any], field: str) -> Any:
    """A field's value, None when the packet has no such field."""
    return next((row[5] for row in entry["fields"] if row[0] == field), None)


def raw(entry: dict[str, Any], field: str) -> bytes:
    return bytes.fromhex(value(entry, field) or "")


@each_packet
def test_the_parser_says_the_same_about_the_packet(name: str) -> None:
    entry, frame = PACKETS[name]
    parsed = parse_frame(frame, DSCP)
    assert (parsed.ev, parsed.is_trimmed, parsed.last_hop, parsed.is_cut, parsed.is_marked) == (
        entry["ev"], entry["trimmed"], entry["last_hop"], entry["cut"], entry["marked"],
    )  # fmt: skip
    assert parsed.check_icrc() is (entry["icrc"] == "valid")
    assert parsed.outer_da == raw(entry, "outer_ipv6.destination")
    assert (parsed.src, parsed.dst) == (raw(entry, "ipv6.source"), raw(entry, "ipv6.destination"))
    assert (parsed.hop_limit, parsed.outer_dscp) == (
        value(entry, "outer_ipv6.hop_limit"), value(entry, "outer_ipv6.dscp"),
    )  # fmt: skip
    assert parsed.segments_left == (value(entry, "srh.segments_left") or 0)
    assert parsed.udp_dport == value(entry, "udp.destination_port")
    assert (parsed.opcode, parsed.dest_qp, parsed.psn) == (
        value(entry, "bth.opcode"), value(entry, "bth.dest_qp"), value(entry, "bth.psn"),
    )  # fmt: skip
    assert (parsed.ack_request, parsed.rtx) == (
        value(entry, "bth.ack_request"), value(entry, "bth.rtx"),
    )  # fmt: skip
    assert bytes(parsed.payload) == raw(entry, "payload")
    if parsed.is_data:
        assert (parsed.rqmsn, parsed.msn) == (
            value(entry, "meth.rqmsn"), value(entry, "meth.msn"),
        )  # fmt: skip
        assert parsed.tx_timestamp == value(entry, "tseth.tx_timestamp")
        assert parsed.has_reth is (value(entry, "reth.length") is not None)
        if parsed.has_reth:
            assert parsed.va == int(value(entry, "reth.va"), 16)
            assert (parsed.rkey, parsed.length) == (
                value(entry, "reth.rkey"), value(entry, "reth.length"),
            )  # fmt: skip
            assert parsed.imm == value(entry, "immdt.imm")
    else:
        same_control_values(parsed, entry)


def same_control_values(parsed: ParsedFrame, entry: dict[str, Any]) -> None:
    """Every field of the parsed control value, by its name, stands in one of the headers."""
    control = next(
        item
        for item in (parsed.sack, parsed.nack, parsed.probe, parsed.aeth, parsed.endpoint)
        if item is not None
    )
    described = {row[0].partition(".")[2]: row[5] for row in entry["fields"] if row[1] >= 114}
    for field, found in control._asdict().items():
        if field == "probe_id" and not described.get("pr", 1):
            assert found is None
        elif field == "ack_psn_offset" and described["pr"]:
            assert found == 0
        else:
            expected = described[field]
            assert found == (int(expected, 16) if isinstance(expected, str) else expected), field


@each_packet
def test_the_icrc_is_the_one_scapys_roce_layer_computes(name: str) -> None:
    entry, frame = PACKETS[name]
    if entry["icrc"] == "absent":
        assert value(entry, "icrc") is None
        return
    inner = next(row[1] for row in entry["fields"] if row[0] == "ipv6.version")
    packet = IPv6(frame[inner:-4])
    # The layer's own dissection would take the last bytes for the ICRC, so build it instead.
    bth = frame[inner + 48 : inner + 60]
    packet["UDP"].remove_payload()
    packet /= roce.BTH(
        opcode=bth[0], solicited=bth[1] >> 7, migreq=bth[1] >> 6 & 1, padcount=bth[1] >> 4 & 3,
        pkey=int.from_bytes(bth[2:4], "big"), dqpn=int.from_bytes(bth[5:8], "big"),
        ackreq=bth[8] >> 7, resv7=bth[8] & 0x7F, psn=int.from_bytes(bth[9:12], "big"),
    )  # fmt: skip
    packet /= frame[inner + 60 : -4]
    matches = bytes(packet)[-4:] == raw(entry, "icrc")
    assert matches is (entry["icrc"] == "valid")


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_frame_is_refused_and_the_field_named(name: str) -> None:
    entry, frame = MALFORMED[name]
    with pytest.raises(FrameError) as caught:
        parse_frame(frame, DSCP)
    assert caught.value.field == entry["error"]


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_frame_is_its_base_with_the_changes(name: str) -> None:
    entry, frame = MALFORMED[name]
    base = next(found for key, (_, found) in PACKETS.items() if key.endswith(f"/{entry['base']}"))
    changed = bytearray((base + bytes(len(frame)))[: len(frame)])
    if len(frame) > len(base):
        assert frame[len(base) :] == bytes(len(frame) - len(base))
    for offset, text in entry["changes"]:
        changed[offset : offset + len(text) // 2] = bytes.fromhex(text)
    assert bytes(changed) == frame


def seen(field: str) -> set[Any]:
    return {value(entry, field) for entry, _ in PACKETS.values()} - {None}


@pytest.mark.fact("nack.codes")
def test_every_opcode_reason_mark_and_option_is_there() -> None:
    assert seen("bth.opcode") == set(opcodes.NAMES)
    assert seen("neth.reason") > set(nack.REASON_NAMES)
    assert seen("seth.mark") == {0, 1, 2}
    assert seen("seth.pr") == seen("bth.rtx") == seen("bth.ack_request") == seen("bth.r") == {0, 1}
    assert seen("bth.pad_count") == {0, 1, 2, 3}
    assert seen("erth.op") == seen("eeth.op") == {0, 1}
    assert seen("reth.length") >= {0, 1, 2, 3, 256, 512, 1024, 2048, 4096}
    assert seen("srh.segments_left") == {0, 1}
    assert seen("outer_ipv6.ecn") >= {0, 2, 3}
    assert seen("outer_ipv6.dscp") == {0, 4, 8, 12, 16, 46}
    assert seen("udp.destination_port") == {4791, 4971}
    writes = [code for code, is_write in enumerate(opcodes.IS_WRITE) if is_write]
    for cut in (False, True):
        found = {
            (value(entry, "bth.opcode"), value(entry, "bth.ts"))
            for entry, _ in PACKETS.values()
            if entry["cut"] is cut and value(entry, "bth.opcode") in writes
        }
        assert found == {(code, ts) for code in writes for ts in (0, 1)}


def test_a_capture_names_its_packets() -> None:
    for capture, packets in golden().items():
        reader = RawPcapNgReader(io.BytesIO((HERE / f"{capture}.pcapng").read_bytes()))
        names = [item.name for item in packets]
        assert [entry["name"] for entry in read_json(capture)["packets"]] == names
        assert [entry["number"] for entry in read_json(capture)["packets"]] == [
            *range(1, len(names) + 1)
        ]
        text = (HERE / f"{capture}.pcapng").read_bytes()
        assert all(name.encode() in text for name in names)
        assert len(list(reader)) == len(names)
