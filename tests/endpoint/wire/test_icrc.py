# SPDX-License-Identifier: Apache-2.0
"""The ICRC equals scapy's and a bit-by-bit one, covers what it must and ignores what it may not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.roce import BTH
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from wire_samples import DSCP, PATH, PATH_WITH_SRH, data_template, golden_frames, sample_frames

from endpoint.wire.frame import parse_frame
from endpoint.wire.icrc import icrc, pack_icrc

GOLDEN = golden_frames()
INNER = 54
BTH_AT = INNER + 48


def scapy_packet(inner: bytes) -> bytes:
    """The inner packet without its ICRC, rebuilt field by field by scapy, ICRC appended."""
    header, bth = IPv6(inner[:40]), inner[48:60]
    ipv6 = IPv6(
        tc=header.tc, fl=header.fl, plen=header.plen, nh=17, hlim=header.hlim,
        src=header.src, dst=header.dst,
    )  # fmt: skip
    udp = UDP(sport=int.from_bytes(inner[40:42]), dport=4791, len=header.plen, chksum=0)
    transport = BTH(
        opcode=bth[0], solicited=bth[1] >> 7, migreq=bth[1] >> 6 & 1, padcount=bth[1] >> 4 & 3,
        version=bth[1] & 15, pkey=int.from_bytes(bth[2:4]), dqpn=int.from_bytes(bth[5:8]),
        ackreq=bth[8] >> 7, resv7=bth[8] & 0x7F, psn=int.from_bytes(bth[9:12]),
    )  # fmt: skip
    return bytes(ipv6 / udp / transport / Raw(inner[60:]))


def bitwise_icrc(inner: bytes) -> int:
    """CRC-32 one bit at a time over the masked packet."""
    masked = bytearray(b"\xff" * 8 + inner)
    masked[8:12] = b"\x6f\xff\xff\xff"
    masked[15] = 0xFF
    masked[8 + 46 : 8 + 48] = b"\xff\xff"
    masked[8 + 52] = 0xFF
    register = 0xFFFFFFFF
    for byte in masked:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0xEDB88320 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.fact("packet.icrc")
@pytest.mark.parametrize("name", GOLDEN)
def test_icrc_of_mrc_packets_equals_scapys(name: str) -> None:
    frame = sample_frames()[name]
    assert scapy_packet(frame[INNER:-4]) == frame[INNER:]


@given(payload=st.binary(max_size=300), psn=st.integers(0, 0xFFFFFF), stamped=st.booleans())
def test_icrc_of_any_write_equals_scapys(payload: bytes, psn: int, stamped: bool) -> None:
    frame = data_template().build(
        0xC8, psn, 0x80, 0x1000, 7, 1, 0, payload, timestamp=psn & 0xFFFF if stamped else None
    )
    assert scapy_packet(frame[INNER:-4]) == frame[INNER:]


def test_icrc_of_a_plain_rocev2_write_equals_scapys() -> None:
    # RC RDMA WRITE Only (0x0A) over one IPv6 header; scapy fills in every length and the ICRC.
    reth = (0x7F0012340000).to_bytes(8) + (0x1234).to_bytes(4) + (64).to_bytes(4)
    packet = bytes(
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        / IPv6(src="fd00::1", dst="fd00::2", tc=0x6A, fl=0xABCDE, hlim=17)
        / UDP(sport=49152, dport=4791, chksum=0)
        / BTH(opcode=0x0A, dqpn=0x11, ackreq=1, psn=0x222222, fecn=1, becn=1)
        / Raw(reth + bytes(range(64)))
    )
    assert pack_icrc(icrc(packet[14:-4])) == packet[-4:]


@pytest.mark.fact("packet.icrc")
@given(st.binary(min_size=60, max_size=200))
def test_icrc_equals_a_bitwise_crc_of_the_masked_packet(inner: bytes) -> None:
    # The version is part of the masked word; every packet that gets here has version 6.
    packet = bytes([0x60 | inner[0] & 0x0F]) + inner[1:]
    assert icrc(packet) == icrc(bytearray(packet)) == icrc(memoryview(packet))
    assert icrc(packet) == bitwise_icrc(packet)


# Bits that switches may change, by offset in the inner packet.
MUTABLE = {0: 0x0F, 1: 0xFF, 2: 0xFF, 3: 0xFF, 7: 0xFF, 46: 0xFF, 47: 0xFF, 52: 0xFF}


@pytest.mark.fact("packet.icrc-cover")
@given(
    name=st.sampled_from(sorted(GOLDEN)),
    at=st.integers(0, 2000),
    flip=st.integers(1, 0xFF),
)
def test_every_bit_is_covered_but_the_mutable_ones(name: str, at: int, flip: int) -> None:
    frame = GOLDEN[name]
    inner = bytearray(frame[INNER:-4])
    at %= len(inner)
    right = icrc(inner)
    inner[at] ^= flip
    if at == 0 and flip & 0xF0:
        return  # the version: parse_frame refuses it before an ICRC is asked for
    assert (icrc(inner) == right) is (flip & ~MUTABLE.get(at, 0) == 0)


@pytest.mark.parametrize("path", [PATH, PATH_WITH_SRH])
@given(data=st.data())
def test_a_corrupted_payload_fails_the_check(path: object, data: st.DataObject) -> None:
    payload = bytes(range(200))
    frame = bytearray(data_template(path=path).build(0xCA, 5, 0, 0, 1, 1, 1, payload))
    assert parse_frame(bytes(frame), DSCP).check_icrc()
    at = data.draw(st.integers(len(frame) - 204, len(frame) - 1))
    frame[at] ^= data.draw(st.integers(1, 255))
    assert not parse_frame(bytes(frame), DSCP).check_icrc()


@pytest.mark.fact("packet.icrc-outer")
def test_the_outer_header_is_not_covered() -> None:
    frame = bytearray(sample_frames()["write_first"])
    frame[14:54] = frame[14:15] + b"\x30" + frame[16:20] + frame[20:21] + b"\x3d" + bytes(32)
    parsed = parse_frame(bytes(frame), DSCP)
    assert parsed.is_marked
    assert parsed.check_icrc()


def test_a_template_without_icrc_leaves_it_zero() -> None:
    frame = data_template(icrc=False).build(0xCA, 5, 0, 0, 1, 1, 1, b"abc")
    assert frame[-4:] == bytes(4)
    assert frame[:-4] == data_template().build(0xCA, 5, 0, 0, 1, 1, 1, b"abc")[:-4]
    assert not parse_frame(frame, DSCP).check_icrc()
