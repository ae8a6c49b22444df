# SPDX-License-Identifier: Apache-2.0
"""Proves that drops in this machine are read from both places and reported as what is new."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from endpoint.agent import drops
from endpoint.agent.drops import DropWatch, parse_net_dev
from endpoint.agent.values import FramesDropped

HEAD = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
    "drop fifo colls carrier compressed\n"
)


def line(name: str, drop: int) -> str:
    return f"{name:>6}: 1234 99 1 {drop} 0 0 0 0 888 7 0 4 0 0 0 0\n"


def test_receive_drops_are_read_by_interface() -> None:
    text = HEAD + line("lo", 0) + line("h1-eth0", 17) + line("a:b", 3)
    assert parse_net_dev(text) == {"lo": 0, "h1-eth0": 17, "a:b": 3}
    assert parse_net_dev("") == {}


def test_the_kernels_own_file_can_be_read() -> None:
    with open("/proc/self/net/dev", encoding="utf-8") as file:
        assert "lo" in parse_net_dev(file.read())


def port(number: int, interface: str, answers: list[int]) -> Any:
    return SimpleNamespace(
        number=number,
        interface=interface,
        socket_drops=0,
        interface_drops=0,
        read_drops=iter(answers).__next__,
    )


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, int]], None]:
    def set_counts(counts: dict[str, int]) -> None:
        monkeypatch.setattr(DropWatch, "_read", staticmethod(lambda: counts))

    return set_counts


def test_only_what_is_new_is_reported(counted: Callable[[dict[str, int]], None]) -> None:
    counted({"eth0": 5, "eth1": 0})
    ports = [port(0, "eth0", [0, 7, 0]), port(1, "eth1", [0, 0, 0])]
    watch = DropWatch(ports)
    assert watch.look(1) == []
    counted({"eth0": 5, "eth1": 2})
    assert watch.look(2) == [
        FramesDropped(2, 0, "eth0", drops.SOCKET, 7),
        FramesDropped(2, 1, "eth1", drops.INTERFACE, 2),
    ]
    assert watch.look(3) == []
    assert (ports[0].socket_drops, ports[0].interface_drops) == (7, 0)
    assert (ports[1].socket_drops, ports[1].interface_drops) == (0, 2)


def test_an_interface_made_anew_starts_from_zero(
    counted: Callable[[dict[str, int]], None],
) -> None:
    counted({"eth0": 50})
    watch = DropWatch([port(0, "eth0", [0, 0, 0])])
    counted({})
    assert watch.look(1) == []
    counted({"eth0": 3})
    assert [drop.frames for drop in watch.look(2)] == [3]
