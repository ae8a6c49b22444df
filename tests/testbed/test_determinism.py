# SPDX-License-Identifier: Apache-2.0
"""The same seed gives the same result.json, to the byte, whatever the hash seed; another does not.

Each run is a process of its own, as PYTHONHASHSEED is read when the interpreter starts.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = """
name: everything
description: Faults of every kind, in a short run.
topology: tiny
duration: 3ms
workload:
  kind: permutation
  message_bytes: 64KiB
  in_flight: 4
  until: 120us
faults:
  - {kind: link_flap, link: p0t0a-p0t1b, at: 20us, down: 10us, up: 10us, count: 2}
  - {kind: link_lossy, link: p1t0a-p1t1a, at: 30us, share: 0.05, lasts: 30us}
  - {kind: switch_stop, switch: p0t1a, at: 70us, lasts: 20us}
  - {kind: nic_port_down, host: h3, port: 1, at: 90us}
"""

RUN = """
import sys
from pathlib import Path
from testbed.run import run_scenario
run_scenario(sys.argv[1], seed=int(sys.argv[2]), results_dir=Path(sys.argv[3]))
"""


def run(scenario: Path, folder: Path, *, seed: int, hash_seed: str) -> bytes:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", RUN, str(scenario), str(seed), str(folder)]
    subprocess.run(command, env=environment, check=True, timeout=120)
    assert (folder / "environment.json").is_file()
    return (folder / "result.json").read_bytes()


@pytest.mark.fact("rel.determinism")
def test_equal_seeds_give_equal_bytes_under_two_hash_seeds(tmp_path: Path) -> None:
    scenario = tmp_path / "everything.yaml"
    scenario.write_text(SCENARIO)
    first = run(scenario, tmp_path / "a", seed=5, hash_seed="1")
    second = run(scenario, tmp_path / "b", seed=5, hash_seed="2")
    other = run(scenario, tmp_path / "c", seed=6, hash_seed="1")
    assert first == second
    assert first != other
