# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the command tests: a short scenario, and one run of it."""

from pathlib import Path

import pytest
from cli_support import SCENARIO, process


@pytest.fixture(scope="session")
def scenario_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "short.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="session")
def short_run(scenario_file, tmp_path_factory):
    """The finished process of one run, and the folder it left its results in."""
    results = tmp_path_factory.mktemp("results")
    done = process("run", scenario_file, "--results", results, "--pcap", "h1-p0t0a")
    return done, results / "short-7"
