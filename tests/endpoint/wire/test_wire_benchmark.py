# SPDX-License-Identifier: Apache-2.0
"""The wire benchmark runs, measures every configuration once, and its records are JSON."""

import json

from benchmarks.wire_fps import run


def test_one_record_a_configuration() -> None:
    records = run(frames=50, repeats=3)
    assert json.loads(json.dumps(records)) == records
    configurations = [json.dumps(record["configuration"], sort_keys=True) for record in records]
    assert len(set(configurations)) == len(records) == 9
    for record in records:
        assert 0 < record["lowest"] <= record["value"] <= record["highest"]
        assert record["unit"] == "frames/s"
