# SPDX-License-Identifier: Apache-2.0
"""The plain algorithm `window`: ECN, queueing delay and trims."""

from endpoint.congestion.interface import CongestionControl, CongestionParameters


class WindowControl(CongestionControl):
    """A plain window driven by ECN, queueing delay and trims (`window`).

    Queueing delay is the round trip above the empty one, averaged over about one window. Empty is
    the fabric's base round trip, or the least one seen where that is less (a nearer peer) or so
    much more that the base cannot be right; else a flow that starts into a queue would take that
    queue for distance.
    Below the target, unmarked packets let the window grow by up to `GAIN` packets a round trip,
    in proportion to the distance; marked ones hold it, since one hot path is a matter of path
    choice. At or above the target it grows by one packet a round trip and shrinks, once a round
    trip, in proportion to the excess, marked or not: the last hop never marks, and its queue is
    all that senders share (so that is also what makes their shares equal). Trims take their own
    bytes off, and at the end of a round trip that saw any, the window falls to what was
    delivered in it.
    """

    GAIN = 8
    FAIR = 1
    DECREASE = 0.8  # gamma
    MAX_DECREASE = 0.5

    def __init__(self, parameters: CongestionParameters) -> None:
        super().__init__(parameters)
        self._credit = 0.0  # fractional bytes of growth
        self._delay_ns = 0.0
        self._min_rtt_ns = 0
        self._empty_rtt_ns = parameters.base_rtt_ns
        self._next_decrease_ns = 0
        self._epoch_end_ns = 0
        self._epoch_start_ns = 0
        self._delivered = 0
        self._trimmed = False

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
        if rtt_ns is not None:
            self._measure(rtt_ns)
        if penalty:
            self._set(self.window - penalty * received // 128)
        self._delivered += acked
        if now_ns >= self._epoch_end_ns:
            self._end_epoch(now_ns)
        target = self.parameters.target_delay_ns
        delay = self._delay_ns
        gain = float(self.FAIR)
        if delay < target:
            if marked:
                return
            gain += (self.GAIN - self.FAIR) * (1 - delay / target)
        elif now_ns >= self._next_decrease_ns:
            self._next_decrease_ns = now_ns + self._loaded_rtt_ns()
            factor = 1 - self.DECREASE * (delay - target) / delay
            self._set(int(self.window * max(factor, self.MAX_DECREASE)))
        self._credit += gain * acked * self.parameters.mtu / self.window
        if self._credit >= 1:
            whole = int(self._credit)
            self._credit -= whole
            self._set(self.window + whole)

    def _measure(self, rtt_ns: int) -> None:
        if self._min_rtt_ns == 0 or rtt_ns < self._min_rtt_ns:
            self._min_rtt_ns = rtt_ns
            parameters = self.parameters
            doubtful = 2 * parameters.base_rtt_ns + parameters.target_delay_ns
            inside = parameters.base_rtt_ns <= rtt_ns <= doubtful
            self._empty_rtt_ns = parameters.base_rtt_ns if inside else rtt_ns
        weight = min(0.25, self.parameters.mtu / self.window)
        self._delay_ns += (rtt_ns - self._empty_rtt_ns - self._delay_ns) * weight

    def _loaded_rtt_ns(self) -> int:
        return self._empty_rtt_ns + max(0, int(self._delay_ns))

    def on_nack(self, now_ns: int, size: int, last_hop: bool, inflight: int = 0) -> None:
        self._trimmed = True
        self._set(self.window - size)

    def on_loss(self, now_ns: int, size: int) -> None:
        self._set(self.window - size)

    def on_timeout(self, now_ns: int, lost: int = 0) -> None:
        self._set(self.window // 2)

    def _end_epoch(self, now_ns: int) -> None:
        """Once a measured round trip; where packets were trimmed, adapts to what got through.

        The window becomes what was delivered, at that rate, in a round trip with a queue at the
        target: by the round trip just measured, the window would keep the queue that trims.
        """
        parameters = self.parameters
        if self._trimmed:
            wanted = parameters.base_rtt_ns + parameters.target_delay_ns
            elapsed = max(wanted, now_ns - self._epoch_start_ns)
            self._set(self._delivered * wanted // elapsed)
        self._trimmed = False
        self._delivered = 0
        self._epoch_start_ns = now_ns
        self._epoch_end_ns = now_ns + self._loaded_rtt_ns()

    def _set(self, window: int) -> None:
        parameters = self.parameters
        self.window = max(parameters.mtu, min(window, parameters.max_window))
