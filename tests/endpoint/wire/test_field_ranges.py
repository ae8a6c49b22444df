# SPDX-License-Identifier: Apache-2.0
"""A value that does not fit its field is refused with the field's name, and never truncated."""

from collections.abc import Callable

import pytest
from wire_samples import (
    AETH,
    CODECS,
    DSCP,
    NACK,
    PATH,
    PROBE,
    REQUEST,
    RESPONSE,
    SACK,
    SACK_FOR_PROBE,
    WRITES,
    control_template,
    data_template,
)

from endpoint.wire.bth import Bth
from endpoint.wire.build import DataTemplate
from endpoint.wire.dscp import DscpMap
from endpoint.wire.errors import FieldError
from endpoint.wire.ethernet import Ethernet
from endpoint.wire.ipv6 import Ipv6
from endpoint.wire.meth import Meth
from endpoint.wire.reth import ImmDt, Reth
from endpoint.wire.sack import rcvd_units
from endpoint.wire.srh import Srh
from endpoint.wire.tseth import Tseth
from endpoint.wire.udp import Udp

# (value, argument, name in errors, bits): one below and one above the range must be refused.
UNSIGNED = [
    (Ethernet(bytes(6), bytes(6)), "ethertype", "ethernet.ethertype", 16),
    *(
        (Ipv6(bytes(16), bytes(16), 17, 0), name, f"ipv6.{name}", bits)
        for name, bits in [
            ("next_header", 8), ("payload_length", 16), ("dscp", 6), ("ecn", 2),
            ("flow_label", 20), ("hop_limit", 8),
        ]
    ),
    *(
        (Srh(bytes(16)), name, f"srh.{name}", bits)
        for name, bits in [("segments_left", 1), ("next_header", 8), ("flags", 8), ("tag", 16)]
    ),
    *(
        (Udp(0, 0, 0), name, f"udp.{name}", 16)
        for name in ("source_port", "destination_port", "length", "checksum")
    ),
    *(
        (Bth(0, 0, 0), name, f"bth.{name}", bits)
        for name, bits in [
            ("opcode", 8), ("dest_qp", 24), ("psn", 24), ("pad_count", 2), ("pkey", 16)
        ]
    ),
    (Meth(0, 0), "rqmsn", "meth.rqmsn", 16),
    (Meth(0, 0), "msn", "meth.msn", 16),
    (Tseth(0), "tx_timestamp", "tseth.tx_timestamp", 16),
    (Reth(0, 0, 0), "va", "reth.va", 64),
    (Reth(0, 0, 0), "rkey", "reth.rkey", 32),
    (Reth(0, 0, 0), "length", "reth.length", 32),
    (ImmDt(0), "imm", "immdt.imm", 32),
    (AETH, "syndrome", "aeth.syndrome", 8),
    (AETH, "msn", "aeth.msn", 24),
    *(
        (SACK, name, f"seth.{shown}", bits)
        for name, shown, bits in [
            ("cack_psn", "cack_psn", 24), ("ev", "ev", 32), ("bitmap", "bitmap", 64),
            ("mpr_units", "mpr", 8), ("spdcid", "spdcid", 16), ("dpdcid", "dpdcid", 16),
            ("cc_type", "cc_type", 4), ("cc_flags", "cc_flags", 4), ("next_code", "next", 5),
        ]
    ),
    (SACK_FOR_PROBE, "probe_id", "seth.probe_id", 16),
    *(
        (SACK, name, f"cc_state.{shown}", bits)
        for name, shown, bits in [
            ("tx_timestamp", "tx_timestamp", 16), ("ooo_count", "ooo_count", 15),
            ("rcvd_units", "rcvd_bytes", 24), ("rcv_cwnd_pen", "rcv_cwnd_pen", 7),
        ]
    ),
    *(
        (NACK, name, f"neth.{name}", bits)
        for name, bits in [
            ("nack_psn", 24), ("reason", 8), ("ev", 32), ("tx_timestamp", 16), ("vendor", 8),
            ("spdcid", 16), ("dpdcid", 16), ("cc_flags", 4),
        ]
    ),
    *(
        (PROBE, name, f"peth.{name}", bits)
        for name, bits in [
            ("probe_id", 16), ("tx_timestamp", 16), ("vendor", 8), ("spdcid", 16), ("dpdcid", 16)
        ]
    ),
    *(
        (REQUEST, name, f"erth.{name}", bits)
        for name, bits in [
            ("op", 1), ("port_status_mask", 32), ("tx_timestamp", 16), ("vendor", 8)
        ]
    ),
    (RESPONSE, "op", "eeth.op", 1),
    (RESPONSE, "tx_timestamp", "eeth.tx_timestamp", 16),
]  # fmt: skip


def refused(field: str, build: Callable[[], object]) -> None:
    with pytest.raises(FieldError) as caught:
        build()
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")


@pytest.mark.parametrize(("value", "argument", "field", "bits"), UNSIGNED)
def test_unsigned_ranges(value: object, argument: str, field: str, bits: int) -> None:
    highest = (1 << bits) - 1
    codec = type(value)
    for fitting in (0, highest):
        changed = value._replace(**{argument: fitting})  # type: ignore[attr-defined]
        assert codec.unpack(changed.pack()) == changed  # type: ignore[attr-defined]
    for outside in (-1, highest + 1):
        refused(field, value._replace(**{argument: outside}).pack)  # type: ignore[attr-defined]


def test_every_numeric_field_of_every_codec_is_in_the_list() -> None:
    flags = {"ack_request", "rtx", "ts", "r", "solicited", "migration", "tsr", "restore_cwnd"}
    addresses = {"source", "destination", "segment"}
    signed_or_listed = {"ack_psn_offset", "sack_offset", "mark"}
    listed = {(type(value), argument) for value, argument, _, _ in UNSIGNED}
    for codec, _, _ in CODECS.values():
        names = set(codec._fields)  # type: ignore[attr-defined]
        for name in names - flags - addresses - signed_or_listed:
            assert (codec, name) in listed


@pytest.mark.parametrize("name", ["ack_psn_offset", "sack_offset"])
def test_signed_ranges(name: str) -> None:
    for fitting in (-32_768, 32_767):
        changed = SACK._replace(**{name: fitting})
        assert type(SACK).unpack(changed.pack()) == changed
    for outside in (-32_769, 32_768):
        refused(f"seth.{name}", SACK._replace(**{name: outside}).pack)


def test_a_mark_is_one_of_three() -> None:
    for outside in (-1, 3):
        refused("seth.m", SACK._replace(mark=outside).pack)


def test_a_probes_answer_has_no_psn_offset() -> None:
    refused("seth.ack_psn_offset", SACK_FOR_PROBE._replace(ack_psn_offset=1).pack)


def test_addresses_have_their_length() -> None:
    refused("ethernet.source", Ethernet(bytes(6), bytes(5)).pack)
    refused("ethernet.destination", Ethernet(bytes(7), bytes(6)).pack)
    refused("ipv6.source", Ipv6(bytes(15), bytes(16), 17, 0).pack)
    refused("ipv6.destination", Ipv6(bytes(16), bytes(17), 17, 0).pack)
    refused("srh.segment", Srh(bytes(4)).pack)


@pytest.mark.parametrize(
    ("argument", "field", "outside"),
    [
        ("opcode", "bth.opcode", [-1, 0, 0x0A, 0xDC, 256]),
        ("psn", "bth.psn", [-1, 1 << 24]),
        ("flags", "bth.flags", [-1, 0x10, 0x01, 0x100]),
        ("va", "reth.va", [-1, 1 << 64]),
        ("rkey", "reth.rkey", [-1, 1 << 32]),
        ("msn", "meth.msn", [-1, 1 << 16]),
        ("rqmsn", "meth.rqmsn", [-1, 1 << 16]),
        ("imm", "immdt.imm", [-1, 1 << 32, None]),
        ("timestamp", "tseth.tx_timestamp", [-1, 1 << 16]),
        ("payload", "payload", [bytes(4097)]),
    ],
)
def test_a_data_template_names_what_does_not_fit(
    argument: str, field: str, outside: list[object]
) -> None:
    for name in ("write_only_imm", "write_last_imm"):
        for value in outside:
            values = WRITES[name] | {argument: value}
            refused(field, lambda values=values: data_template().build(**values))  # type: ignore[misc]


def test_immediate_data_only_where_the_opcode_carries_it() -> None:
    refused("immdt.imm", lambda: data_template().build(**WRITES["write_only"] | {"imm": 1}))


def test_templates_name_what_does_not_fit_a_path() -> None:
    for name, value, field in [
        ("ev", 1 << 32, "path.ev"),
        ("ev", -1, "path.ev"),
        ("route", bytes(15), "path.route"),
        ("smac", bytes(5), "ethernet.source"),
        ("destination", bytes(15), "ipv6.destination"),
        ("segment", bytes(15), "srh.segment"),
    ]:
        path = PATH._replace(**{name: value})
        refused(field, lambda path=path: DataTemplate(path, 1, DSCP))  # type: ignore[misc]
    refused("bth.dest_qp", lambda: DataTemplate(PATH, 1 << 24, DSCP))
    refused("bth.pkey", lambda: DataTemplate(PATH, 1, DSCP, pkey=-1))
    refused("ipv6.ecn", lambda: DataTemplate(PATH, 1, DSCP, ecn=4))
    refused("udp.destination_port", lambda: DataTemplate(PATH, 1, DSCP, udp_port=1 << 16))
    refused("ipv6.hop_limit", lambda: DataTemplate(PATH, 1, DSCP, hop_limit=256))


def test_control_templates_name_what_does_not_fit() -> None:
    control = control_template()
    refused("bth.psn", lambda: control.acknowledge(AETH, psn=1 << 24))
    refused("bth.psn", lambda: control.probe_request(PROBE, psn=-1))
    refused("endpoint.request_id", lambda: control.endpoint_request(1 << 16, REQUEST))
    refused("endpoint.request_id", lambda: control.endpoint_response(-1, RESPONSE))


def test_dscp_values_fit_and_differ() -> None:
    refused("dscp.control", lambda: DscpMap(0, 4, 8, 12, 16, 64))
    refused("dscp.trimmed_lasthop", lambda: DscpMap(0, 4, 8, 12, 12, 46))


@pytest.mark.fact("sack.rcvd-bytes")
def test_received_bytes_are_rounded_up_and_wrap() -> None:
    assert [rcvd_units(n) for n in (0, 1, 256, 257)] == [0, 1, 1, 2]
    assert rcvd_units(256 << 24) == 0
    assert rcvd_units((256 << 24) + 1) == 1
