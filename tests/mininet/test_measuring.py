# SPDX-License-Identifier: Apache-2.0
"""A machine is measured in seconds; a BMv2 that sets rates on the wrong queue is found out."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mininet", reason="needs Mininet's modules: make mininet")

from testbed.mininet import measure_machine
from testbed.mininet.bmv2 import Bmv2Process
from testbed.mininet.errors import MininetWorldError
from testbed.mininet.measure_machine import measure

pytestmark = pytest.mark.mininet


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_machine, "LOAD_S", 1.5)


def test_costs_are_those_of_processes_that_ran(tmp_path: Path) -> None:
    costs = measure("soft", tmp_path, lambda text: None)
    assert costs.packets > measure_machine.PACKETS_PER_SECOND
    for cost in (costs.agents_us, costs.hop_us):
        assert 5 < cost < 20_000
    assert 100 < costs.path_rtt_us < 500_000


@pytest.mark.bmv2
def test_a_bmv2_of_today_passes_and_one_that_limits_the_inverse_queue_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = measure("bmv2", tmp_path, lambda text: None)
    assert costs.program and costs.packets > 0
    right = Bmv2Process.thrift

    def inverse(self: Bmv2Process, commands: str) -> str:
        lines = [line.split() for line in commands.splitlines()]
        turned = [" ".join([*words[:-1], str(2 - int(words[-1]))]) for words in lines]
        return right(self, "\n".join(turned) + "\n")

    monkeypatch.setattr(Bmv2Process, "thrift", inverse)
    with pytest.raises(MininetWorldError, match="does not limit the queue that a rate is set for"):
        measure("bmv2", tmp_path, lambda text: None)
