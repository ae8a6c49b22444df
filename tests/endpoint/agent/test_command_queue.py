# SPDX-License-Identifier: Apache-2.0
"""Proves that commands of other threads run in the loop's thread, once, or never after they were
given up."""

import select
import threading
from collections.abc import Iterator

import pytest

from endpoint.agent.commands import CommandQueue, LoopStopped


class Loop:
    """A loop that does nothing but commands."""

    def __init__(self, commands: CommandQueue) -> None:
        self.commands = commands
        self.stopping = False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        now = 0
        while not self.stopping:
            select.select([self.commands], (), ())
            now += 1
            self.commands.run(now, most=4)
        self.commands.close()

    def stop(self) -> None:
        self.stopping = True
        self.commands.wake()
        self.thread.join()


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop(CommandQueue())
    yield made
    if made.thread.is_alive():
        made.stop()


def test_a_command_runs_in_the_loop_and_gives_its_result(loop: Loop) -> None:
    thread = loop.commands.call(lambda now: threading.current_thread(), 5)
    assert thread is loop.thread
    assert loop.commands.call(lambda now: now, 5) > 0


def test_an_exception_reaches_the_caller_and_not_the_loop(loop: Loop) -> None:
    def fail(now: int) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        loop.commands.call(fail, 5)
    assert loop.commands.call(lambda now: 3, 5) == 3


def test_many_callers_each_get_their_own_answer(loop: Loop) -> None:
    answers: dict[int, int] = {}

    def ask(number: int) -> None:
        for _ in range(50):
            answers[number] = loop.commands.call(lambda now: number, 5)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: number for number in range(8)}


def test_a_command_given_up_never_runs() -> None:
    commands, ran = CommandQueue(), []
    with pytest.raises(TimeoutError):
        commands.call(lambda now: ran.append(now), 0.01)
    commands.run(1)
    assert ran == []


def test_a_command_that_has_begun_is_waited_for() -> None:
    begun = threading.Event()
    commands = CommandQueue()

    def slow(now: int) -> str:
        begun.set()
        threading.Event().wait(0.2)
        return "done"

    def serve() -> None:
        select.select([commands], (), ())
        commands.run(1)

    thread = threading.Thread(target=serve)
    thread.start()
    assert commands.call(slow, 0.1) == "done"
    assert begun.is_set()
    thread.join()


def test_after_the_end_commands_are_refused(loop: Loop) -> None:
    loop.stop()
    with pytest.raises(LoopStopped):
        loop.commands.call(lambda now: now, 5)


def test_commands_that_wait_at_the_end_are_refused() -> None:
    commands = CommandQueue()
    caught: list[Exception] = []

    def ask() -> None:
        try:
            commands.call(lambda now: now, 5)
        except LoopStopped as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    select.select([commands], (), (), 5)
    commands.close()
    thread.join(5)
    assert len(caught) == 1
