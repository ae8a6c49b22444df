# SPDX-License-Identifier: Apache-2.0
"""Proves that options mean what they mean in perftest, and that a report has its columns."""

from __future__ import annotations

import pytest

from endpoint.agent.exercises import Extent
from endpoint.agent.values import QpOptions
from testbed.perftest.errors import PerftestError
from testbed.perftest.options import Options
from testbed.perftest.pair import End, PairFacts
from testbed.perftest.report import document, lines
from testbed.perftest.settings import Quantity, Settings
from testbed.perftest.statistics import BandwidthRow, LatencyOverTime, LatencyRow, Row

NEAR = End("h1", bytes(15) + b"\x01", 16, 0xABC, 0x1000_0000, 5)
FAR = End("h5", bytes(15) + b"\x05", 17, 0xDEF, 0x2000_0000, 6)
FACTS = PairFacts("virtual", "demo", 4, 100_000_000_000, 4096, 16, "window", ((NEAR, FAR),))
BANDWIDTH = BandwidthRow(65536, 5000, 3 * 2.0**20, 2.5 * 2**20, 2_500_000.0)


def text(settings: Settings, row: Row, gigabits: bool = False) -> list[str]:
    return list(lines(settings, FACTS, [row], gigabits=gigabits))


def test_bandwidth_has_perftest_s_columns_and_values_stand_under_them() -> None:
    settings = Options(size="64KiB").bandwidth(1, 128, False)
    *head, title, row, rule = text(settings, BANDWIDTH)
    assert title.split("  ") and " ".join(title.split()) == (
        "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]"
    )
    assert row.split() == ["65536", "5000", "3.00", "2.50", "2.500000"]
    for name, value in (("#iterations", "5000"), ("BW average", "2.50"), ("MsgRate", "2.500000")):
        assert title.index(name) == row.index(f" {value}") + 1
    assert head[0] == rule and head[1].strip() == "MRC Write BW Test"
    assert any(line.endswith("TX depth        : 128                  Congestion ctl : window")
               for line in head)  # fmt: skip
    assert " local address: h1 QPN 0x000010 PSN 0x000abc RKey 0x00000005" in "\n".join(head)
    assert " GID: ::5" in head


def test_gigabits_are_thousands_of_millions_and_small_ones_get_more_digits() -> None:
    settings = Options().bandwidth(1, 128, True)
    row = BandwidthRow(2, 10, None, 125_000_000 * 40.0, 1.0)
    title, line, _ = text(settings, row, gigabits=True)[-3:]
    assert "BW peak[Gb/sec]" in title and "BW average[Gb/sec]" in title
    assert line.split() == ["2", "10", "0.00", "40.00", "0.000001"]
    slow = BandwidthRow(2, 10, 1250.0, 1250.0, 1.0)
    assert text(settings, slow, gigabits=True)[-2].split()[2:4] == ["0.000010", "0.000010"]


def test_latency_has_perftest_s_columns() -> None:
    row = LatencyRow(2, 1000, 1000.0, 9000.0, 2500.0, 2600.0, 123.4, 5000.0, 8000.0)
    title, line, _ = text(Options().latency(), row)[-3:]
    assert " ".join(title.split()) == (
        "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] "
        "99% percentile[usec] 99.9% percentile[usec]"
    )
    assert line.split() == ["2", "1000", "1.00", "9.00", "2.50", "2.60", "0.12", "5.00", "8.00"]


def test_latency_over_a_duration_has_two_figures() -> None:
    settings = Options(duration="2").latency()
    report = text(settings, LatencyOverTime(2, 7, 1500.0, 333.0))
    assert " ".join(report[-3].split()) == "#bytes #iterations t_avg[usec] tps average"
    assert report[-2].split() == ["2", "7", "1.50", "333.00"]
    assert " Duration        : 2s" in report


def test_json_has_perftest_s_names_and_figures_that_are_not_rounded() -> None:
    settings = Options().bandwidth(2, 64, True)
    made = document(settings, FACTS, [BANDWIDTH], gigabits=False)
    assert made["results"] == [
        {
            "MsgSize": 65536,
            "n_iterations": 5000,
            "BW_peak": 3.0,
            "BW_average": 2.5,
            "MsgRate": 2.5,
        }
    ]
    info = made["test_info"]
    assert info["test"] == "Write_Bidirectional_BW_Test"
    assert (info["Number_of_qps"], info["TX_depth"], info["unit"]) == (2, 64, "MiB/sec")
    assert info["addresses"][0]["remote"]["GID"] == "::5"
    timed = BandwidthRow(2, 3, None, 1.0, 1.0)
    assert document(settings, FACTS, [timed], gigabits=True)["results"][0]["BW_peak"] is None
    row = LatencyRow(2, 9, 1000.5, 1.0, 1.0, 1.0, 1.0, 1.0, 8000.0)
    result = document(Options().latency(), FACTS, [row], gigabits=False)["results"][0]
    assert (result["t_min"], result["percentile_99.9"]) == (1.0005, 8.0)


def test_defaults_are_perftest_s() -> None:
    bandwidth = Options().bandwidth(1, 128, False)
    assert (bandwidth.quantity, bandwidth.sizes) == (Quantity.BANDWIDTH, (65536,))
    assert bandwidth.extent(10**9) == Extent(5000)
    latency = Options().latency()
    assert (latency.sizes, latency.extent(10**9)) == ((2,), Extent(1000))
    sweep = Options(all_sizes=True).latency().sizes
    assert (sweep[0], sweep[-1], len(sweep)) == (2, 8388608, 23)


def test_iterations_that_nobody_gave_are_no_more_than_is_quick() -> None:
    assert Options().latency().extent(70) == Extent(70)
    assert Options().latency().extent(1) == Extent(5)
    assert Options(iters=800).latency().extent(70) == Extent(800)


def test_a_duration_is_in_seconds_or_has_its_unit_and_its_quarters_are_left_out() -> None:
    assert Options(duration="2").latency().extent(1) == Extent(0, 2 * 10**9, 5 * 10**8)
    assert Options(duration="0.5").latency().duration_ns == 5 * 10**8
    assert Options(duration="200us").latency().duration_ns == 200_000


def test_options_of_the_queue_pair_are_passed_on() -> None:
    options = Options(mtu=1024, qp_timeout=9, base_rtt="8ms").latency().qp
    assert options == QpOptions(path_mtu=1024, timeout=9, base_rtt_ns=8_000_000)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (Options(size="0"), "--size: 0 is outside"),
        (Options(size="2GiB"), "--size: 2147483648 is outside"),
        (Options(size="many"), "--size: 'many' is not a size"),
        (Options(size="2", all_sizes=True), "--all and --size"),
        (Options(iters=4), "--iters: 4 is outside 5.."),
        (Options(iters=5, duration="1"), "--iters and --duration"),
        (Options(duration="soon"), "--duration: 'soon"),
        (Options(duration="0"), "--duration: is nothing"),
        (Options(mtu=1500), "--mtu: 1500 is not one of 256, 512, 1024, 2048, 4096"),
        (Options(qp_timeout=25), "--qp-timeout: 25 is outside 0..24"),
        (Options(base_rtt="8"), "--base-rtt: '8' is not a time"),
    ],
)
def test_an_option_that_cannot_be_is_named(options: Options, complaint: str) -> None:
    with pytest.raises(PerftestError, match=complaint):
        options.latency()


@pytest.mark.parametrize(
    ("qps", "depth", "complaint"),
    [(0, 1, "--qp: 0"), (1025, 1, "--qp: 1025"), (1, 0, "--tx-depth: 0")],
)
def test_numbers_of_bandwidth_have_bounds(qps: int, depth: int, complaint: str) -> None:
    with pytest.raises(PerftestError, match=complaint):
        Options().bandwidth(qps, depth, False)
