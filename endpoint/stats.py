# SPDX-License-Identifier: Apache-2.0
"""Counters of a queue pair and of a NIC: plain integers, never reset, cheap to bump."""

from collections.abc import Iterator


class _Counters:
    __slots__: tuple[str, ...] = ()

    def __init__(self) -> None:
        for name in self.__slots__:
            setattr(self, name, 0)

    def items(self) -> Iterator[tuple[str, int]]:
        """Name and value of each counter, in the order of declaration."""
        for name in self.__slots__:
            yield name, getattr(self, name)

    def as_dict(self) -> dict[str, int]:
        return dict(self.items())


class QpStats(_Counters):
    """Counters of one queue pair; `*_bytes` count payload."""

    data_sent: int  # data packets sent, retransmissions included
    data_bytes_sent: int  # payload of first transmissions
    retransmitted: int
    acknowledged: int  # PSNs
    lost: int  # transmissions declared lost by rule (a), (b) or the timer
    lost_same_path: int  # by rule (a)
    lost_by_time: int  # by rule (b)
    lost_by_timer: int
    late_acknowledged: int  # acknowledged after having been declared lost
    timeouts: int
    probes_sent: int  # Reliability Probes
    sacks_received: int
    nacks_received: int
    nacks_trimmed: int
    nacks_trimmed_last_hop: int
    nacks_ignored: int  # for a transmission that is not outstanding
    data_received: int  # whole data packets, duplicates included
    data_bytes_received: int  # payload placed
    duplicates: int
    out_of_window: int
    trimmed_received: int
    marked_received: int  # data packets that arrived with CE
    whole_under_trimmed_dscp: int
    sacks_sent: int
    nacks_sent: int
    probes_received: int
    access_errors: int
    dropped_in_state: int  # packets that arrived while the QP could not take them

    __slots__ = tuple(__annotations__)


class NicStats(_Counters):
    """Counters of one NIC, for frames that reach no queue pair and for endpoint messages."""

    frames_received: int
    frames_sent: int
    malformed: int
    icrc_errors: int
    wrong_address: int  # inner destination is another NIC
    unknown_qp: int
    wrong_peer: int  # inner source is not the QP's peer
    endpoint_messages: int  # requests and responses to QP 2
    received_on_down_port: int

    __slots__ = tuple(__annotations__)
