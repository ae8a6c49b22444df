# SPDX-License-Identifier: Apache-2.0
"""EV states over time: how many EVs each plane has out of use, and which paths are held dead."""

from __future__ import annotations

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from testbed.report import ev_series, time_axis
from testbed.report.ev_series import ASSUMED_BAD, DENIED, STATES, Steps
from testbed.report.svg import BAD, GRID, INK, MUTED, SKIP, inline, strips, style
from testbed.report.svg import DENIED as DENIED_INK
from testbed.results import RunResult
from topologies.names import switch_name

_STRIP_INCHES, _ROW_INCHES = 0.62, 0.2
_MOST_PATHS = 64
_BINS = 400

_INKS = {ev_series.SKIP: SKIP, ASSUMED_BAD: BAD, DENIED: DENIED_INK}
_NAMES = {
    ev_series.SKIP: "SKIP (congested)",
    ASSUMED_BAD: "ASSUMED_BAD (dead)",
    DENIED: "DENIED (by the operator)",
}


def states_chart(result: RunResult) -> Markup:
    """EVs of all senders that are not GOOD, a strip a plane."""
    counted = ev_series.by_plane(result)
    with style("states"):
        planes = result.topology.planes
        figure, axes = strips([_STRIP_INCHES] * planes)
        highest = 1.0
        for plane, strip in enumerate(axes):
            rows = [counted.get((plane, state), Steps()) for state in reversed(STATES)]
            highest = max(highest, _stack(strip, rows, result.duration_ns))
            time_axis.strip_label(strip, f"plane {plane}")
        for strip in axes:
            strip.set_ylim(0, highest * 1.1)
            strip.locator_params(axis="y", nbins=3, integer=True)
        time_axis.finish(axes, result)
        present = [state for state in STATES if any(key[1] == state for key in counted)]
        if present:
            figure.legend(
                handles=[Patch(facecolor=_INKS[state], label=_NAMES[state]) for state in present],
                loc="upper left",
                bbox_to_anchor=(0.07, 1.0),
                ncols=len(present),
                frameon=False,
                fontsize=8,
            )
        return inline(figure, "states", "EVs that are not GOOD, by plane over time")


def _stack(axes: Axes, rows: list[Steps], end_ns: int) -> float:
    """Draw mean counts stacked, the gravest state at the bottom; the highest sum."""
    width_ns = max(1, end_ns // _BINS)
    times = [place * width_ns / 1000 for place in range(-(-end_ns // width_ns))]
    base = [0.0] * len(times)
    for row, state in zip(rows, reversed(STATES), strict=True):
        means = row.means(width_ns, end_ns)
        top = [low + mean for low, mean in zip(base, means, strict=True)]
        if any(means):
            axes.fill_between(times, base, top, step="post", color=_INKS[state], linewidth=0)
        base = top
    return max(base, default=0.0)


def paths_chart(result: RunResult) -> Markup | None:
    """A row a T1 and plane: how many of the flows that cross T1s hold that path dead.

    None when nothing was retired, or there are too many paths for rows.
    """
    planes, t1s = result.topology.planes, result.topology.t1s_per_plane
    counted = {
        key: steps for key, steps in ev_series.by_path(result).items() if key[2] == ASSUMED_BAD
    }
    if not counted or planes * t1s > _MOST_PATHS:
        return None
    flows = len(ev_series.crossing_flows(result))
    with style("paths"):
        figure, axes = strips([_ROW_INCHES * t1s] * planes)
        for plane, strip in enumerate(axes):
            for uplink in range(t1s):
                steps = counted.get((plane, uplink, ASSUMED_BAD), Steps())
                _row(strip, t1s - 1 - uplink, steps, flows, result.duration_ns)
            strip.set_ylim(0, t1s)
            names = [switch_name(plane, 1, uplink) for uplink in reversed(range(t1s))]
            strip.set_yticks([row + 0.5 for row in range(t1s)], names, fontsize=8)
            strip.tick_params(axis="y", length=0)
            strip.grid(False)
            for row in range(t1s + 1):
                strip.axhline(row, color=GRID, linewidth=0.6)
        time_axis.finish(axes, result)
        _scale(axes[0], flows)
        return inline(figure, "paths", "Share of flows that hold each path dead, over time")


def _row(axes: Axes, row: int, steps: Steps, flows: int, end_ns: int) -> None:
    for begin, end, count in steps.periods(end_ns):
        share = min(1.0, count / flows)
        axes.add_patch(
            Rectangle(
                (begin / 1000, row + 0.1),
                (end - begin) / 1000,
                0.8,
                facecolor=BAD,
                edgecolor="none",
                alpha=0.15 + 0.85 * share,
            )
        )


def _scale(axes: Axes, flows: int) -> None:
    figure = axes.figure
    top = 1 - 0.2 / figure.get_figheight()
    figure.text(0.095, top, "held dead by", fontsize=8, color=MUTED, va="center")
    for place, share in enumerate((0.25, 0.5, 0.75, 1.0)):
        x = 0.185 + place * 0.07
        figure.patches.append(
            Rectangle(
                (x, top - 0.05 / figure.get_figheight()),
                0.014,
                0.1 / figure.get_figheight(),
                transform=figure.transFigure,
                facecolor=BAD,
                edgecolor="none",
                alpha=0.15 + 0.85 * share,
            )
        )
        label = f"{share:.0%}" if share < 1 else f"all of {flows} flows"
        figure.text(x + 0.018, top, label, fontsize=8, color=INK, va="center")
