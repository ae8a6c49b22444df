# SPDX-License-Identifier: Apache-2.0
"""Proves that link states are read from rtnetlink messages, and broken ones refused by name."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.agent.netlink import (
    DumpDone,
    LinkState,
    NetlinkError,
    link_dump_request,
    parse_messages,
)

UP, LOWER_UP, RUNNING = 0x1, 0x10000, 0x40
NEWLINK, DELLINK, NEWADDR, DONE, ERROR, NOOP = 16, 17, 20, 3, 2, 1


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 7, 0) + body + bytes(-len(body) % 4)


def link(index: int, flags: int, name: str, mtu: int = 1500, kind: int = NEWLINK) -> bytes:
    body = struct.pack("=BxHiII", 0, 1, index, flags, 0xFFFFFFFF)
    body += attribute(1, b"\2\0\0\0\0\1") + attribute(3, name.encode() + b"\0")
    return message(kind, body + attribute(4, struct.pack("=I", mtu)) + attribute(16, b"\6"))


def test_a_link_is_usable_only_when_up_and_with_carrier() -> None:
    states = [0, UP, LOWER_UP, UP | RUNNING, UP | LOWER_UP, UP | LOWER_UP | RUNNING]
    data = b"".join(link(i + 1, flags, f"eth{i}") for i, flags in enumerate(states))
    parsed = list(parse_messages(data))
    assert all(isinstance(found, LinkState) for found in parsed)
    assert [found.name for found in parsed] == [f"eth{i}" for i in range(6)]
    assert [found.usable for found in parsed] == [False, False, False, False, True, True]


def test_index_name_and_mtu_are_read() -> None:
    (found,) = parse_messages(link(42, UP | LOWER_UP, "h1-eth7", mtu=4242))
    assert found == LinkState(42, "h1-eth7", UP | LOWER_UP, 4242, False)


def test_a_removed_link_is_gone_and_not_usable() -> None:
    (found,) = parse_messages(link(3, UP | LOWER_UP, "eth0", kind=DELLINK))
    assert found.gone and not found.usable


def test_other_messages_are_passed_over_and_the_end_of_a_dump_is_told() -> None:
    data = (
        message(NOOP, b"")
        + message(NEWADDR, bytes(8))
        + link(1, UP, "lo")
        + message(DONE, bytes(4))
    )
    first, second = parse_messages(data)
    assert isinstance(first, LinkState) and first.name == "lo"
    assert second == DumpDone()


def test_an_acknowledgement_is_no_error_but_a_refusal_is() -> None:
    assert list(parse_messages(message(ERROR, struct.pack("=i", 0) + bytes(16)))) == []
    with pytest.raises(NetlinkError, match="errno 1"):
        list(parse_messages(message(ERROR, struct.pack("=i", -1) + bytes(16))))


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (bytes(7), "no message header"),
        (struct.pack("=IHHII", 15, NEWLINK, 0, 0, 0), "message length 15"),
        (struct.pack("=IHHII", 4000, NEWLINK, 0, 0, 0), "message length 4000"),
        (message(NEWLINK, bytes(15)), "link message of 15"),
        (message(NEWLINK, bytes(16) + struct.pack("=HH", 200, 3)), "attribute 3 has length 200"),
        (message(NEWLINK, bytes(16) + struct.pack("=HH", 3, 3)), "attribute 3 has length 3"),
        (message(ERROR, b""), "without a code"),
    ],
)
def test_impossible_lengths_are_named(data: bytes, named: str) -> None:
    with pytest.raises(NetlinkError, match=named):
        list(parse_messages(data))


@given(st.binary(max_size=120))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    try:
        parsed = list(parse_messages(data))
    except NetlinkError:
        return
    assert len(parsed) <= len(data) // 16


def test_the_request_asks_for_all_links() -> None:
    length, kind, flags, sequence, port = struct.unpack_from("=IHHII", link_dump_request(9))
    assert (length, kind, sequence, port) == (len(link_dump_request(9)), 18, 9, 0)
    assert flags == 0x301
