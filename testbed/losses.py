# SPDX-License-Identifier: Apache-2.0
"""What each fault swallowed: how much, when last, and when all of it had been placed after all."""

from __future__ import annotations

from collections.abc import Callable

from testbed.frames import CONTROL, DATA, Label, label

FlowKey = tuple[bytes, int]
"""Destination address and QP number: a flow, as a frame on the wire names it."""


class FlowTally:
    """One flow in one fault."""

    __slots__ = ("first_loss_ns", "into", "last_ns", "lost", "srtt_ns")

    def __init__(self) -> None:
        self.into = 0
        self.lost = 0
        self.first_loss_ns = -1
        self.last_ns = 0
        self.srtt_ns = 0


class FaultTally:
    """One occurrence of a fault. ``flows`` keeps the order of first contact."""

    __slots__ = (
        "begin_ns",
        "data_into",
        "flows",
        "last_data_ns",
        "lost",
        "open",
        "recovered_ns",
    )

    def __init__(self, begin_ns: int) -> None:
        self.begin_ns = begin_ns
        self.data_into = 0
        self.lost = [0, 0, 0]  # by kind
        self.last_data_ns: int | None = None
        self.flows: dict[FlowKey, FlowTally] = {}
        self.open: set[Label] = set()
        self.recovered_ns: int | None = None


class Losses:
    """All losses of a run, by place and by fault.

    ``srtt_of`` gives the sender's smoothed round trip of a flow in ns; it is asked at a flow's
    first loss in a fault.
    """

    def __init__(self, srtt_of: Callable[[FlowKey], int]) -> None:
        self.by_place: dict[tuple[str, str], list[int]] = {}
        self.faults: dict[int, FaultTally] = {}
        self.awaiting: dict[Label, list[FaultTally]] = {}
        """Data packets lost and not seen at their destination since."""
        self._srtt_of = srtt_of

    def begin(self, occurrence: int, now: int) -> None:
        """A fault begins; its losses are charged to ``occurrence`` from now on."""
        self.faults[occurrence] = FaultTally(now)

    def lost(self, time_ns: int, frame: bytes, place: str, cause: str, occurrence: int) -> None:
        """A frame that was sent at ``time_ns`` has vanished."""
        tag = label(frame)
        kind = tag.kind
        self.by_place.setdefault((place, cause), [0, 0, 0])[kind] += 1
        fault = self.faults[occurrence]
        fault.lost[kind] += 1
        if kind != DATA:
            return
        flow = self._into(fault, tag, time_ns)
        flow.lost += 1
        if flow.first_loss_ns < 0:
            flow.first_loss_ns = max(time_ns, fault.begin_ns)
            flow.srtt_ns = self._srtt_of(tag[1:3])
        if tag not in fault.open:
            fault.open.add(tag)
            self.awaiting.setdefault(tag, []).append(fault)

    def passed(self, time_ns: int, frame: bytes, occurrence: int) -> None:
        """A frame went into a fault that only takes a share, and got through."""
        tag = label(frame)
        if tag.kind == DATA:
            self._into(self.faults[occurrence], tag, time_ns)

    def arrived(self, now: int, frame: bytes) -> None:
        """A whole data frame reached its host; call only while something is `awaiting`."""
        for fault in self.awaiting.pop(label(frame), ()):
            fault.recovered_ns = now
        # `open` keeps the label: losing the same PSN again must not make it awaited for ever
        # when the earlier copy has been placed.

    @staticmethod
    def _into(fault: FaultTally, tag: Label, time_ns: int) -> FlowTally:
        fault.data_into += 1
        # What was in flight when the fault began was sent before it: it counts at its begin.
        when = max(time_ns, fault.begin_ns)
        if fault.last_data_ns is None or when > fault.last_data_ns:
            fault.last_data_ns = when
        flow = fault.flows.get(tag[1:3])
        if flow is None:
            flow = fault.flows[tag[1:3]] = FlowTally()
        flow.into += 1
        flow.last_ns = max(flow.last_ns, when)
        return flow

    def unrecovered(self, occurrence: int) -> int:
        """Data packets of a fault that were never seen at their destination afterwards."""
        fault = self.faults[occurrence]
        return sum(1 for waiting in self.awaiting.values() for f in waiting if f is fault)

    def total(self, kind: int) -> int:
        """Frames of one kind lost anywhere."""
        return sum(counts[kind] for counts in self.by_place.values())


__all__ = ["CONTROL", "DATA", "FaultTally", "FlowKey", "FlowTally", "Losses"]
