# SPDX-License-Identifier: Apache-2.0
"""Malformed bytes raise FrameError naming the field, and arbitrary bytes raise nothing else."""

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wire_samples import DSCP, PATH_WITH_SRH, golden_frames, sample_frames

from endpoint.wire.errors import FrameError
from endpoint.wire.frame import ParsedFrame, parse_frame

GOLDEN = golden_frames()
ROUTED = sample_frames(PATH_WITH_SRH)

Change = Callable[[bytearray], None]


def put(at: int, text: str) -> Change:
    """Overwrite bytes from offset ``at``."""
    raw = bytes.fromhex(text)

    def change(frame: bytearray) -> None:
        frame[at : at + len(raw)] = raw

    return change


def resize(delta: int) -> Change:
    """Add or take bytes at the end, and make all three lengths say so."""

    def change(frame: bytearray) -> None:
        frame[len(frame) + min(delta, 0) :] = bytes(max(delta, 0))
        for at in (18, 58, 98):
            frame[at : at + 2] = (int.from_bytes(frame[at : at + 2]) + delta).to_bytes(2)

    return change


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("write_first", put(12, "0800"), "ethernet.ethertype"),
        ("write_first", put(14, "40"), "outer_ipv6.version"),
        ("write_first", put(20, "06"), "outer_ipv6.next_header"),
        ("write_first", put(20, "11"), "udp.length"),
        ("write_first", put(18, "005b"), "outer_ipv6.payload_length"),
        ("write_first", put(54, "50"), "ipv6.version"),
        ("write_first", put(60, "06"), "ipv6.next_header"),
        ("write_first", put(58, "0033"), "udp.length"),
        ("write_first", put(98, "0033"), "udp.length"),
        ("write_first", put(96, "1234"), "udp.destination_port"),
        ("write_first", put(102, "0a"), "bth.opcode"),
        ("write_first", put(102, "ff"), "bth.opcode"),
        ("write_first", put(103, "01"), "bth.version"),
        ("write_first", put(103, "10"), "reth.length"),
        ("write_first", put(130, "00000009"), "reth.length"),
        ("write_first", put(110, "10"), "tseth.type"),
        ("write_middle", put(121, "02"), "tseth.type"),
        ("write_only", put(103, "10"), "udp.length"),
        ("write_only", resize(-4), "udp.length"),
        ("write_only", resize(-21), "udp.length"),
        ("write_only", resize(4100), "payload"),
        ("write_only", resize(1), "udp.length"),
        ("write_only", resize(4), "reth.length"),
        ("acknowledge", put(110, "10"), "bth.ts"),
        ("acknowledge", put(103, "10"), "bth.pad_count"),
        ("acknowledge", resize(4), "udp.length"),
        ("sack", resize(-4), "udp.length"),
        ("sack", put(114, "10"), "seth.type"),
        ("sack", put(115, "e0"), "seth.m"),
        ("nack", put(130, "15"), "neth.cc_type"),
        ("probe_request", put(129, "00"), "peth.type"),
        ("endpoint_request", put(129, "02"), "erth.type"),
        ("endpoint_request", put(115, "02"), "erth.op"),
        ("endpoint_response", put(115, "08"), "eeth.op"),
    ],
)
def test_the_field_found_wrong_is_named(name: str, change: Change, field: str) -> None:
    frame = bytearray(GOLDEN[name])
    change(frame)
    with pytest.raises(FrameError) as caught:
        parse_frame(bytes(frame), DSCP)
    assert caught.value.field == field
    assert str(caught.value) == f"{field}: {caught.value.reason}"


@pytest.mark.parametrize(
    ("at", "value", "field"),
    [
        (54, 17, "outer_ipv6.next_header"),
        (55, 4, "srh.header_length"),
        (56, 3, "srh.routing_type"),
        (57, 2, "srh.segments_left"),
        (58, 1, "srh.last_entry"),
    ],
)
def test_the_field_of_an_srh_found_wrong_is_named(at: int, value: int, field: str) -> None:
    frame = bytearray(ROUTED["write_first"])
    frame[at] = value
    with pytest.raises(FrameError) as caught:
        parse_frame(bytes(frame), DSCP)
    assert caught.value.field == field


def test_lengths_that_contradict_each_other_are_refused() -> None:
    # Both inner lengths one less than the outer length leaves room for.
    frame = bytearray(GOLDEN["write_first"])
    frame[58:60] = frame[98:100] = b"\x00\x33"
    with pytest.raises(FrameError, match=r"outer_ipv6\.payload_length: is 92, inner 51"):
        parse_frame(bytes(frame), DSCP)


@pytest.mark.parametrize("name", GOLDEN)
def test_bytes_behind_the_packet_are_refused(name: str) -> None:
    with pytest.raises(FrameError, match=r"outer_ipv6\.payload_length: leaves 2 bytes"):
        parse_frame(GOLDEN[name] + b"\0\0", DSCP)


@pytest.mark.parametrize("name", sorted(GOLDEN))
@pytest.mark.parametrize("frames", [GOLDEN, ROUTED], ids=["plain", "srh"])
def test_a_frame_cut_anywhere_is_cut_or_refused(frames: dict[str, bytes], name: str) -> None:
    frame = frames[name]
    for kept in range(len(frame)):
        try:
            parsed = parse_frame(frame[:kept], DSCP)
        except FrameError:
            continue
        assert parsed.is_cut and parsed.is_trimmed
        assert not parsed.check_icrc()


def read_everything(parsed: ParsedFrame) -> None:
    """Touch every attribute and property; an unset slot would raise AttributeError."""
    for name in ParsedFrame.__slots__:
        getattr(parsed, name)
    assert parsed.payload_length <= 4096
    assert len(parsed.payload) <= parsed.payload_length
    assert parsed.is_cut or len(parsed.payload) == parsed.payload_length
    assert parsed.check_icrc() in (True, False)
    assert repr(parsed)
    assert parsed.is_marked in (True, False)
    set_values = [parsed.sack, parsed.nack, parsed.probe, parsed.aeth, parsed.endpoint]
    assert parsed.is_data + sum(value is not None for value in set_values) == 1


@settings(max_examples=300)
@given(st.binary(max_size=300))
@example(b"")
def test_random_bytes_parse_or_raise_a_frame_error(raw: bytes) -> None:
    try:
        parsed = parse_frame(raw, DSCP)
    except FrameError:
        return
    read_everything(parsed)


@settings(max_examples=1000)
@given(
    frame=st.sampled_from([*GOLDEN.values(), *ROUTED.values()]),
    changes=st.lists(st.tuples(st.integers(12, 200), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 60),
    extra=st.binary(max_size=3),
)
def test_mutated_frames_parse_or_raise_a_frame_error(
    frame: bytes, changes: list[tuple[int, int]], cut: int, extra: bytes
) -> None:
    mutated = bytearray(frame)
    for at, value in changes:
        mutated[at % len(mutated)] = value
    raw = bytes(mutated[: len(mutated) - max(cut - 30, 0)]) + extra
    try:
        parsed = parse_frame(raw, DSCP)
    except FrameError as error:
        assert "." in error.field or error.field in {
            "frame", "payload", "srh", "meth", "tseth", "aeth", "seth", "neth", "peth", "erth",
            "eeth",
        }  # fmt: skip
        return
    read_everything(parsed)
