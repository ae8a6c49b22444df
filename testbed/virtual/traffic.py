# SPDX-License-Identifier: Apache-2.0
"""Carries out workload plans in the virtual world, and compares every byte.

A message's source is a slice of the seeded pool. Its destination is a slot of the flow's region;
it is compared with its source when the sender's completion says that all of it was acknowledged,
and once more at the end of the run, if nothing newer was written there meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from endpoint.events import Completion, WorkStatus
from endpoint.memory import MemoryRegion
from endpoint.queue_pair import QueuePair
from testbed.virtual.host import HostNode
from testbed.workload import FlowPlan, MessageData

_OWN_SLOTS_UP_TO_BYTES = 64 << 20


@dataclass(slots=True)
class Flow:
    """One QP at work: its two ends, its memory at the destination, and its record."""

    index: int
    name: str
    group: str
    sender: HostNode
    receiver: HostNode
    sender_qp: QueuePair
    receiver_qp: QueuePair
    region: MemoryRegion
    posted: int = 0
    bytes_posted: int = 0
    bytes_verified: int = 0
    bytes_wrong: int = 0
    completion_ns: list[int] = field(default_factory=list)
    error: str | None = None
    first_posted_ns: int = 0
    last_posted_ns: int = 0

    @property
    def open(self) -> bool:
        """Whether a posted message has neither completed nor failed."""
        return self.error is None and len(self.completion_ns) < self.posted

    @property
    def srtt_ns(self) -> int:
        """Smoothed round trip as the sender has measured it."""
        return self.sender_qp.rtt.smoothed_ns

    def note_post(self, length: int, now: int) -> None:
        """A message of ``length`` bytes was posted."""
        if not self.posted:
            self.first_posted_ns = now
        self.posted += 1
        self.bytes_posted += length
        self.last_posted_ns = now

    def check(self, sent: memoryview, offset: int) -> bool:
        """Whether the destination holds these bytes at this offset of its region."""
        # Memoryviews compare item by item; bytes compare as memory does.
        return bytes(self.region.buffer[offset : offset + len(sent)]) == bytes(sent)


class FlowTraffic:
    """Posts the messages of one `FlowPlan` and verifies them."""

    def __init__(self, plan: FlowPlan, flow: Flow, data: MessageData, slots: int) -> None:
        self.plan = plan
        self.flow = flow
        self._data = data
        self._slots = slots
        self._last_in_slot: dict[int, int] = {}
        self._posted_ns: dict[int, int] = {}

    @staticmethod
    def slots_for(plan: FlowPlan) -> int:
        """Slots of the destination region: one a message, or a ring when that is too much."""
        ring = 2 * plan.in_flight
        if plan.messages is None:
            return ring
        if plan.total_bytes is not None:
            return plan.messages  # a file is wanted whole at its destination
        fits = plan.messages * plan.message_bytes <= _OWN_SLOTS_UP_TO_BYTES
        return plan.messages if fits else min(ring, plan.messages)

    def start(self, now: int) -> None:
        """Post the first messages."""
        for _ in range(self.plan.in_flight):
            self._post(now)

    def _post(self, now: int) -> None:
        plan, flow = self.plan, self.flow
        number = flow.posted
        if flow.error is not None:
            return
        if plan.messages is not None and number >= plan.messages:
            return
        if plan.until_ns is not None and now >= plan.until_ns:
            return
        data = self._message(number)
        slot = number % self._slots
        if plan.immediate:
            flow.receiver_qp.post_recv(number)
        flow.sender_qp.post_write(
            number,
            data,
            flow.region.va + slot * plan.message_bytes,
            flow.region.rkey,
            imm=number if plan.immediate else None,
            now_ns=now,
        )
        flow.note_post(len(data), now)
        self._posted_ns[number] = now
        self._last_in_slot[slot] = number

    def sent(self, completion: Completion, now: int) -> None:
        """A message has been acknowledged whole, or has failed."""
        flow = self.flow
        if completion.status is not WorkStatus.SUCCESS:
            flow.error = flow.error or completion.status.value
            return
        number = completion.wr_id
        flow.completion_ns.append(now - self._posted_ns.pop(number))
        length = self.plan.length(number)
        if self._verify(number):
            flow.bytes_verified += length
        else:
            flow.bytes_wrong += length
        self._post(now)

    def received(self, completion: Completion, now: int) -> None:
        """The receiver's completion of a WRITE_IMM: its immediate names the message."""
        if completion.status is WorkStatus.SUCCESS and completion.imm != completion.wr_id:
            self.flow.bytes_wrong += self.plan.message_bytes

    def _message(self, number: int) -> memoryview:
        plan = self.plan
        start = number * plan.message_bytes
        return self._data.message(self.flow.index, number, start, plan.length(number))

    def _verify(self, number: int) -> bool:
        return self.flow.check(
            self._message(number), (number % self._slots) * self.plan.message_bytes
        )

    def finish(self) -> None:
        """Compare the newest message of every slot once more: nothing may have touched it."""
        for number in self._last_in_slot.values():
            if number not in self._posted_ns and not self._verify(number):
                self.flow.bytes_wrong += self.plan.length(number)
                self.flow.bytes_verified -= self.plan.length(number)

    @property
    def done(self) -> bool:
        """Whether nothing is open and nothing more will be posted."""
        flow, plan = self.flow, self.plan
        if flow.error is not None:
            return True
        if flow.open or not flow.posted:
            return False
        return plan.messages is None or flow.posted == plan.messages
