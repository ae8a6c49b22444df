# SPDX-License-Identifier: Apache-2.0
"""Losses are charged to their fault by kind and flow, and are recovered when the PSN arrives."""

from testbed.frames import CONTROL, DATA, PROBE, label
from testbed.losses import Losses

SRTT_NS = 8_000
NIC = bytes(range(16))


def frame(opcode: int, qpn: int = 16, psn: int = 0, *, srh: bool = False) -> bytes:
    """The fields that a label reads, in their places."""
    extra = 24 if srh else 0
    text = bytearray(138 + extra)
    text[20] = 43 if srh else 41
    if srh:
        text[54], text[55] = 41, 2
    text[78 + extra : 94 + extra] = NIC
    text[102 + extra] = opcode
    text[107 + extra : 110 + extra] = qpn.to_bytes(3, "big")
    text[111 + extra : 114 + extra] = psn.to_bytes(3, "big")
    return bytes(text)


def data(psn: int, qpn: int = 16) -> bytes:
    return frame(0xC7, qpn, psn)


def losses() -> Losses:
    book = Losses(lambda key: SRTT_NS)
    book.begin(0, 1_000)
    return book


def test_labels_name_kind_and_flow_with_and_without_a_routing_header() -> None:
    for srh in (False, True):
        assert label(frame(0xC6, 17, 0xABCDEF, srh=srh)) == (DATA, NIC, 17, 0xABCDEF)
    assert [label(frame(op)).kind for op in (0xCB, 0xDC, 0xDD, 0xD1)] == [DATA] + [CONTROL] * 3
    assert [label(frame(op)).kind for op in (0xDE, 0xD8, 0xD9)] == [PROBE] * 3


def test_only_data_moves_the_last_packet_of_a_fault() -> None:
    book = losses()
    book.lost(2_000, data(1), "a-b", "link down", 0)
    book.lost(3_000, frame(0xDC), "a-b", "link down", 0)
    book.lost(4_000, frame(0xDE), "a-b", "link down", 0)
    fault = book.faults[0]
    assert fault.lost == [1, 1, 1]
    assert fault.last_data_ns == 2_000
    assert [book.total(kind) for kind in (DATA, CONTROL, PROBE)] == [1, 1, 1]


def test_each_flow_counts_from_its_own_first_loss() -> None:
    book = losses()
    for time_ns, qpn in ((2_000, 16), (5_000, 17), (6_000, 16), (9_000, 17)):
        book.lost(time_ns, data(time_ns, qpn), "a-b", "link down", 0)
    flows = book.faults[0].flows
    assert [(f.first_loss_ns, f.last_ns, f.srtt_ns) for f in flows.values()] == [
        (2_000, 6_000, SRTT_NS),
        (5_000, 9_000, SRTT_NS),
    ]


def test_a_fault_has_recovered_when_the_last_lost_psn_has_arrived() -> None:
    book = losses()
    book.lost(2_000, data(1), "a-b", "link down", 0)
    book.lost(2_100, data(2), "a-b", "link down", 0)
    book.arrived(7_000, data(2))
    assert book.awaiting
    book.arrived(9_000, data(1))
    assert not book.awaiting
    assert book.faults[0].recovered_ns == 9_000


def test_a_repetition_lost_after_its_original_arrived_is_not_awaited() -> None:
    book = losses()
    book.lost(2_000, data(1), "a-b", "link down", 0)
    book.arrived(3_000, data(1))
    book.lost(4_000, data(1), "a-b", "link down", 0)
    assert not book.awaiting
    assert book.faults[0].lost[DATA] == 2


def test_a_psn_lost_in_two_faults_recovers_both() -> None:
    book = losses()
    book.begin(1, 1_500)
    book.lost(2_000, data(1), "a-b", "link down", 0)
    book.lost(3_000, data(1), "c-d", "link silent", 1)
    book.arrived(8_000, data(1))
    assert [book.faults[i].recovered_ns for i in (0, 1)] == [8_000, 8_000]
