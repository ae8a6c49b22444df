# SPDX-License-Identifier: Apache-2.0
"""Congestion control over time: window, bytes in flight and round trip of the traced flows."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from testbed.measure import quantile
from testbed.report import time_axis
from testbed.report.svg import LIMIT, MUTED, SERIES, inline, strips, style
from testbed.results import RunResult
from testbed.sampled import FlowTrace, Trace

_STRIP_INCHES = 1.35
_MOST_LINES = 12
_MOST_POINTS = 800

_Values = Callable[[FlowTrace], list[int]]


def congestion_chart(result: RunResult) -> Markup | None:
    """The chart as SVG for the page; None when no flow was traced.

    A line a flow; of more than a dozen, the median and the range between least and most.
    """
    trace = result.trace
    if trace is None:
        return None
    strips_of: list[tuple[str, _Values, float]] = [
        ("window\nKiB", lambda flow: flow.window_bytes, 1024),
        ("in flight\nKiB", lambda flow: flow.inflight_bytes, 1024),
        ("round trip\nµs", lambda flow: flow.rtt_ns, 1000),
    ]
    with style("congestion"):
        figure, axes = strips([_STRIP_INCHES] * len(strips_of))
        for strip, (label, values, unit) in zip(axes, strips_of, strict=True):
            _strip(strip, trace, values, unit)
            time_axis.strip_label(strip, label)
            strip.locator_params(axis="y", nbins=4)
        base_us = result.topology.base_rtt_ns / 1000
        axes[-1].axhline(base_us, color=LIMIT, linewidth=1.2, linestyle=(0, (4, 2)))
        time_axis.finish(axes, result)
        for strip in axes:
            strip.set_ylim(0, strip.get_ylim()[1] * 1.08)
        figure.legend(
            handles=_legend(trace),
            loc="upper left",
            bbox_to_anchor=(0.1, 1.0),
            ncols=3,
            frameon=False,
            fontsize=8,
        )
        return inline(
            figure, "congestion", "Window, bytes in flight and round trip of senders over time"
        )


def _legend(trace: Trace) -> list[Patch | Line2D]:
    base = Line2D([], [], color=LIMIT, linestyle=(0, (4, 2)), label="base round trip")
    if len(trace.flows) <= _MOST_LINES:
        return [Line2D([], [], color=SERIES, label="a line a flow"), base]
    return [
        Line2D([], [], color=SERIES, label=f"median of {len(trace.flows)} flows"),
        Patch(facecolor=SERIES, alpha=0.18, label="least to most"),
        base,
    ]


def _strip(axes: Axes, trace: Trace, values: _Values, unit: float) -> None:
    rows = [values(flow) for flow in trace.flows]
    step = max(1, -(-max(map(len, rows), default=1) // _MOST_POINTS))
    rows = [row[::step] for row in rows]
    times = [place * step * trace.sample_ns / 1000 for place in range(len(rows[0]))]
    if len(rows) <= _MOST_LINES:
        for row in rows:
            known = [value / unit if value else float("nan") for value in row]
            axes.plot(times, known, color=SERIES, linewidth=0.9, alpha=0.75)
        return
    columns = [sorted(column) for column in zip(*rows, strict=True)]
    least = [column[0] / unit for column in columns]
    most = [column[-1] / unit for column in columns]
    middle = [quantile(column, 50) / unit for column in columns]
    axes.fill_between(times, least, most, color=SERIES, alpha=0.18, linewidth=0)
    axes.plot(times, middle, color=SERIES, linewidth=1.2)
    axes.axhline(0, color=MUTED, linewidth=0.4)
