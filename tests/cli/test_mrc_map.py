# SPDX-License-Identifier: Apache-2.0
"""`mrc map` runs a scenario with a map, shows what was named, and its status says whether the map
was right."""

from __future__ import annotations

import json
from pathlib import Path

from cli_support import call, refusal


def test_a_scenario_without_a_map_section_is_mapped_all_the_same(tmp_path: Path) -> None:
    done = call("map", "silent-link", "--json", "--results", str(tmp_path))
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert [f["kind"] for f in found["findings"]] == ["T0–T1 link"]
    assert found["wrong"] == [] and found["faults"][0]["named_us"] > 0
    report = (tmp_path / "silent-link-1-map" / "report.html").read_text(encoding="utf-8")
    assert "Map of links and switches" in report


def test_tables_name_what_was_found(tmp_path: Path) -> None:
    done = call("map", "--results", str(tmp_path))
    assert done.exit_code == 0, done.stderr
    for name in ("p0t0a-p0t1b", "h3-p0t0b", "p0t1a", "p1t0b", "map_accuses_no_other"):
        assert name in done.stdout


def test_a_scenario_that_is_not_there_is_refused() -> None:
    assert "no scenario 'nowhere'" in refusal(call("map", "nowhere"))
