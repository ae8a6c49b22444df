# SPDX-License-Identifier: Apache-2.0
"""The receiving half of a queue pair: placement, SACKs and NACKs, immediates.

Payload goes to its address on arrival, in whatever order. What only the order decides (when a
WRITE_IMM completes) waits for cack. A duplicate is acknowledged again but not placed again: the
application may use the memory for something else by then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from endpoint.control_out import ControlOut
from endpoint.events import WorkOpcode, WorkStatus
from endpoint.memory import AccessViolation, MemoryTable
from endpoint.messages import nominal_size
from endpoint.sack_bitmap import WINDOW_PSNS, ReceiveBitmap
from endpoint.serial import ID_BITS, ID_MASK, PSN_MASK, distance, expand
from endpoint.stats import QpStats
from endpoint.wire import nack as nack_reasons
from endpoint.wire.aeth import SYNDROME_REMOTE_ACCESS_ERROR, Aeth
from endpoint.wire.frame import ParsedFrame
from endpoint.wire.nack import Nack
from endpoint.wire.opcodes import ENDS_MESSAGE
from endpoint.wire.sack import (
    MARK_ALWAYS_SKIP,
    MARK_NONE,
    MARK_SKIP_ONCE,
    MPR_UNIT_PSNS,
    Sack,
    rcvd_units,
)

SACK_EVERY_BYTES = 4096
LEAST_COUNTED_BYTES = 1024
_OFFSET_MIN, _OFFSET_MAX = -(1 << 15), (1 << 15) - 1

Receive = Callable[[int, WorkOpcode, WorkStatus, int, int | None, int], None]
"""Called with work request id, opcode, status, length in bytes, immediate value, time."""


@dataclass(frozen=True, slots=True)
class ResponderConfig:
    """`mpr_units`: how far beyond cack PSNs are taken, in units of 128 (1 to 255).

    `max_wimm`: WRITE_IMM messages kept while no receive is posted for them.
    `bitmap_psns`: how far beyond cack arrivals can be tracked (None: the whole MPR); what lies
    between it and the MPR is refused with NACK NO_BITMAP.
    """

    mpr_units: int = 8
    max_wimm: int = 16
    bitmap_psns: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.mpr_units <= 255:
            raise ValueError(f"responder: mpr_units {self.mpr_units} is outside 1..255")
        if self.max_wimm < 0:
            raise ValueError(f"responder: max_wimm {self.max_wimm} is negative")
        if self.bitmap_psns is not None and self.bitmap_psns < 1:
            raise ValueError(f"responder: bitmap_psns {self.bitmap_psns} is below 1")


class Responder:
    """The receive side. `first_psn` is the first PSN of the peer, as exchanged at connection."""

    def __init__(
        self,
        config: ResponderConfig,
        first_psn: int,
        memory: MemoryTable,
        out: ControlOut,
        stats: QpStats,
        complete: Receive,
    ) -> None:
        self.received = ReceiveBitmap(first_psn)
        self.violation = ""  # what the peer did that ends the queue pair
        self._mpr = config.mpr_units * MPR_UNIT_PSNS
        self._mpr_units = config.mpr_units
        self._max_wimm = config.max_wimm
        self._bitmap_psns = config.bitmap_psns
        self._tracked = config.bitmap_psns or self._mpr
        self.out_of_buffers = False
        """Set while the host has no room for packets: each new one is refused (NO_PKT_BUFFER)."""
        self._refused_evs: set[int] = set()
        self._memory = memory
        self._out = out
        self._stats = stats
        self._complete = complete
        self._receives: deque[int] = deque()
        self._ends: list[tuple[int, int, int | None]] = []  # heap of (last PSN, MSN, immediate)
        self._lengths: dict[int, int] = {}  # bytes so far, by MSN, of messages not ended
        self._ending: set[int] = set()  # MSNs whose last packet came before some other one
        self._waiting: deque[tuple[int, int]] = deque()  # ended, no receive: (length, immediate)
        self._finished = 0  # WRITE_IMM messages completed
        self._brake = 0  # rcv_cwnd_pen of every SACK
        self._restores = False  # whether the next SACK gives back what the brake took
        self._received_bytes = 0
        self._unacknowledged = 0

    def post_recv(self, wr_id: int, now_ns: int) -> None:
        """A receive for one WRITE_IMM; completes at once if one is waiting."""
        self._receives.append(wr_id)
        if self._waiting:
            self._finish(*self._waiting.popleft(), now_ns)

    # -- arrivals -------------------------------------------------------------------------------

    def on_trimmed(self, frame: ParsedFrame) -> None:
        """A cut data packet: its header names what to send again, and nothing else is believed."""
        self._stats.trimmed_received += 1
        last_hop = nack_reasons.TRIMMED_LASTHOP if frame.last_hop else nack_reasons.TRIMMED
        self._nack(frame, last_hop)

    def on_data(self, frame: ParsedFrame, now_ns: int) -> None:
        """A whole data packet whose ICRC is right."""
        stats = self._stats
        stats.data_received += 1
        marked = frame.is_marked
        if marked:
            stats.marked_received += 1
        if frame.is_trimmed:
            stats.whole_under_trimmed_dscp += 1
            marked = True
        received = self.received
        psn = expand(frame.psn, received.cack)
        if psn - received.cack > self._mpr:
            stats.out_of_window += 1
            self._nack(frame, nack_reasons.PSN_OOR_WINDOW)
            return
        if psn - received.cack > self._tracked:
            self._nack(frame, nack_reasons.NO_BITMAP)
            return
        if psn in received:
            stats.duplicates += 1
            self._sack(frame, psn, marked)
            return
        if self.out_of_buffers:
            self._nack(frame, nack_reasons.NO_PKT_BUFFER)
            return
        if ENDS_MESSAGE[frame.opcode] and frame.msn in self._ending:
            self.violation = f"message {frame.msn} has two ends"
            self._nack(frame, nack_reasons.UNEXP_EVENT)
            return
        imm = frame.imm
        if imm is not None and not self._has_place(frame.rqmsn):
            self._nack(frame, nack_reasons.NO_RESOURCE)
            return
        payload = frame.payload
        try:
            self._memory.write(frame.rkey, frame.va, payload)
        except AccessViolation:
            stats.access_errors += 1
            self.violation = "remote access refused"
            aeth = Aeth(SYNDROME_REMOTE_ACCESS_ERROR, frame.msn)
            self._out.send_acknowledge(aeth, frame.psn)
            return
        self._take(frame, psn, len(payload), now_ns)
        if marked or frame.rtx or frame.ack_request or self._unacknowledged >= SACK_EVERY_BYTES:
            self._sack(frame, psn, marked)

    def _has_place(self, rqmsn: int) -> bool:
        """Whether the WRITE_IMM that follows `rqmsn` others may be taken: places go by the order
        of sending, or early ones that came out of order would keep out the one they wait for."""
        ahead = distance(rqmsn, self._finished & ID_MASK, ID_BITS)
        return ahead < len(self._receives) + self._max_wimm

    def _take(self, frame: ParsedFrame, psn: int, length: int, now_ns: int) -> None:
        self._stats.data_bytes_received += length
        imm, msn = frame.imm, frame.msn
        self._received_bytes += nominal_size(
            length, frame.tx_timestamp is not None, imm is not None
        )
        self._unacknowledged += max(length, LEAST_COUNTED_BYTES)
        lengths = self._lengths
        lengths[msn] = lengths.get(msn, 0) + length
        if ENDS_MESSAGE[frame.opcode]:
            heappush(self._ends, (psn, msn, imm))
            self._ending.add(msn)
        if self.received.add(psn):
            ends = self._ends
            while ends and ends[0][0] <= self.received.cack:
                _, msn, imm = heappop(ends)
                self._ending.discard(msn)
                total = lengths.pop(msn)
                if imm is not None:
                    self._arrived(total, imm, now_ns)

    def _arrived(self, length: int, imm: int, now_ns: int) -> None:
        """cack has reached the last packet of a WRITE_IMM: all before it is in place."""
        if self._receives:
            self._finish(length, imm, now_ns)
        else:
            self._waiting.append((length, imm))

    def _finish(self, length: int, imm: int, now_ns: int) -> None:
        self._finished += 1
        self._complete(
            self._receives.popleft(),
            WorkOpcode.RECV_WRITE_IMM,
            WorkStatus.SUCCESS,
            length,
            imm,
            now_ns,
        )

    # -- answers --------------------------------------------------------------------------------

    def on_probe(self, probe_id: int, ev: int, marked: bool, tick: int) -> None:
        """A Reliability Probe: a SACK for each 64 PSNs from cack + 1 to the newest."""
        self._stats.probes_received += 1
        for base_offset, bitmap in self.received.windows(self._mpr // WINDOW_PSNS):
            self._send_sack(ev, tick, base_offset, bitmap, marked=marked, probe_id=probe_id)

    def _sack(self, frame: ParsedFrame, psn: int, marked: bool) -> None:
        self._unacknowledged = 0
        base_offset, bitmap = self.received.window(psn, slide=not frame.rtx)
        cause = psn - self.received.cack
        ev = frame.ev
        if not _OFFSET_MIN <= cause <= _OFFSET_MAX:
            cause = 0  # so far behind that it cannot be named; names cack, which it is not
        self._send_sack(
            ev, frame.tx_timestamp or 0, base_offset, bitmap, marked=marked, cause=cause,
        )  # fmt: skip

    def _send_sack(
        self,
        ev: int,
        tick: int,
        base_offset: int,
        bitmap: int,
        *,
        marked: bool,
        cause: int = 0,
        probe_id: int | None = None,
    ) -> None:
        self._stats.sacks_sent += 1
        received = self.received
        mark = MARK_SKIP_ONCE if marked else MARK_NONE
        if ev in self._refused_evs:
            mark = MARK_ALWAYS_SKIP
        sack = Sack(
            cack_psn=received.cack & PSN_MASK,
            ev=ev,
            ack_psn_offset=cause,
            sack_offset=base_offset,
            bitmap=bitmap,
            mark=mark,
            probe_id=probe_id,
            mpr_units=self._mpr_units,
            tx_timestamp=tick,
            ooo_count=min(received.out_of_order, 0x7FFF),
            rcvd_units=rcvd_units(self._received_bytes),
            rcv_cwnd_pen=self._brake,
            restore_cwnd=self._restores,
        )
        self._restores = False
        self._out.send_sack(sack)

    def set_mpr(self, units: int) -> None:
        """Another window, in units of 128 PSNs (1 to 255), told by every SACK from now on (dynamic
        MPR). What the peer has sent beyond a smaller one is refused, and comes again."""
        if not 1 <= units <= 255:
            raise ValueError(f"responder: mpr_units {units} is outside 1..255")
        self._mpr_units, self._mpr = units, units * MPR_UNIT_PSNS
        self._tracked = self._bitmap_psns or self._mpr

    def refuse_ev(self, ev: int, refused: bool = True) -> None:
        """The operator's word on the receiving side: every SACK that echoes `ev` (32 bits) says
        ALWAYS_SKIP from now on, or no longer."""
        if refused:
            self._refused_evs.add(ev)
        else:
            self._refused_evs.discard(ev)

    def set_brake(self, penalty: int) -> None:
        """Asks the peer for less (rcv_cwnd_pen): every SACK from now on takes `penalty` / 128 of
        the bytes that it newly counts off the peer's window. 0 releases the brake, and the next
        SACK gives back what it took (restore_cwnd). ValueError outside 0..127."""
        if not 0 <= penalty <= 127:
            raise ValueError(f"responder: brake {penalty} is outside 0..127")
        self._restores = bool(self._brake) and not penalty
        self._brake = penalty

    def _nack(self, frame: ParsedFrame, reason: int) -> None:
        self._stats.nacks_sent += 1
        self._out.send_nack(Nack(frame.psn, reason, frame.ev, frame.tx_timestamp or 0))

    def flush(self, now_ns: int) -> None:
        """Completes every posted receive as flushed, in the order of posting."""
        while self._receives:
            self._complete(
                self._receives.popleft(),
                WorkOpcode.RECV_WRITE_IMM,
                WorkStatus.FLUSHED,
                0,
                None,
                now_ns,
            )
