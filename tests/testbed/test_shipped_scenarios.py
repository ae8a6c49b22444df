# SPDX-License-Identifier: Apache-2.0
"""Every shipped scenario meets its own expectations."""

import pytest

from testbed.run import run_scenario
from testbed.scenario import shipped_scenarios


@pytest.mark.fact("result.scenarios")
@pytest.mark.parametrize("name", shipped_scenarios())
def test_a_shipped_scenario_passes(name: str) -> None:
    result = run_scenario(name)
    assert [check for check in result.checks if not check.ok] == []
    assert result.passed
    assert result.bytes_verified == result.bytes_posted > 0
