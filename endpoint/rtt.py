# SPDX-License-Identifier: Apache-2.0
"""Round-trip time of one queue pair, smoothed as in RFC 6298, and the delay of loss rule (b).

All times are integers of nanoseconds. A sample is always the sender's own clock: now minus the
send time of the transmission that a SACK names. The 16-bit timestamp that packets carry wraps
after 8.39 ms and is never used to measure.
"""


class RttEstimator:
    """Smoothed round trip and its variation.

    `base_rtt_ns` is the fabric's round trip without queues; it stands in until the first sample.
    `reorder_ns` is the least allowance for packets that overtake each other: spraying puts
    neighbours on switches whose queues may differ by a whole trim threshold, which a calm period
    with hardly any variation would not have shown.
    """

    __slots__ = ("base_ns", "latest_ns", "loss_delay_ns", "min_ns", "reorder_ns", "samples",
                 "smoothed_ns", "variation_ns")  # fmt: skip

    def __init__(self, base_rtt_ns: int, reorder_ns: int = 0) -> None:
        if base_rtt_ns <= 0 or reorder_ns < 0:
            raise ValueError(f"base RTT {base_rtt_ns} ns or allowance {reorder_ns} ns out of range")
        self.base_ns = base_rtt_ns
        self.reorder_ns = reorder_ns
        self.smoothed_ns = base_rtt_ns
        self.variation_ns = base_rtt_ns // 2
        self.latest_ns = 0
        self.min_ns = 0
        self.samples = 0
        self.loss_delay_ns = 0
        self._set_loss_delay()

    def add(self, sample_ns: int) -> None:
        """Takes one measured round trip; a negative one (a clock that ran back) is ignored."""
        if sample_ns < 0:
            return
        self.latest_ns = sample_ns
        if self.samples == 0:
            self.smoothed_ns = sample_ns
            self.variation_ns = sample_ns // 2
            self.min_ns = sample_ns
        else:
            error = sample_ns - self.smoothed_ns
            self.variation_ns += (abs(error) - self.variation_ns) // 4
            self.smoothed_ns += error // 8
            if sample_ns < self.min_ns:
                self.min_ns = sample_ns
        self.samples += 1
        self._set_loss_delay()

    def _set_loss_delay(self) -> None:
        allowance = 4 * self.variation_ns
        self.loss_delay_ns = self.smoothed_ns + max(allowance, self.reorder_ns)
