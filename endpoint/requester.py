# SPDX-License-Identifier: Apache-2.0
"""The sending half of a queue pair: messages to packets, what SACKs and NACKs settle, retries.

Nothing here acts by itself: it is fed and asked. Which PSNs are settled is kept in
`endpoint.scoreboard`, which transmissions are lost is found by `endpoint.loss`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from endpoint.congestion import CongestionControl
from endpoint.events import WorkOpcode, WorkStatus
from endpoint.loss import Fate, LossRule, Transmission
from endpoint.messages import Message, nominal_size
from endpoint.paths import Paths
from endpoint.retry_timer import RetryPolicy
from endpoint.rtt import RttEstimator
from endpoint.scoreboard import Scoreboard
from endpoint.serial import PSN_MASK, expand
from endpoint.stats import QpStats
from endpoint.wire import nack as nack_reasons
from endpoint.wire import sack as sack_marks
from endpoint.wire.bth import FLAG_ACK_REQUEST, FLAG_RTX
from endpoint.wire.nack import Nack
from endpoint.wire.sack import Sack
from endpoint.wire.tseth import ticks

Complete = Callable[[int, WorkOpcode, WorkStatus, int, int], None]
"""Called with work request id, opcode, status, length in bytes, time."""


@dataclass(frozen=True, slots=True)
class RequesterConfig:
    """`mtu` is payload bytes; frames up to `trim_length` bytes are never cut; `mpr` is how many
    PSNs beyond cack the peer takes, until its SACKs say otherwise with `dynamic_mpr`."""

    mtu: int
    trim_length: int
    mpr: int
    retry: RetryPolicy
    dynamic_mpr: bool = True

    def __post_init__(self) -> None:
        if self.mpr < 1:
            raise ValueError(f"requester: with a window of {self.mpr} PSNs nothing can be sent")


class Requester:
    """The send queue of one queue pair. Nothing here acts by itself: it is fed and asked."""

    def __init__(
        self,
        config: RequesterConfig,
        first_psn: int,
        congestion: CongestionControl,
        rtt: RttEstimator,
        paths: Paths,
        stats: QpStats,
        complete: Complete,
    ) -> None:
        self.config = config
        self.congestion = congestion
        self.rtt = rtt
        self.paths = paths
        self.stats = stats
        self.board = Scoreboard(first_psn, self._settled)
        self.loss = self.board.loss
        self.failure: WorkStatus | None = None
        self.failed_psn: int | None = None
        self.pathless = False  # set by the owner while no path can be used
        self._complete = complete
        self._mpr = config.mpr
        self._next_psn = first_psn
        self._post_psn = first_psn
        self._msn = 0
        self._rqmsn = 0
        self._messages: deque[Message] = deque()  # not completed, in posting order
        self._unsent: deque[Message] = deque()  # with packets never sent
        self._again: list[int] = []  # heap of PSNs to retransmit; settled ones are skipped
        self._later: list[tuple[int, int]] = []  # heap of (time, PSN)
        self._order = 0
        self._retries = 0
        self._progress_ns = 0
        self._next_probe_ns = 0

    # -- what to send ---------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether any posted work request is not completed."""
        return bool(self._messages)

    def post(
        self, wr_id: int, data: memoryview, va: int, rkey: int, imm: int | None, now_ns: int
    ) -> None:
        """Queues a WRITE (`imm` None) or WRITE_IMM; ValueError for what cannot be sent."""
        message = Message(
            wr_id, data, va, rkey, imm, self.config.mtu, self._post_psn,
            self._msn & 0xFFFF, self._rqmsn & 0xFFFF,
        )  # fmt: skip
        if not self._messages:
            self._progress_ns = now_ns
        self._messages.append(message)
        self._unsent.append(message)
        self._post_psn = message.last_psn + 1
        self._msn += 1
        self._rqmsn += imm is not None

    def next_avoids(self, now_ns: int) -> int | None:
        """None when nothing may go now; otherwise the EV that the next packet must not take.

        0 is no EV of any path, and stands for "any will do".
        """
        if self._later:
            self._release(now_ns)
        prior = self._next_again()
        if prior is not None:
            return prior.ev if self.congestion.can_send(self.board.inflight, prior.size) else None
        if not self._unsent or self._next_psn > self.board.cack + self._mpr:
            return None
        message = self._unsent[0]
        payload = message.payload_length(self._next_psn)
        size = nominal_size(payload, True, message.imm is not None)
        return 0 if self.congestion.can_send(self.board.inflight, size) else None

    def transmit(self, ev: int, now_ns: int) -> bytes:
        """The next packet, on `ev`; only right after `next_avoids` said that one may go."""
        prior = self._next_again()
        if prior is not None:
            heappop(self._again)
            psn, message, flags = prior.psn, prior.message, FLAG_RTX | FLAG_ACK_REQUEST
            self.board.sent_again(psn)
            self.stats.retransmitted += 1
        else:
            psn, message, flags = self._next_psn, self._unsent[0], 0
            self._next_psn += 1
            if psn == message.last_psn:
                self._unsent.popleft()
                flags = FLAG_ACK_REQUEST
        payload = message.payload_length(psn)
        imm = message.imm if psn == message.last_psn else None
        size = nominal_size(payload, True, imm is not None)
        self._order += 1
        tick = ticks(now_ns)
        self.loss.sent(
            Transmission(
                psn, message, ev, now_ns, self._order, size, tick,
                size + _OUTER_BYTES > self.config.trim_length, prior,
            )
        )  # fmt: skip
        if not flags and self.next_avoids(now_ns) is None:
            flags = FLAG_ACK_REQUEST
        self.stats.data_sent += 1
        if prior is None:
            self.stats.data_bytes_sent += payload
        offset = (psn - message.first_psn) * message.mtu
        return self.paths.template(ev).build(
            message.opcode(psn), psn & PSN_MASK, flags, message.va + offset, message.rkey,
            message.msn, message.rqmsn, message.data[offset : offset + payload], imm, tick,
        )  # fmt: skip

    def _next_again(self) -> Transmission | None:
        again = self._again
        while again:
            latest = self.loss.current.get(again[0])
            if latest is not None and latest.fate is not Fate.IN_FLIGHT:
                return latest
            heappop(again)
        return None

    def _release(self, now_ns: int) -> None:
        while self._later and self._later[0][0] <= now_ns:
            heappush(self._again, heappop(self._later)[1])

    # -- what came back -------------------------------------------------------------------------

    def on_sack(self, sack: Sack, now_ns: int, probe_order: int = 0) -> None:
        """Takes one SACK; bits for PSNs never sent, and a cack beyond them, are ignored.

        `probe_order` is what `probe_sent` returned for the probe that it answers, 0 when that is
        not known: then its gaps tell nothing.
        """
        cack = expand(sack.cack_psn, self.board.cack)
        if cack >= self._next_psn:
            return
        self.stats.sacks_received += 1
        if sack.mpr_units and self.config.dynamic_mpr:
            self._mpr = sack.mpr_units * sack_marks.MPR_UNIT_PSNS
        lost: list[Transmission] = []
        board = self.board
        before = board.acked_bytes
        rtt_ns = exact = cause = None
        if sack.probe_id is not None:
            cause_order = probe_order
        else:
            cause = cack + sack.ack_psn_offset
            exact = self.loss.find(cause, sack.ev, sack.tx_timestamp)
            cause_order = 0
            if exact is not None:
                cause_order = exact.order
                rtt_ns = now_ns - exact.sent_ns
                self.rtt.add(rtt_ns)
                self.paths.delivered(exact.ev)
            else:
                cause = None
        if board.is_older(sack.rcvd_units):
            cause_order = 0
        # The cause comes last: a SACK may have overtaken those of packets that arrived before it
        # on the same path, and must not let rule (a) find them lost while it says they are there.
        board.advance(cack, now_ns, lost, cause)
        answers_probe = sack.probe_id is not None
        if sack.bitmap or answers_probe:
            board.take_bitmap(
                sack.bitmap, cack + sack.sack_offset, self._next_psn, cause_order, now_ns, lost,
                cause, answers_probe=answers_probe,
            )  # fmt: skip
        if cause is not None:
            board.settle(cause, exact, now_ns)
        board.overtaken(lost)
        received = board.take_received(sack.rcvd_units)
        acked = board.acked_bytes - before
        if acked:
            self._retries = 0
            self._progress_ns = now_ns
        marked = sack.mark == sack_marks.MARK_SKIP_ONCE
        self.congestion.on_ack(
            now_ns, acked, received, rtt_ns, marked, sack.rcv_cwnd_pen, sack.restore_cwnd,
            board.inflight,
        )  # fmt: skip
        if marked:
            self.paths.congested(sack.ev, now_ns)
        elif sack.mark == sack_marks.MARK_ALWAYS_SKIP:
            self.paths.always_skip(sack.ev, now_ns)
        self.loss.overdue(now_ns, self.rtt.loss_delay_ns, lost)
        if lost:
            self._take_lost(lost, now_ns)
        if not self._messages:
            self.loss.forget()

    def _settled(self, latest: Transmission, now_ns: int) -> None:
        if latest.fate is Fate.LOST:
            self.stats.late_acknowledged += 1
        self.stats.acknowledged += 1
        message = latest.message
        message.unacked -= 1
        if not message.unacked and message is self._messages[0]:
            self._complete_head(now_ns)

    def _complete_head(self, now_ns: int) -> None:
        """Completions come in the order of posting, so an early one waits for those before it."""
        messages = self._messages
        while messages and not messages[0].unacked:
            done = messages.popleft()
            opcode = WorkOpcode.WRITE if done.imm is None else WorkOpcode.WRITE_IMM
            self._complete(done.wr_id, opcode, WorkStatus.SUCCESS, done.length, now_ns)

    def _take_lost(self, lost: list[Transmission], now_ns: int) -> None:
        stats = self.stats
        for transmission in lost:
            rule = transmission.rule
            assert rule is not None
            stats.lost += 1
            if rule is LossRule.SAME_PATH:
                stats.lost_same_path += 1
            elif rule is LossRule.TIME:
                stats.lost_by_time += 1
            else:
                stats.lost_by_timer += 1
            heappush(self._again, transmission.psn)
            self.paths.lost(transmission.ev, rule, transmission.sent_ns, now_ns)
            if rule is not LossRule.TIMER:
                self.congestion.on_loss(now_ns, transmission.size)

    def on_nack(self, nack: Nack, now_ns: int) -> None:
        """Takes one NACK; one for a transmission that is not in flight is ignored."""
        stats = self.stats
        stats.nacks_received += 1
        psn = expand(nack.nack_psn, self.board.cack)
        transmission = self.loss.find(psn, nack.ev, nack.tx_timestamp)
        if transmission is None or not self.loss.settle_nacked(transmission):
            stats.nacks_ignored += 1
            return
        self._progress_ns = now_ns
        reason = nack.reason
        if reason == nack_reasons.UNEXP_EVENT:
            self.fail(WorkStatus.FATAL_NACK, psn)
        elif reason == nack_reasons.TRIMMED:
            stats.nacks_trimmed += 1
            self.congestion.on_nack(now_ns, transmission.size, False, self.board.inflight)
            self.paths.congested(transmission.ev, now_ns)
            heappush(self._again, psn)
        elif reason == nack_reasons.TRIMMED_LASTHOP:
            stats.nacks_trimmed_last_hop += 1
            self.congestion.on_nack(now_ns, transmission.size, True, self.board.inflight)
            self.paths.trimmed_last_hop(transmission.ev, now_ns)
            heappush(self._again, psn)
        else:
            heappush(self._later, (now_ns + self.rtt.loss_delay_ns, psn))

    # -- probes, time, failure ------------------------------------------------------------------

    def probe_avoids(self, now_ns: int) -> int | None:
        """The EV whose plane a probe must keep off, when rule (b) or the tail asks for one now."""
        if now_ns < self._next_probe_ns:
            return None
        if not self.loss.uncovered:
            tail_ns = self.loss.tail_due_ns(self.rtt.loss_delay_ns)
            if tail_ns is None or now_ns < tail_ns:
                return None
        oldest = self.loss.oldest()
        if oldest is None:
            return None
        self._next_probe_ns = now_ns + self.rtt.loss_delay_ns
        return oldest.ev

    def probe_sent(self) -> int:
        """A Reliability Probe goes out now; its place in the order of all sendings."""
        self._order += 1
        return self._order

    def probe_pace_ns(self, silent_ns: int) -> int:
        """The round trip by which paths are probed: the smoothed one, or, while the timer fires
        without progress, a sixteenth of the timer, so that silence is not met with a flood; but
        no more than a sixteenth of `silent_ns`, the time since a port came up."""
        if not self._retries:
            return self.rtt.smoothed_ns
        interval = self.config.retry.interval_ns(self._retries, self.rtt.loss_delay_ns)
        return max(self.rtt.smoothed_ns, min(interval, silent_ns) // 16)

    def next_timer_ns(self) -> int | None:
        """When `on_timer` has something to do, if ever."""
        if not self._messages:
            return None
        due = self._expiry_ns()
        for other in (
            self.loss.next_due_ns(self.rtt.loss_delay_ns),
            self._later[0][0] if self._later else None,
            self._next_cover_ns(),
        ):
            if other is not None and (due is None or other < due):
                due = other
        return due

    def _next_cover_ns(self) -> int | None:
        """When `probe_avoids` will ask for a probe."""
        if self.loss.uncovered:
            return self._next_probe_ns
        tail_ns = self.loss.tail_due_ns(self.rtt.loss_delay_ns)
        return None if tail_ns is None else max(tail_ns, self._next_probe_ns)

    def _expiry_ns(self) -> int | None:
        oldest = self.loss.oldest()
        if oldest is None and not self.pathless:
            return None
        start = self._progress_ns
        if oldest is not None and oldest.sent_ns > start:
            start = oldest.sent_ns
        return start + self.config.retry.interval_ns(self._retries, self.rtt.loss_delay_ns)

    def on_timer(self, now_ns: int) -> None:
        """Rule (b) by time, packets that waited, and the retransmission timer."""
        if not self._messages:
            return
        lost: list[Transmission] = []
        self.loss.overdue(now_ns, self.rtt.loss_delay_ns, lost)
        self._release(now_ns)
        expiry = self._expiry_ns()
        if expiry is not None and expiry <= now_ns:
            if self.config.retry.exhausted(self._retries):
                self.fail(WorkStatus.RETRY_EXCEEDED, self.board.cack + 1)
                return
            self._retries += 1
            self._progress_ns = now_ns
            self.stats.timeouts += 1
            expired = self.loss.expire(now_ns - self.rtt.loss_delay_ns)
            lost += expired
            self.congestion.on_timeout(now_ns, sum(gone.size for gone in expired))
        if lost:
            self._take_lost(lost, now_ns)

    def fail(self, status: WorkStatus, psn: int) -> None:
        """Notes why the queue pair must go to ERROR; the owner reads `failure` and flushes."""
        if self.failure is None:
            self.failure = status
            self.failed_psn = psn

    def flush(self, now_ns: int) -> None:
        """Completes every work request with an error: the failed one with its cause, the others
        as flushed, in the order of posting."""
        for message in self._messages:
            status = WorkStatus.FLUSHED
            failed = self.failed_psn
            if failed is not None and message.first_psn <= failed <= message.last_psn:
                status = self.failure or status
            opcode = WorkOpcode.WRITE if message.imm is None else WorkOpcode.WRITE_IMM
            self._complete(message.wr_id, opcode, status, 0, now_ns)
        self._messages.clear()
        self._unsent.clear()
        self._again.clear()
        self._later.clear()
        self.board = Scoreboard(self._next_psn, self._settled)
        self.loss = self.board.loss


_OUTER_BYTES = 14 + 40  # Ethernet and outer IPv6
