# SPDX-License-Identifier: Apache-2.0
"""finsy, an independent P4Runtime client, drives the service from its own environment."""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from p4runtime_support import DEVICE_ID, PROGRAMS

from softswitch.p4rt.device import Device
from softswitch.server import P4RuntimeServer
from softswitch.switch import Switch

# finsy needs a newer protobuf than this project's clients; `make finsy-env` builds its environment.
PYTHON = Path(
    os.environ.get("FINSY_PYTHON", Path(__file__).parents[2] / ".venv-finsy" / "bin" / "python")
)

pytestmark = [
    pytest.mark.finsy,
    pytest.mark.skipif(not PYTHON.exists(), reason="no environment with finsy: make finsy-env"),
]


@pytest.fixture(scope="module")
def commits():
    """The switches that finsy's pushes made."""
    return []


@pytest.fixture(scope="module")
def seen(commits):
    """What finsy saw of one device."""
    device = Device(
        DEVICE_ID, lambda program: Switch(program, rng=random.Random(1)), on_commit=commits.append
    )
    with P4RuntimeServer("127.0.0.1:0", [device]) as server:
        done = subprocess.run(
            [PYTHON, Path(__file__).with_name("finsy_client.py"), server.address, str(DEVICE_ID)]
            + [PROGRAMS / f"p4runtime_objects.{kind}" for kind in ("p4info.txt", "json")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_becomes_primary_and_finds_version_and_tables(seen):
    assert seen["primary"]
    assert seen["version"] == "1.4.1"
    assert seen["tables"] == ["exact_match", "fixed", "longest_prefix", "masked", "metered"]


def test_entries_of_every_match_kind_read_back(seen):
    assert seen["empty"] == []
    assert len(seen["written"]) == 4
    assert seen["read"] == seen["written"]
    assert seen["deleted"] == []


def test_it_sees_which_update_of_a_batch_failed(seen):
    assert seen["errors"] == {"1": "ALREADY_EXISTS"}


def test_default_entry_is_changed_and_reset(seen):
    assert (seen["default"], seen["reset"]) == (["drop"], ["forward"])


def test_counters_and_registers_are_written_and_read(seen):
    assert seen["counters"] == [[i, 7, 70] if i == 3 else [i, 0, 0] for i in range(8)]
    assert seen["registers"] == [0, 0xABC, 0, 0]


def test_second_session_is_backup_with_a_lower_election_id(seen):
    assert seen["second"] == [False, True]


def test_program_is_pushed_once_for_all_sessions(seen, commits):
    assert seen["again"]
    assert len(commits) == 1
