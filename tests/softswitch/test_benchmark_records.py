# SPDX-License-Identifier: Apache-2.0
"""The switch's benchmark measures what it names, and the runner shows and stores it."""

import json
import sys

import benchmarks.__main__ as runner
from benchmarks import softswitch_pps


def test_every_kind_of_packet_has_a_rate():
    records = softswitch_pps.run(packets=50, repeats=3)
    names = [r["configuration"]["packet"] for r in records]
    assert len(set(names)) == len(names) == 8
    for record in records:
        assert 0 < record["lowest"] <= record["value"] <= record["highest"]
    assert records[0]["relative"] == 1


def test_the_runner_finds_modules_and_writes_their_records(tmp_path, monkeypatch, capsys):
    assert "softswitch_pps" in runner.available()
    monkeypatch.setattr(softswitch_pps, "run", lambda: RECORDS)
    target = tmp_path / "deep" / "records.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks", "softswitch_pps", "--json", str(target)])
    runner.main()
    document = json.loads(target.read_text())
    assert document["records"] == RECORDS
    assert document["environment"]["cpus"] >= 1
    assert "1,234 packets/s" in capsys.readouterr().out


RECORDS = [
    {
        "benchmark": "softswitch_pps",
        "configuration": {"packet": "data", "bytes": 1},
        "metric": "rate",
        "value": 1234,
        "unit": "packets/s",
        "lowest": 1000,
        "highest": 2000,
        "relative": 1.0,
    }
]
