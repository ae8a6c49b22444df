# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the agent's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from control_lab import ControlLab

from endpoint.agent.client import AgentClient


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ControlLab]:
    made = ControlLab(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def clients(lab: ControlLab) -> Iterator[tuple[AgentClient, AgentClient]]:
    with AgentClient(lab.sockets[0]) as one, AgentClient(lab.sockets[1]) as other:
        yield one, other
