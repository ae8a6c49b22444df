# SPDX-License-Identifier: Apache-2.0
"""The retransmission timer of a queue pair: linear retries, then exponential ones, then ERROR."""

from dataclasses import dataclass

TIMER_UNIT_NS = 1024
MAX_EXPONENT = 24
HARDWARE_EXPONENT = 8
MAX_LINEAR_RETRIES = 7
EXPONENTIAL_RETRIES = 10
FOR_EVER = 25
_ROUND_TRIPS = 16


def default_exponent(base_rtt_ns: int) -> int:
    """Exponent of the default timer: at least 8 (262 µs, as in hardware) and 16 base round trips.

    Sixteen, because queues at their trim threshold on every hop add a few round trips, and a
    timer that fires for congestion would declare living paths dead.
    """
    exponent = HARDWARE_EXPONENT
    while exponent < MAX_EXPONENT and TIMER_UNIT_NS << exponent < _ROUND_TRIPS * base_rtt_ns:
        exponent += 1
    return exponent


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The timer is 1.024 µs × 2**exponent (0 to 24); retries up to 7 linear, then up to 25
    exponential ones, each twice as long; 25 stands for no end."""

    exponent: int = HARDWARE_EXPONENT
    linear: int = MAX_LINEAR_RETRIES
    exponential: int = EXPONENTIAL_RETRIES

    def __post_init__(self) -> None:
        for name, value, most in (
            ("exponent", self.exponent, MAX_EXPONENT),
            ("linear", self.linear, MAX_LINEAR_RETRIES),
            ("exponential", self.exponential, FOR_EVER),
        ):
            if not 0 <= value <= most:
                raise ValueError(f"retry policy: {name} {value} is outside 0..{most}")

    def interval_ns(self, retries: int, least_ns: int) -> int:
        """How long to wait after `retries` retries in a row, at least `least_ns`.

        `least_ns` is what the measured round trip asks for: a timer set below it could only
        fire too early. The exponential part never makes more of it than the highest exponent.
        """
        interval = max(TIMER_UNIT_NS << self.exponent, least_ns)
        doublings = retries - self.linear
        if doublings <= 0:
            return interval
        return max(interval, min(interval << min(doublings, 64), TIMER_UNIT_NS << MAX_EXPONENT))

    def exhausted(self, retries: int) -> bool:
        """Whether an expiry after `retries` retries is the end."""
        return self.exponential != FOR_EVER and retries >= self.linear + self.exponential

    @property
    def longest_ns(self) -> int:
        """The longest that this timer can run, before any measured round trip stretches it."""
        return self.interval_ns(self.linear + self.exponential, 0)

    def gives_up_after_ns(self, least_ns: int) -> int | None:
        """From a transmission that nobody answers to the end of the last retry, with timers of at
        least `least_ns`; None for a policy without end."""
        if self.exponential == FOR_EVER:
            return None
        retries = range(self.linear + self.exponential + 1)
        return sum(self.interval_ns(count, least_ns) for count in retries)
