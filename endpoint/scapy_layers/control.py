# SPDX-License-Identifier: Apache-2.0
"""Scapy layers of the headers behind the BTH of a control packet."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from scapy.fields import (
    BitEnumField,
    BitField,
    ByteEnumField,
    ByteField,
    ConditionalField,
    LongField,
    SignedShortField,
    StrFixedLenField,
    ThreeBytesField,
    X3BytesField,
    XByteField,
    XIntField,
    XLongField,
    XShortField,
)

from endpoint.scapy_layers.bth import MrcHeader
from endpoint.wire import tseth
from endpoint.wire.endpoint_message import OP_EV_PROBE, OP_PORT_STATUS_UPDATE
from endpoint.wire.nack import REASON_NAMES
from endpoint.wire.sack import MARK_ALWAYS_SKIP, MARK_NONE, MARK_SKIP_ONCE

_MARKS: Final = {MARK_NONE: "NONE", MARK_SKIP_ONCE: "SKIP_ONCE", MARK_ALWAYS_SKIP: "ALWAYS_SKIP"}
_OPS: Final = {OP_PORT_STATUS_UPDATE: "PORT_STATUS_UPDATE", OP_EV_PROBE: "EV_PROBE"}


class MrcAETH(MrcHeader):
    """Transport acknowledgement."""

    SIZE = 4
    name = "MRC AETH"
    fields_desc: ClassVar[list[Any]] = [XByteField("syndrome", 0x1F), ThreeBytesField("msn", 0)]


class MrcSETH(MrcHeader):
    """Selective acknowledgement; ``probe_id`` stands in place of ``ack_psn_offset`` if ``pr``."""

    SIZE = 28
    name = "MRC SETH"
    fields_desc: ClassVar[list[Any]] = [
        BitField("type", 0, 4),
        BitField("next_code", 0, 5),
        BitEnumField("mark", MARK_NONE, 2, _MARKS),
        BitField("reserved1", 0, 3),
        BitField("pr", 0, 1),
        BitField("reserved2", 0, 1),
        ConditionalField(SignedShortField("ack_psn_offset", 0), lambda pkt: not pkt.pr),
        ConditionalField(XShortField("probe_id", 0), lambda pkt: bool(pkt.pr)),
        XIntField("ev", 0),
        XShortField("spdcid", 0),
        XShortField("dpdcid", 0),
        XByteField("reserved3", 0),
        ThreeBytesField("cack_psn", 0),
        BitField("cc_type", 0, 4),
        BitField("cc_flags", 0, 4),
        ByteField("mpr_units", 8),
        SignedShortField("sack_offset", 1),
        XLongField("bitmap", 0),
    ]


class MrcCCState(MrcHeader):
    """Congestion state behind a SETH. ``rcvd_units`` counts 256 bytes each."""

    SIZE = 8
    name = "MRC CC_STATE"
    fields_desc: ClassVar[list[Any]] = [
        XShortField("tx_timestamp", 0),
        BitField("reserved", 0, 1),
        BitField("ooo_count", 0, 15),
        BitField("restore_cwnd", 0, 1),
        BitField("rcv_cwnd_pen", 0, 7),
        BitField("rcvd_units", 0, 24),
    ]


class MrcNETH(MrcHeader):
    """Negative acknowledgement of one PSN."""

    SIZE = 20
    name = "MRC NETH"
    fields_desc: ClassVar[list[Any]] = [
        XShortField("reserved1", 0),
        ByteEnumField("reason", 1, REASON_NAMES),
        XByteField("vendor", 0),
        XIntField("ev", 0),
        XShortField("spdcid", 0),
        XShortField("dpdcid", 0),
        XByteField("reserved2", 0),
        ThreeBytesField("nack_psn", 0),
        BitField("cc_type", 2, 4),
        BitField("cc_flags", 0, 4),
        XByteField("reserved3", 0),
        XShortField("tx_timestamp", 0),
    ]


class MrcPETH(MrcHeader):
    """Reliability probe of one EV."""

    SIZE = 16
    name = "MRC PETH"
    fields_desc: ClassVar[list[Any]] = [
        X3BytesField("reserved1", 0),
        XByteField("vendor", 0),
        XShortField("probe_id", 0),
        XShortField("reserved2", 0),
        XShortField("spdcid", 0),
        XShortField("dpdcid", 0),
        XShortField("tx_timestamp", 0),
        BitField("tsr", 0, 1),
        BitField("reserved_tsr", 0, 11),
        BitField("type", tseth.TYPE, 4),
    ]


class MrcERTH(MrcHeader):
    """Endpoint request: port status update or EV probe."""

    SIZE = 16
    name = "MRC ERTH"
    fields_desc: ClassVar[list[Any]] = [
        XByteField("reserved1", 0),
        BitField("reserved2", 0, 6),
        BitEnumField("op", OP_PORT_STATUS_UPDATE, 2, _OPS),
        XByteField("reserved3", 0),
        XByteField("vendor", 0),
        XIntField("port_status_mask", 0),
        XIntField("reserved4", 0),
        XShortField("tx_timestamp", 0),
        BitField("tsr", 0, 1),
        BitField("reserved_tsr", 0, 11),
        BitField("type", tseth.TYPE, 4),
    ]


class MrcEETH(MrcHeader):
    """Endpoint response, with the request's timestamp."""

    SIZE = 36
    name = "MRC EETH"
    fields_desc: ClassVar[list[Any]] = [
        XByteField("reserved1", 0),
        BitField("reserved2", 0, 4),
        BitEnumField("op", OP_PORT_STATUS_UPDATE, 2, _OPS),
        BitField("reserved3", 0, 2),
        XShortField("reserved4", 0),
        LongField("reserved5", 0),
        LongField("reserved6", 0),
        LongField("reserved7", 0),
        XShortField("tx_timestamp", 0),
        StrFixedLenField("reserved8", bytes(6), 6),
    ]
