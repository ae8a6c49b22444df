# SPDX-License-Identifier: Apache-2.0
"""Samples shared by the wire tests: one path, golden frames, strategies for every codec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from endpoint.wire.aeth import Aeth
from endpoint.wire.bth import FLAG_ACK_REQUEST, FLAG_RTX, Bth
from endpoint.wire.build import ControlTemplate, DataTemplate, PathAddresses
from endpoint.wire.dscp import DscpMap
from endpoint.wire.endpoint_message import EndpointRequest, EndpointResponse
from endpoint.wire.ethernet import Ethernet
from endpoint.wire.ipv6 import Ipv6
from endpoint.wire.meth import Meth
from endpoint.wire.nack import Nack
from endpoint.wire.probe import Probe
from endpoint.wire.reth import ImmDt, Reth
from endpoint.wire.sack import Sack
from endpoint.wire.srh import Srh
from endpoint.wire.tseth import Tseth
from endpoint.wire.udp import Udp

VECTORS = Path(__file__).parents[2] / "vectors" / "mrc_frames.yaml"

DSCP = DscpMap(no_trim=0, trimmable=4, trimmable_retx=8, trimmed=12, trimmed_lasthop=16, control=46)
EV = 0xC0DE4A17
QP = 0x000123
PATH = PathAddresses(
    smac=bytes.fromhex("020000000001"),
    dmac=bytes.fromhex("020000000101"),
    source=bytes.fromhex("fd000000000000000000000000000001"),
    destination=bytes.fromhex("fd000000000000000000000000000002"),
    route=bytes.fromhex("5f000000100018001001080100000000"),
    ev=EV,
)
SEGMENT = bytes.fromhex("5f000000200028002001090100000000")
PATH_WITH_SRH = PATH._replace(segment=SEGMENT)


def data_template(**options: Any) -> DataTemplate:
    return DataTemplate(options.pop("path", PATH), QP, DSCP, **options)


def control_template(**options: Any) -> ControlTemplate:
    return ControlTemplate(options.pop("path", PATH), QP, DSCP.control, **options)


# The values of the golden frames; their bytes stand in tests/vectors/mrc_frames.yaml.
WRITES: dict[str, dict[str, Any]] = {
    "write_first": {
        "opcode": 0xC6, "psn": 0xABCDEF, "flags": 0, "va": 0x7F0012345678, "rkey": 0xDEADBEEF,
        "msn": 0x0304, "rqmsn": 0x0102, "payload": bytes.fromhex("0011223344556677"),
    },
    "write_middle": {
        "opcode": 0xC7, "psn": 0xABCDF0, "flags": FLAG_ACK_REQUEST | FLAG_RTX,
        "va": 0x7F0012345680, "rkey": 0xDEADBEEF, "msn": 0x0304, "rqmsn": 0x0102,
        "payload": bytes.fromhex("8899aabbccddeeff"), "timestamp": 0xBEEF,
    },
    "write_last": {
        "opcode": 0xC8, "psn": 0xABCDF1, "flags": FLAG_ACK_REQUEST, "va": 0x7F0012345688,
        "rkey": 0xDEADBEEF, "msn": 0x0304, "rqmsn": 0x0102, "payload": bytes(range(1, 6)),
    },
    "write_last_imm": {
        "opcode": 0xC9, "psn": 0xABCDF2, "flags": FLAG_ACK_REQUEST, "va": 0x7F0012345690,
        "rkey": 0xDEADBEEF, "msn": 0x0304, "rqmsn": 0x0102, "payload": bytes(range(1, 7)),
        "imm": 0xCAFEF00D,
    },
    "write_only": {
        "opcode": 0xCA, "psn": 0xFFFFFF, "flags": FLAG_ACK_REQUEST, "va": 0, "rkey": 0,
        "msn": 0x0304, "rqmsn": 0x0102, "payload": b"",
    },
    "write_only_imm": {
        "opcode": 0xCB, "psn": 0, "flags": FLAG_ACK_REQUEST, "va": 0xFFFFFFFFFFFFFFF8,
        "rkey": 0xFFFFFFFF, "msn": 0x8000, "rqmsn": 0xFFFF,
        "payload": bytes.fromhex("f1f2f3f4f5f6f7"), "imm": 1, "timestamp": 1,
    },
}  # fmt: skip

SACK = Sack(
    cack_psn=0xAA00, ev=0x12345678, ack_psn_offset=-2, sack_offset=5, bitmap=1 << 63 | 1, mark=1,
    mpr_units=8, tx_timestamp=0xBEEF, ooo_count=0x102, rcvd_units=0x400, rcv_cwnd_pen=5,
    restore_cwnd=True, spdcid=0x1111, dpdcid=0x2222, cc_type=3, cc_flags=5, next_code=1,
)  # fmt: skip
SACK_FOR_PROBE = Sack(0xAA00, 0x12345678, probe_id=0xFFFE, tx_timestamp=0xBEEF)
NACK = Nack(0xAA03, 2, 0x12345678, 0xBEEF, vendor=0x5A, spdcid=0x1111, dpdcid=0x2222, cc_flags=5)
PROBE = Probe(0x4321, 0xBEEF, vendor=0x5A, spdcid=0x1111, dpdcid=0x2222, tsr=True)
AETH = Aeth(0x62, 0x304)
REQUEST = EndpointRequest(0, 0b1011, 0x0102, vendor=0x5A, tsr=True)
RESPONSE = EndpointResponse(1, 0x0102)
REQUEST_ID = 0x1234


def sample_frames(path: PathAddresses = PATH) -> dict[str, bytes]:
    """One frame of each kind, built by the templates, by the names of the golden frames."""
    data = data_template(path=path)
    control = control_template(path=path)
    frames = {name: data.build(**values) for name, values in WRITES.items()}
    frames["acknowledge"] = control.acknowledge(AETH, psn=10)
    frames["endpoint_request"] = control.endpoint_request(REQUEST_ID, REQUEST)
    frames["endpoint_response"] = control.endpoint_response(REQUEST_ID, RESPONSE)
    frames["sack"] = control.sack(SACK)
    frames["sack_for_probe"] = control.sack(SACK_FOR_PROBE)
    frames["nack"] = control.nack(NACK)
    frames["probe_request"] = control.probe_request(PROBE)
    return frames


def _headers_to_bytes(common: dict[str, str], frame: dict[str, str]) -> bytes:
    parts = [common["ethernet"]]
    for name, text in frame.items():
        parts.append(text)
        if name == "outer_ipv6":
            parts += [common["source"], common["route"]]
        if name == "inner_ipv6":
            parts += [common["source"], common["destination"]]
    return bytes.fromhex("".join(str(part) for part in parts))


def golden_frames() -> dict[str, bytes]:
    """The frames written by hand, put together from their headers."""
    document = yaml.load(VECTORS.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    return {
        name: _headers_to_bytes(document["common"], frame)
        for name, frame in document["frames"].items()
    }


def with_dscp(frame: bytes, dscp: int, ecn: int = 2) -> bytes:
    """The frame as a switch leaves it that wrote another outer DSCP and ECN."""
    changed = bytearray(frame)
    changed[14] = 0x60 | dscp >> 2
    changed[15] = (dscp & 3) << 6 | ecn << 4 | (frame[15] & 0x0F)
    return bytes(changed)


def _u(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


_S16 = st.integers(-(1 << 15), (1 << 15) - 1)
_FLAG = st.booleans()
_ADDRESS = st.binary(min_size=16, max_size=16)
_MAC = st.binary(min_size=6, max_size=6)
_OP = st.integers(0, 1)
_SACK_COMMON = {
    "cack_psn": _u(24), "ev": _u(32), "sack_offset": _S16, "bitmap": _u(64),
    "mark": st.integers(0, 2), "mpr_units": _u(8), "tx_timestamp": _u(16), "ooo_count": _u(15),
    "rcvd_units": _u(24), "rcv_cwnd_pen": _u(7), "restore_cwnd": _FLAG, "spdcid": _u(16),
    "dpdcid": _u(16), "cc_type": _u(4), "cc_flags": _u(4), "next_code": _u(5),
}  # fmt: skip

CODECS: dict[str, tuple[type, int, st.SearchStrategy[Any]]] = {
    "ethernet": (Ethernet, 14, st.builds(Ethernet, _MAC, _MAC, _u(16))),
    "ipv6": (
        Ipv6, 40,
        st.builds(Ipv6, _ADDRESS, _ADDRESS, _u(8), _u(16), _u(6), _u(2), _u(20), _u(8)),
    ),
    "srh": (Srh, 24, st.builds(Srh, _ADDRESS, _u(1), _u(8), _u(8), _u(16))),
    "udp": (Udp, 8, st.builds(Udp, _u(16), _u(16), _u(16), _u(16))),
    "bth": (
        Bth, 12,
        st.builds(Bth, _u(8), _u(24), _u(24), _FLAG, _FLAG, _FLAG, _FLAG, _u(2), _FLAG, _FLAG,
                  _u(16)),
    ),
    "meth": (Meth, 4, st.builds(Meth, _u(16), _u(16))),
    "tseth": (Tseth, 4, st.builds(Tseth, _u(16), _FLAG)),
    "reth": (Reth, 16, st.builds(Reth, _u(64), _u(32), _u(32))),
    "immdt": (ImmDt, 4, st.builds(ImmDt, _u(32))),
    "aeth": (Aeth, 4, st.builds(Aeth, _u(8), _u(24))),
    "sack": (Sack, 36, st.builds(Sack, ack_psn_offset=_S16, probe_id=st.none(), **_SACK_COMMON)),
    "sack_for_probe": (
        Sack, 36, st.builds(Sack, ack_psn_offset=st.just(0), probe_id=_u(16), **_SACK_COMMON)
    ),
    "nack": (
        Nack, 20, st.builds(Nack, _u(24), _u(8), _u(32), _u(16), _u(8), _u(16), _u(16), _u(4))
    ),
    "probe": (Probe, 16, st.builds(Probe, _u(16), _u(16), _u(8), _u(16), _u(16), _FLAG)),
    "endpoint_request": (
        EndpointRequest, 16, st.builds(EndpointRequest, _OP, _u(32), _u(16), _u(8), _FLAG)
    ),
    "endpoint_response": (EndpointResponse, 36, st.builds(EndpointResponse, _OP, _u(16))),
}  # fmt: skip
