# SPDX-License-Identifier: Apache-2.0
"""tshark with wireshark/mrc.lua shows the golden packets' values, and what is notable in them."""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scapy.utils import RawPcapNgReader

from endpoint.wire.pcap import PcapWriter

pytestmark = [
    pytest.mark.tshark,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not on the PATH"),
    pytest.mark.usefixtures("lua_is_on"),
]

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"
LUA = ROOT / "wireshark"
CAPTURES = ["writes", "sacks", "nacks", "messages", "paths", "trimmed"]
OUTSIDE = {"outer_ipv6", "ipv6", "srh", "udp", "ethernet"}
WORKED_OUT = [
    "frame.comment", "_ws.col.Protocol", "_ws.col.Info", "_ws.expert.message", "mrc.ev",
    "mrc.ev.plane", "mrc.ev.uplink", "mrc.echoed_ev.plane", "mrc.echoed_ev.uplink",
    "mrc.payload_length", "mrc.missing", "mrc.icrc.status", "mrc.icrc.computed",
    "mrc.sack.ack_psn", "mrc.sack.bitmap_base", "mrc.sack.received", "mrc.sack.uncovered",
    "mrc.sack.gaps", "mrc.sack.gap_count", "mrc.sack.rcvd_bytes", "mrc.sack.mpr_psns",
    "mrc.request_id", "mrc.trimmed", "mrc.trimmed.last_hop", "mrc.trimmed.whole",
    "mrc.trimmed.no_dscp", "mrc.marked", "mrc.retransmission", "mrc.sack.gap", "mrc.sack.skip",
    "mrc.nack", "mrc.nak", "mrc.bad_length", "mrc.bad_value", "mrc.bad_icrc",
    "infiniband.bth.opcode", "udp.dstport",
]  # fmt: skip


def described(capture: str) -> list[dict[str, Any]]:
    document = json.loads((VECTORS / f"{capture}.json").read_text(encoding="utf-8"))
    return list(document["packets"])


def shown_fields() -> list[str]:
    """Every field of MRC's headers that the descriptions name, but for the reserved ones."""
    names = {
        row[0] for capture in CAPTURES for entry in described(capture) for row in entry["fields"]
    }
    return sorted(
        name for name in names if name.partition(".")[0] not in OUTSIDE and ".reserved" not in name
    )


SHOWN = shown_fields()
FIELDS = [*WORKED_OUT, *(f"mrc.{name}" for name in SHOWN)]


def tshark(capture: str, *options: str, script: bool = True, **environment: str) -> list[Any]:
    """The FIELDS of each packet; none may make Lua or tshark complain."""
    command = ["tshark", "-r", str(VECTORS / f"{capture}.pcapng")]
    if script:
        command += ["-X", f"lua_script:{LUA / 'mrc.lua'}"]
    for option in options:
        command += ["-o", option]
    command += ["-T", "fields", "-E", "separator=/t", "-E", "aggregator=;"]
    command += [part for field in FIELDS for part in ("-e", field)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    assert "Lua" not in done.stderr + done.stdout
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


@cache
def dissected(capture: str) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """By name: each packet's description and what tshark shows, with the ICRC checked."""
    rows = tshark(capture, "mrc.check_icrc:TRUE")
    entries = described(capture)
    assert [row["frame.comment"] for row in rows] == [entry["name"] for entry in entries]
    return {entry["name"]: (entry, row) for entry, row in zip(entries, rows, strict=True)}


@cache
def everything() -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    return {name: pair for capture in CAPTURES for name, pair in dissected(capture).items()}


def number(text: str) -> int:
    """A number as tshark shows it; newer ones show flags as words."""
    return int({"True": "1", "False": "0"}.get(text, text), 0)


def expected_of(row: list[Any]) -> int | str:
    """A description's value as tshark has it: numbers, or bytes in hexadecimal."""
    name, _, _, _, kind, value = row
    if name == "icrc":
        return int.from_bytes(bytes.fromhex(value), "little")
    if kind == "hex" and "." in name:
        return int(value, 16)
    return value


@pytest.mark.parametrize("capture", CAPTURES)
def test_every_header_field_has_the_described_value_and_no_other_is_shown(capture: str) -> None:
    for name, (entry, shown) in dissected(capture).items():
        assert shown["_ws.col.Protocol"] == "MRC", name
        values = {row[0]: expected_of(row) for row in entry["fields"] if row[0] in SHOWN}
        found: dict[str, int | str] = {}
        for field in SHOWN:
            text = shown[f"mrc.{field}"]
            if text:
                found[field] = text if field in ("payload", "pad", "cut") else number(text)
        assert found == values, name


@pytest.mark.parametrize("capture", CAPTURES)
def test_ev_lengths_and_icrc_are_worked_out(capture: str) -> None:
    for name, (entry, shown) in dissected(capture).items():
        ev = entry["ev"]
        assert number(shown["mrc.ev"]) == ev, name
        assert (shown["mrc.ev.plane"], shown["mrc.ev.uplink"]) == (str(ev >> 8 & 7), str(ev & 255))
        status = {"valid": "1", "invalid": "0", "absent": ""}[entry["icrc"]]
        assert shown["mrc.icrc.status"] == status, name
        values = {row[0]: row[5] for row in entry["fields"]}
        if "reth.length" in values:
            assert int(shown["mrc.payload_length"]) == values["reth.length"]
        missing = 14 + 40 + values["outer_ipv6.payload_length"] - entry["length"]
        assert shown["mrc.missing"] == (str(missing) if missing else "")


@pytest.mark.parametrize("capture", CAPTURES)
def test_expert_notes_are_where_they_belong_and_nowhere_else(capture: str) -> None:
    for name, (entry, shown) in dissected(capture).items():
        values = {row[0]: row[5] for row in entry["fields"]}
        by_dscp = values["outer_ipv6.dscp"] in (12, 16)
        expected = {
            "mrc.trimmed": entry["trimmed"],
            "mrc.trimmed.last_hop": entry["last_hop"],
            "mrc.trimmed.whole": entry["trimmed"] and not entry["cut"],
            "mrc.trimmed.no_dscp": entry["cut"] and not by_dscp,
            "mrc.marked": entry["marked"],
            "mrc.retransmission": values["bth.rtx"] == 1,
            "mrc.sack.skip": values.get("seth.mark", 0) > 0,
            "mrc.sack.gap": bool(gaps_of(values)),
            "mrc.nack": "neth.reason" in values,
            "mrc.nak": values.get("aeth.syndrome", 0) == 0x62,
            "mrc.bad_icrc": entry["icrc"] == "invalid",
            "mrc.bad_length": False,
            "mrc.bad_value": False,
        }
        assert {key: shown[key] != "" for key in expected} == expected, name


def gaps_of(values: dict[str, Any]) -> list[int]:
    """PSNs behind cack, below the bitmap's highest bit, whose bit is clear."""
    bitmap = int(values.get("seth.bitmap", "0"), 16)
    first = values.get("seth.sack_offset", 0)
    return [
        values["seth.cack_psn"] + first + at & 0xFFFFFF
        for at in range(max(bitmap.bit_length() - 1, 0))
        if first + at > 0 and not bitmap >> at & 1
    ]


def expand(text: str) -> list[int]:
    """The PSNs of "7-9, 11"."""
    found = []
    for part in filter(None, text.split(", ")):
        first, _, last = part.partition("-")
        count = (int(last or first) - int(first) & 0xFFFFFF) + 1
        found += [int(first) + at & 0xFFFFFF for at in range(count)]
    return found


def test_a_sack_is_spelled_out() -> None:
    for name, (entry, shown) in dissected("sacks").items():
        values = {row[0]: row[5] for row in entry["fields"]}
        if "seth.bitmap" not in values:
            continue
        cack, offset = values["seth.cack_psn"], values["seth.sack_offset"]
        bitmap = int(values["seth.bitmap"], 16)
        received = [cack + offset + at & 0xFFFFFF for at in range(64) if bitmap >> at & 1]
        assert expand(shown["mrc.sack.received"]) == received, name
        assert expand(shown["mrc.sack.gaps"]) == gaps_of(values), name
        assert int(shown["mrc.sack.gap_count"]) == len(gaps_of(values))
        assert expand(shown["mrc.sack.uncovered"]) == [
            cack + at & 0xFFFFFF for at in range(1, offset)
        ]
        assert int(shown["mrc.sack.bitmap_base"]) == cack + offset & 0xFFFFFF
        cause = values.get("seth.ack_psn_offset")
        assert shown["mrc.sack.ack_psn"] == ("" if cause is None else str(cack + cause & 0xFFFFFF))
        assert int(shown["mrc.sack.rcvd_bytes"]) == values["cc_state.rcvd_units"] * 256
        assert int(shown["mrc.sack.mpr_psns"]) == values["seth.mpr_units"] * 128
        echoed = values["seth.ev"]
        assert (shown["mrc.echoed_ev.plane"], shown["mrc.echoed_ev.uplink"]) == (
            str(echoed >> 8 & 7), str(echoed & 255),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "info"),
    [
        ("write_last_imm",
         "RDMA WRITE Last with Immediate QP 0x000123 PSN 11259378 EV 2/23 MSN 772 "
         "VA 0x00007f0012345678 Len 8 Imm 0xcafef00d [ack request]"),
        ("retransmission",
         "RDMA WRITE Middle QP 0x000123 PSN 11259375 EV 2/23 MSN 772 VA 0x00007f0012345678 Len 8 "
         "[ack request] [retransmission]"),
        ("trimmed_122",
         "RDMA WRITE Last with Immediate QP 0x000123 PSN 11259375 EV 2/23 MSN 772 [TRIMMED]"),
        ("trimmed_last_hop",
         "RDMA WRITE Middle QP 0x000123 PSN 11259375 EV 2/23 MSN 772 VA 0x00007f0012345678 "
         "Len 4096 [TRIMMED at the last hop]"),
        ("marked",
         "RDMA WRITE Only QP 0x000123 PSN 11259375 EV 2/23 MSN 772 VA 0x00007f0012345678 Len 8 "
         "[CE]"),
        ("sack_skip_once",
         "Reliability SACK QP 0x000123 PSN 43520 EV 2/23 for PSN 43520 cack 43520 for EV 3/44 "
         "SKIP_ONCE"),
        ("sack_gap",
         "Reliability SACK QP 0x000123 PSN 43520 EV 2/23 for PSN 43526 cack 43520 "
         "SACK 43521..43526 bitmap 0x0000000000000036 gaps 2 for EV 3/44"),
        ("sack_probe_response",
         "Reliability SACK QP 0x000123 PSN 43520 EV 2/23 probe 0xfffe cack 43520 "
         "SACK 43521..43522 bitmap 0x0000000000000002 gaps 1 for EV 3/44"),
        ("nack_trimmed_lasthop",
         "Reliability NACK QP 0x000123 PSN 43521 EV 2/23 TRIMMED_LASTHOP for EV 3/44"),
        ("nak_remote_access",
         "Acknowledge QP 0x000123 PSN 11 EV 2/23 NAK remote access error MSN 16777215"),
        ("probe", "Reliability Probe Request QP 0x000123 PSN 0 EV 2/23 probe 0x4321"),
        ("port_status_one_down",
         "Endpoint Request QP 0x000002 PSN 2 EV 2/23 PORT_STATUS_UPDATE id 2 usable ports 0xb"),
        ("ev_probe_response", "Endpoint Response QP 0x000002 PSN 4660 EV 2/23 EV_PROBE id 4660"),
        ("corrupted",
         "RDMA WRITE Only QP 0x000123 PSN 11259375 EV 2/23 MSN 772 VA 0x00007f0012345678 Len 8 "
         "[Wrong ICRC]"),
    ],
)  # fmt: skip
def test_the_info_column_says_what_matters(name: str, info: str) -> None:
    assert everything()[name][1]["_ws.col.Info"] == info


# What is wrong below UDP is not this dissector's business, but for lengths.
BELOW = ("ethernet.", "outer_ipv6.version", "outer_ipv6.next", "ipv6.", "srh.", "udp.dest")


def test_what_receivers_refuse_has_an_error_note() -> None:
    rows = tshark("malformed")
    for entry, shown in zip(described("malformed"), rows, strict=True):
        name, error = entry["name"], entry["error"]
        assert shown["frame.comment"] == name
        found = {key for key in ("mrc.bad_length", "mrc.bad_value") if shown[key]}
        if error.startswith(BELOW) or error == "bth.opcode":
            assert found == set(), name
            continue
        assert found == {"mrc.bad_length" if "length" in error else "mrc.bad_value"}, name
        assert shown["mrc.trimmed"] == "", name
        if found == {"mrc.bad_value"}:
            # Names of fields are the same, but for m.
            assert error.replace("seth.m", "seth.mark") in shown["_ws.expert.message"]


def test_other_opcodes_go_on_to_wireshark_s_rroce_dissector() -> None:
    rows = {row["frame.comment"]: row for row in tshark("malformed")}
    assert rows["opcode_roce"]["_ws.col.Protocol"] == "RRoCE"
    assert int(rows["opcode_roce"]["infiniband.bth.opcode"], 0) == 0x0A
    assert int(rows["opcode"]["infiniband.bth.opcode"], 0) == 0xCF
    assert everything()["write_only"][1]["infiniband.bth.opcode"] == ""


def test_a_port_taken_out_of_the_preference_goes_back_to_rroce() -> None:
    for row in tshark("writes", "mrc.ports:4971"):
        port = row["udp.dstport"]
        assert row["_ws.col.Protocol"] == {"4791": "RRoCE", "4971": "MRC"}[port]


def test_preferences_of_dscp_ev_and_icrc_are_followed() -> None:
    rows = tshark(
        "trimmed", "mrc.dscp_trimmed:20", "mrc.dscp_trimmed_lasthop:12", "mrc.ev_is_path:FALSE"
    )
    shown = {row["frame.comment"]: row for row in rows}
    for entry in described("trimmed"):
        row = shown[entry["name"]]
        dscp = next(field[5] for field in entry["fields"] if field[0] == "outer_ipv6.dscp")
        assert (row["mrc.trimmed.last_hop"] != "") is (dscp == 12)
        assert (row["mrc.trimmed.no_dscp"] != "") is (entry["cut"] and dscp != 12)
        assert row["mrc.ev.plane"] == row["mrc.ev.uplink"] == ""
        assert "EV 0xc0de4a17" in row["_ws.col.Info"]
        assert row["mrc.icrc.status"] == ("" if entry["icrc"] == "absent" else "2")
        assert row["mrc.bad_icrc"] == ""


def test_the_folder_copied_to_the_personal_plugins_is_loaded(tmp_path: Path) -> None:
    plugins = tmp_path / ".local" / "lib" / "wireshark" / "plugins"
    shutil.copytree(LUA, plugins / "mrc")
    rows = tshark("sacks", script=False, HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path))
    assert {row["_ws.col.Protocol"] for row in rows} == {"MRC"}


def test_no_mutated_or_shortened_frame_makes_lua_fail(tmp_path: Path) -> None:
    random = Random(4791)
    frames = []
    for capture in CAPTURES:
        with (VECTORS / f"{capture}.pcapng").open("rb") as handle:
            frames += [frame for frame, _ in RawPcapNgReader(handle) if len(frame) < 600]
    with (tmp_path / "mutated.pcap").open("wb") as handle:
        writer = PcapWriter(handle)
        for number in range(1500):
            frame = bytearray(random.choice(frames))
            for _ in range(random.randrange(4)):
                # From the UDP header on, so that most of them get to the dissector.
                at = random.randrange(98, len(frame))
                frame[at] = random.randrange(256)
            kept = random.choice([len(frame), random.randrange(94, len(frame) + 1)])
            original = random.choice([None, len(frame)])
            writer.write(number * 1000, frame[:kept], original)
    command = ["tshark", "-r", str(tmp_path / "mutated.pcap"), "-o", "mrc.check_icrc:TRUE"]
    command += ["-X", f"lua_script:{LUA / 'mrc.lua'}", "-T", "fields", "-e", "_ws.col.Protocol"]
    command += ["-e", "_ws.lua.error", "-e", "_ws.expert.message"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "Lua" not in done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == 1500
    assert sum(row[0] == "MRC" for row in rows) > 1000
    assert [row for row in rows if row[1] or "Lua" in row[2]] == []


@pytest.mark.parametrize("capture", ["writes", "sacks", "nacks", "messages"])
def test_without_an_outer_header_the_same_is_shown(capture: str, tmp_path: Path) -> None:
    """As with the EV formats STEV and UDP; DSCP and marks are then those of the one IPv6 header."""
    file, whole = tmp_path / "bare.pcapng", []
    with file.open("wb") as handle:
        writer = PcapWriter(handle)
        for frame, _ in RawPcapNgReader(str(VECTORS / f"{capture}.pcapng")):
            assert frame[20] == 41  # IPv6 in IPv6
            whole.append(frame)
            writer.write(0, frame[:14] + frame[54:])
    bare = tshark(str(file.with_suffix("")), "mrc.check_icrc:TRUE")
    assert len(bare) == len(whole)
    for shown, wanted in zip(bare, tshark(capture, "mrc.check_icrc:TRUE"), strict=True):
        comment = wanted.pop("frame.comment")  # pcapng has it, and it is an expert note too
        wanted["_ws.expert.message"] = wanted["_ws.expert.message"].removeprefix(f"{comment};")
        assert {field: shown[field] for field in wanted} == wanted
