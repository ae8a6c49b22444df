# SPDX-License-Identifier: Apache-2.0
"""Messages of rtnetlink about links: the request for all of them, and the parser of what comes.

Source: linux/netlink.h, linux/rtnetlink.h, linux/if_link.h; all fields in host byte order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

_HEADER = Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port id
_LINK = Struct("=BxHiII")  # ifinfomsg: family, type, index, flags, change mask
_ATTRIBUTE = Struct("=HH")  # rtattr: length, type
_INT = Struct("=i")
_UINT = Struct("=I")

_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_RTM_NEWLINK, _RTM_DELLINK, _RTM_GETLINK = 16, 17, 18
_REQUEST_DUMP = 0x001 | 0x300  # NLM_F_REQUEST, NLM_F_DUMP
_IFLA_IFNAME, _IFLA_MTU = 3, 4
_IFF_UP, _IFF_LOWER_UP = 1 << 0, 1 << 16


class NetlinkError(Exception):
    """The kernel answered with an error, or sent bytes that are no netlink message."""


@dataclass(frozen=True, slots=True)
class LinkState:
    """An interface as one message describes it; `gone` when it was removed (or moved away)."""

    index: int
    name: str
    flags: int
    mtu: int
    gone: bool = False

    @property
    def usable(self) -> bool:
        """Up, and with carrier."""
        both = _IFF_UP | _IFF_LOWER_UP
        return not self.gone and self.flags & both == both


@dataclass(frozen=True, slots=True)
class DumpDone:
    """The answer to a request for all links is complete."""


def link_dump_request(sequence: int) -> bytes:
    """RTM_GETLINK for all links."""
    body = _LINK.pack(0, 0, 0, 0, 0)
    length = _HEADER.size + len(body)
    return _HEADER.pack(length, _RTM_GETLINK, _REQUEST_DUMP, sequence, 0) + body


def parse_messages(data: bytes) -> Iterator[LinkState | DumpDone]:
    """The links of one received buffer; messages about other things are passed over.

    NetlinkError for an error message of the kernel, and for lengths that do not fit.
    """
    offset = 0
    while offset < len(data):
        if len(data) - offset < _HEADER.size:
            raise NetlinkError(f"netlink: {len(data) - offset} bytes are no message header")
        length, kind, _, _, _ = _HEADER.unpack_from(data, offset)
        if not _HEADER.size <= length <= len(data) - offset:
            raise NetlinkError(f"netlink: message length {length} of {len(data) - offset} bytes")
        body = data[offset + _HEADER.size : offset + length]
        offset += _aligned(length)
        if kind in (_RTM_NEWLINK, _RTM_DELLINK):
            yield _link(body, kind == _RTM_DELLINK)
        elif kind == _NLMSG_DONE:
            yield DumpDone()
        elif kind == _NLMSG_ERROR:
            _raise_error(body)


def _link(body: bytes, gone: bool) -> LinkState:
    if len(body) < _LINK.size:
        raise NetlinkError(f"netlink: a link message of {len(body)} bytes")
    _, _, index, flags, _ = _LINK.unpack_from(body)
    name, mtu = "", 0
    for kind, value in _attributes(body, _LINK.size):
        if kind == _IFLA_IFNAME:
            name = value.rstrip(b"\0").decode("utf-8", "replace")
        elif kind == _IFLA_MTU and len(value) >= _UINT.size:
            mtu = _UINT.unpack_from(value)[0]
    return LinkState(index, name, flags, mtu, gone)


def _attributes(body: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    while offset + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, offset)
        if not _ATTRIBUTE.size <= length <= len(body) - offset:
            raise NetlinkError(f"netlink: attribute {kind} has length {length}")
        yield kind, body[offset + _ATTRIBUTE.size : offset + length]
        offset += _aligned(length)


def _raise_error(body: bytes) -> None:
    if len(body) < _INT.size:
        raise NetlinkError("netlink: an error message without a code")
    code = -_INT.unpack_from(body)[0]
    if code:
        raise NetlinkError(f"netlink: the kernel refused the request (errno {code})")


def _aligned(length: int) -> int:
    return (length + 3) & ~3
