# SPDX-License-Identifier: Apache-2.0
"""Proves that frames of several ports are fed in the order in which they arrived, whatever the
order and the chunks in which ports were read."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from endpoint.agent.arrivals import Arrival, ArrivalOrder


class FakePort:
    """Frames with their times of arrival; those of the future cannot be read yet."""

    def __init__(self, number: int, times: list[int]) -> None:
        self.number = number
        self.waiting = deque(times)
        self.now = 0

    def receive(self, arrivals: list[Arrival], most: int) -> bool:
        for _ in range(most):
            if not self.waiting or self.waiting[0] > self.now:
                return False
            time_ns = self.waiting.popleft()
            arrivals.append((time_ns, self.number, b"%d" % time_ns))
        return True


times = st.lists(st.integers(0, 500), max_size=80).map(sorted)


@given(st.lists(times, min_size=1, max_size=4), st.integers(1, 9), st.integers(1, 200))
def test_every_frame_is_fed_once_and_in_order(
    queues: list[list[int]], budget: int, step: int
) -> None:
    ports = [FakePort(number, list(times)) for number, times in enumerate(queues)]
    order = ArrivalOrder(budget)
    fed: list[Arrival] = []
    now = 0
    for _ in range(2000):
        now += 1 if order.more else step
        for port in ports:
            port.now = now + port.number  # a little later, as it is read a little later
        fed += order.collect(ports, now)
        if now > 500 and not order.more:
            break
    assert [arrival[0] for arrival in fed] == sorted(time for times in queues for time in times)
    assert sorted(fed) == sorted(
        (time, number, b"%d" % time) for number, times in enumerate(queues) for time in times
    )


def test_a_frame_waits_for_older_ones_that_are_still_unread() -> None:
    long, short = FakePort(0, list(range(10))), FakePort(1, [5])
    long.now = short.now = 100
    order = ArrivalOrder(4)
    assert [a[0] for a in order.collect([long, short], 100)] == [0, 1, 2, 3]
    assert order.more
    assert [a[:2] for a in order.collect([long, short], 100)] == [
        (4, 0), (5, 1), (5, 0), (6, 0), (7, 0),
    ]  # fmt: skip
    rest = order.collect([long, short], 100)
    assert [a[0] for a in rest] == [8, 9]
    assert not order.more


def test_a_clock_set_back_holds_nothing() -> None:
    port = FakePort(0, [1000, 1001])
    port.now = 2000
    order = ArrivalOrder(8)
    order.collect([], 1500)
    assert len(order.collect([port], 10)) == 2
