# SPDX-License-Identifier: Apache-2.0
"""NSCC (`uet-1.0-nscc`): marks and queueing delay together move one window for all paths.

| mark | delay of the packet | window |
|---|---|---|
| no | below the target | grows, the more the shorter the queue |
| no | at or above | grows by a fair share |
| yes | at or above | shrinks by the mean delay's excess, at most once a base round trip |
| yes | below | holds: one path is hot, which is a matter of path choice |

Source: Ultra Ethernet 1.0, section 3.6.13.

**decision** `silent_last_hop` (on by default). Here the last hop never marks, while every other
hop marks from well below the target delay on. A packet that comes late and unmarked has thus
waited at the last hop, most likely, and by the table alone nothing but trims would ever stop the
senders of an incast. So it also causes the decrease that a mark would have caused. Two things
follow, since this signal reaches all senders with every packet, not some of them now and then:
the fair share is a fifth, and the mean delay spans no more than a window. `docs/congestion.md`
has the measurements with and without.
"""

from endpoint.congestion.interface import CongestionControl, CongestionParameters
from endpoint.congestion.nscc_config import NsccConfig, resolve


class NsccControl(CongestionControl):
    """One queue pair's NSCC. `values` are its settings, `mean_delay_ns` its mean queueing delay."""

    def __init__(self, parameters: CongestionParameters, config: NsccConfig | None = None) -> None:
        super().__init__(parameters)
        self.values = resolve(parameters, config)
        self.window = self.values.max_cwnd
        self.mean_delay_ns = 0.0
        self._growth = 0.0  # window × bytes to add, until the next adjustment
        self._received = 0  # bytes since the last adjustment
        self._adjusted_ns = 0
        self._decreased_ns = -(1 << 62)
        self._empty_bytes = 0  # received in a row over paths without queues
        self._fast = False
        self._achieved = 0  # bytes received in this period of quick-adapt
        self._period_end_ns: int | None = None
        self._trimmed = False
        self._ignore = 0  # bytes of news that tell of the time before quick-adapt
        self._braked = 0  # bytes that the receiver's brake has taken off

    # -- what came back -------------------------------------------------------------------------

    def on_ack(
        self,
        now_ns: int,
        acked: int,
        received: int,
        rtt_ns: int | None,
        marked: bool,
        penalty: int,
        restore: bool,
        inflight: int = 0,
    ) -> None:
        if penalty or restore:
            self._brake(received, penalty, restore)
        delay = self.mean_delay_ns
        if rtt_ns is not None:
            delay = float(max(0, rtt_ns - self.values.peer_rtt))
            self._average(delay)
        self._achieved += received
        values = self.values
        bad = marked or (values.silent_last_hop and delay >= values.target_delay)
        if self._old_news(received, bad) or self._quick_adapt(now_ns, delay, False, inflight):
            self._growth = 0.0
            self._received = 0
            return
        self._received += received
        self._steer(now_ns, delay, received, marked)
        self._adjust(now_ns)

    def on_nack(self, now_ns: int, size: int, last_hop: bool, inflight: int = 0) -> None:
        # A queue at its trim threshold holds about a bandwidth-delay product.
        self._average(float(self.values.base_rtt))
        self._trimmed = True
        if not (self._old_news(size, True) or self._quick_adapt(now_ns, 0.0, True, inflight)):
            self._set(self.window - size)

    def on_loss(self, now_ns: int, size: int) -> None:
        self._set(self.window - size)

    def on_timeout(self, now_ns: int, lost: int = 0) -> None:
        self._set(self.window - lost)

    # -- the window -----------------------------------------------------------------------------

    def _steer(self, now_ns: int, delay: float, received: int, marked: bool) -> None:
        values = self.values
        if delay < values.target_delay:
            if not marked:
                self._grow_in_proportion(delay, received)
            return
        self._fast = False
        self._empty_bytes = 0
        if not marked:
            self._growth += values.fair * received
        if marked or values.silent_last_hop:
            self._decrease(now_ns)

    def _grow_in_proportion(self, delay: float, received: int) -> None:
        values = self.values
        if delay < values.empty_delay:
            self._empty_bytes += received
            self._fast = self._fast or self._empty_bytes > self.window
        else:
            self._empty_bytes = 0
            self._fast = False
        if self._fast:
            self._set(self.window + int(received * values.fi_scale))
        else:
            self._growth += values.alpha * received * (values.target_delay - delay)

    def _decrease(self, now_ns: int) -> None:
        values, mean = self.values, self.mean_delay_ns
        if mean <= values.target_delay or now_ns - self._decreased_ns <= values.base_rtt:
            return
        self._decreased_ns = now_ns
        factor = 1 - values.gamma * (mean - values.target_delay) / mean
        self._set(int(self.window * max(factor, values.max_md_jump)))

    def _adjust(self, now_ns: int) -> None:
        """Applies what growth has gathered, after so many bytes or so long."""
        values = self.values
        due = now_ns - self._adjusted_ns >= values.adjust_period_threshold
        if not due and self._received <= values.adjust_bytes_threshold:
            return
        added = self._growth / self.window
        if due:
            added += values.eta
            self._adjusted_ns = now_ns
        self._growth = 0.0
        self._received = 0
        self._set(self.window + int(added))

    def _set(self, window: int) -> None:
        self.window = max(self.values.min_cwnd, min(window, self.values.max_cwnd))

    def _average(self, delay: float) -> None:
        values = self.values
        weight = values.delay_weight
        if values.silent_last_hop:
            weight = max(weight, values.min_cwnd / self.window)
        self.mean_delay_ns += (delay - self.mean_delay_ns) * weight

    # -- quick-adapt ----------------------------------------------------------------------------

    def _old_news(self, size: int, bad: bool) -> bool:
        """Whether this tells of packets that were sent before the last quick-adapt: what is bad
        of them has been answered already."""
        if self._ignore <= 0:
            return False
        self._ignore -= size
        return bad

    def _quick_adapt(self, now_ns: int, delay: float, trimmed: bool, inflight: int) -> bool:
        """At the end of a loaded round trip: the window becomes what was delivered in it, if it
        saw a trim or a very long queue, and so little got through that nothing else would do."""
        values = self.values
        if values.disable_qa:
            return False
        if self._period_end_ns is not None and now_ns <= self._period_end_ns:
            return False
        adapted = False
        if self._period_end_ns is not None:
            called_for = self._trimmed or trimmed or delay > values.qa_threshold
            if called_for and self._achieved < values.max_cwnd >> values.qa_gate:
                self._set(min(self.window, self._achieved))
                self._ignore = inflight
                self._trimmed = False
                adapted = True
        self._achieved = 0
        self._trimmed = False
        self._period_end_ns = now_ns + values.base_rtt + values.target_delay
        return adapted

    # -- the receiver's brake -------------------------------------------------------------------

    def _brake(self, received: int, penalty: int, restore: bool) -> None:
        if restore:
            self._set(self.window + self._braked)
            self._braked = 0
        if penalty:
            before = self.window
            self._set(before - penalty * received // 128)
            self._braked += before - self.window
