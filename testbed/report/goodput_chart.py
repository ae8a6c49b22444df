# SPDX-License-Identifier: Apache-2.0
"""Goodput over time: all planes together against the max-flow, then each plane alone."""

from __future__ import annotations

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from testbed.report import time_axis
from testbed.report.svg import LIMIT, SERIES, inline, strips, style
from testbed.results import RunResult

_MOST_BINS = 800
_TOTAL_INCHES, _PLANE_INCHES = 1.9, 0.5


def goodput_chart(result: RunResult) -> Markup:
    """The chart as SVG for the page."""
    planes = result.goodput.planes
    with style("goodput"):
        figure, axes = strips([_TOTAL_INCHES] + [_PLANE_INCHES] * len(planes))
        _total(axes[0], result)
        highest = max((max(row, default=0.0) for row in planes), default=0.0) or 1.0
        for plane, row in enumerate(planes):
            _series(axes[1 + plane], result, row)
            axes[1 + plane].set_ylim(0, highest * 1.08)
            axes[1 + plane].locator_params(axis="y", nbins=2)
            time_axis.strip_label(axes[1 + plane], f"plane {plane}")
        time_axis.finish(axes, result)
        figure.legend(
            handles=[
                Patch(facecolor=SERIES, alpha=0.5, label="goodput"),
                Line2D([], [], color=LIMIT, linestyle=(0, (4, 2)), label="max-flow, live links"),
            ],
            loc="upper left",
            bbox_to_anchor=(0.1, 1.0),
            ncols=2,
            frameon=False,
            fontsize=8,
        )
        return inline(figure, "goodput", "Goodput by plane over time, in gigabits per second")


def _total(axes: Axes, result: RunResult) -> None:
    planes = result.goodput.planes
    total = [sum(values) for values in zip(*planes, strict=True)]
    _series(axes, result, total)
    limits = [stretch.gbps for stretch in result.maxflow]
    axes.set_ylim(0, max([*total, *limits, 1.0]) * 1.12)
    time_axis.strip_label(axes, "all planes\nGb/s")
    for stretch in result.maxflow:
        axes.plot(
            [stretch.from_ns / 1000, stretch.to_ns / 1000],
            [stretch.gbps, stretch.gbps],
            color=LIMIT,
            linewidth=1.4,
            linestyle=(0, (4, 2)),
            zorder=4,
        )


def coarse(values: list[float], most: int) -> tuple[list[float], int]:
    """At most ``most`` values, each the mean of as many neighbours, and their number.

    The last mean may be of fewer.
    """
    together = max(1, -(-len(values) // most))
    groups = [values[at : at + together] for at in range(0, len(values), together)]
    return [sum(group) / len(group) for group in groups], together


def _series(axes: Axes, result: RunResult, values: list[float]) -> None:
    means, together = coarse(values, _MOST_BINS)
    width_us = result.goodput.bin_ns * together / 1000
    edges = [i * width_us for i in range(len(means) + 1)]
    closed = [*means, means[-1]] if means else [0.0]
    axes.fill_between(edges, closed, step="post", color=SERIES, alpha=0.22, linewidth=0)
    axes.step(edges, closed, where="post", color=SERIES, linewidth=1.2)
