# SPDX-License-Identifier: Apache-2.0
"""Skips what this machine cannot run, and one fabric that several test files share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_fabric import small_fabric

from testbed.mininet import requirements
from testbed.mininet.bmv2 import CLI, PROGRAM

HOLD_NS = 20_000_000


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that cannot run here says what it is missing."""
    if item.get_closest_marker("bmv2") and not all(map(shutil.which, (PROGRAM, CLI))):
        pytest.skip(f"needs {PROGRAM} and {CLI}")
    if item.get_closest_marker("mininet"):
        for requirement in requirements.requirements():
            if not requirement.optional and not requirement.found:
                pytest.skip(f"needs {requirement.name}: {requirement.advice}")


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A fabric of embedded switches that is up, with an agent on every host.

    Whoever breaks something mends it.
    """
    from testbed.mininet.live import LiveFabric

    logs: Path = tmp_path_factory.mktemp("logs")
    with LiveFabric(
        small_fabric(), "soft", logs=logs, seed=1, hold_ns=HOLD_NS, say=lambda text: None
    ) as fabric:
        yield fabric
