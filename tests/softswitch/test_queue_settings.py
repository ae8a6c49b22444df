# SPDX-License-Identifier: Apache-2.0
"""Queue settings of a switch process: defaults, what a file says of a port, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from softswitch.queue_settings import QueueSettings, QueueSettingsError, load_queue_settings


def _file(folder: Path, document: object) -> Path:
    path = folder / "queues.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_a_port_has_the_files_default_and_what_is_said_of_it(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        {
            "default": {"rate_bps": 1000, "capacities": [4, 5, 6]},
            "ports": {"2": {"rate_bps": 2000}},
        },
    )
    settings = load_queue_settings(path, [1, 2])
    assert settings[1] == QueueSettings(rate_bps=1000, capacities=[4, 5, 6])
    assert settings[2] == QueueSettings(rate_bps=2000, capacities=[4, 5, 6])


def test_an_empty_file_leaves_ports_without_a_limit(tmp_path: Path) -> None:
    settings = load_queue_settings(_file(tmp_path, {}), [7])[7]
    scheduler = settings.scheduler(stamp=False)
    assert scheduler.rate_bps == 0
    assert scheduler.mode == "strict"


def test_the_scheduler_has_the_settings() -> None:
    settings = QueueSettings(
        mode="bmv2", capacities=[7, 8, 9], rates_pps=[10, 0, 0], overhead_bytes=0
    )
    scheduler = settings.scheduler(stamp=True)
    assert (scheduler.mode, scheduler.capacities, scheduler.stamp) == ("bmv2", [7, 8, 9], True)
    assert scheduler.overhead_bytes == 0


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "not JSON"),
        ([], "the file: is no JSON object"),
        ({"port": {}}, "the file: has 'port', which is none of default, ports"),
        ({"ports": {"9": {}}}, "ports: has '9', which is none of 1, 2"),
        ({"default": {"rate": 1}}, "default: has 'rate'"),
        ({"ports": {"2": {"rate_bps": -1}}}, "ports.2: rate_bps: -1 is no integer >= 0"),
        ({"default": {"capacities": [1, 2]}}, "ports.1: capacities: is not 3 integers"),
        ({"default": {"capacities": [0, 1, 1]}}, "integers of at least 1"),
        ({"default": {"rates_pps": [True, 1, 1]}}, "rates_pps: is not 3 integers"),
        ({"default": {"mode": "fair"}}, "ports.1: mode: 'fair' is none of strict, bmv2"),
    ],
)
def test_errors_name_file_and_field(tmp_path: Path, document: object, words: str) -> None:
    path = _file(tmp_path, document)
    with pytest.raises(QueueSettingsError) as refused:
        load_queue_settings(path, [1, 2])
    assert str(refused.value).startswith(str(path))
    assert words in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(QueueSettingsError, match="No such file"):
        load_queue_settings(tmp_path / "nothing.json", [1])
