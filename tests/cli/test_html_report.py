# SPDX-License-Identifier: Apache-2.0
"""The report needs nothing outside itself, says what result.json says, and can be made again."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from cli_support import call, refusal

from testbed.report.page import class_balances, render, tiles
from testbed.results import QueueBalance, read_environment, read_result

NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@pytest.fixture(scope="module")
def run(short_run):
    _, folder = short_run
    return read_result(folder / "result.json"), read_environment(folder / "environment.json")


@pytest.fixture(scope="module")
def page(short_run):
    return (short_run[1] / "report.html").read_text(encoding="utf-8")


class _References(HTMLParser):
    """All tags, and all attribute values that make a browser load something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.loads += [
            value or ""
            for name, value in attributes
            if name in ("src", "href", "xlink:href", "data", "srcset", "action")
        ]


def test_a_report_refers_to_nothing_but_itself(page):
    assert set(re.findall(r"https?://[^\s\"'<>)]+", page)) <= NAMESPACES
    found = _References()
    found.feed(page)
    assert not {"script", "link", "iframe", "img", "object", "base"} & set(found.tags)
    assert found.loads and all(value.startswith("#") for value in found.loads)
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", page))
    assert "@import" not in page


def test_ids_are_unique_in_the_page_and_every_reference_has_one(page):
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_charts_are_well_formed_and_in_the_colours_of_the_page(page):
    charts = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(charts) == 3
    for chart in charts:
        ElementTree.fromstring(chart)
        assert "var(--ink)" in chart
        assert not re.search(r"#0[0-9a-b]{5}\b", chart)


def test_text_of_the_scenario_is_text_in_the_page(page):
    assert "&lt;b&gt;not bold&lt;/b&gt; &amp; not an entity" in page
    assert "<b>not bold" not in page


def test_the_page_says_what_the_result_says(page, run):
    result, ran = run
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    for check in result.checks:
        assert check.name in text
    fault = result.faults[0]
    assert fault.label in text
    assert f"{fault.recovered_us:,.1f} µs" in text
    for loss in result.losses:
        assert f"{loss.place} {loss.cause} {loss.data}" in text
    assert f"{ran.packet_hops:,} packet-hops" in text
    assert "Every queue of every switch port gave out what it had taken in." in text


def test_a_failed_run_and_a_queue_that_lost_packets_are_seen(run):
    result, ran = run
    bad = result.model_copy(deep=True)
    bad.passed = False
    bad.checks[0].ok = False
    bad.queues[0].dequeued -= 3
    page = render(bad, ran)
    assert ">failed<" in page and "✗ failed" in page
    where = f"{bad.queues[0].switch} port {bad.queues[0].port} {bad.queues[0].traffic_class}"
    assert f"{where} (3)" in re.sub(r"\s+", " ", page)


def test_a_run_without_faults_or_ev_changes_has_a_page_too(run):
    result, ran = run
    calm = result.model_copy(update={"faults": [], "ev_changes": [], "losses": []})
    page = render(calm, ran)
    assert "No EV left the state GOOD." in page
    assert "Nothing was lost." in page
    assert page.count("<svg") == 1


def test_the_same_result_makes_the_same_page(run):
    assert render(*run) == render(*run)


def test_mrc_report_makes_the_page_again(short_run, page):
    _, folder = short_run
    (folder / "report.html").unlink()
    done = call("report", folder)
    assert done.exit_code == 0
    assert done.stdout.strip() == str(folder / "report.html")
    assert (folder / "report.html").read_text(encoding="utf-8") == page


def test_a_folder_that_holds_no_result_is_refused_with_file_and_field(short_run, tmp_path):
    assert refusal(call("report", tmp_path)).startswith(f"{tmp_path}/result.json: No such file")
    document = json.loads((short_run[1] / "result.json").read_text())
    document["packets"]["trimmed"] = "many"
    path = tmp_path / "result.json"
    path.write_text(json.dumps(document))
    assert refusal(call("report", tmp_path)).startswith(f"{path}: packets.trimmed: ")
    path.write_text("{")
    assert refusal(call("report", tmp_path)).startswith(f"{path}: the whole file: ")


def test_balances_add_up_by_class():
    queues = [
        QueueBalance(switch="a", port=1, traffic_class="data", enqueued=9, dequeued=7),
        QueueBalance(
            switch="a", port=2, traffic_class="data", enqueued=5, dequeued=2, lost_in_stop=3
        ),
        QueueBalance(switch="b", port=1, traffic_class="control", enqueued=4, dequeued=4),
    ]
    balances = class_balances(queues)
    assert list(balances) == ["control", "data"]
    assert (balances["data"].queues, balances["data"].missing) == (2, 2)
    assert balances["control"].missing == 0


def test_tiles_leave_out_what_was_not_measured(run):
    result, _ = run
    labels = {tile.label for tile in tiles(result)}
    assert {"last packet into it", "all lost data placed"} <= labels
    calm = result.model_copy(update={"faults": [], "maxflow": []})
    assert {tile.label for tile in tiles(calm)} == {"verified", "trimmed", "timers fired"}
