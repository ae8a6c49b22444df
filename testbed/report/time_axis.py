# SPDX-License-Identifier: Apache-2.0
"""What all charts over time share: the axis in µs, and marks where something broke or mended."""

from __future__ import annotations

from matplotlib.axes import Axes

from testbed.report.svg import FAULT, INK, MEND, MUTED, PAGE
from testbed.results import RunResult

_MOST_BADGES = 30


def finish(axes: list[Axes], result: RunResult) -> None:
    """Set limits and labels, and draw the faults of ``result`` across all strips."""
    end = result.duration_ns / 1000
    for strip in axes:
        strip.set_xlim(0, end)
        strip.margins(y=0)
        for fault in result.faults:
            strip.axvline(fault.begin_ns / 1000, color=FAULT, linewidth=1.0, zorder=5)
            if fault.end_ns is not None:
                strip.axvline(
                    fault.end_ns / 1000, color=MEND, linewidth=1.0, linestyle=(0, (2, 2)), zorder=5
                )
        strip.axvline(
            result.posting_end_ns / 1000, color=MUTED, linewidth=0.8, linestyle=(0, (1, 2))
        )
    axes[-1].set_xlabel("µs of the fabric's time")
    _badges(axes[0], result)


def _badges(axes: Axes, result: RunResult) -> None:
    """Numbers above the marks, as in the table of faults."""
    if len(result.faults) > _MOST_BADGES:
        return
    above = axes.get_xaxis_transform()
    for number, fault in enumerate(result.faults, 1):
        axes.text(
            fault.begin_ns / 1000,
            1.0,
            str(number),
            transform=above,
            ha="center",
            va="bottom",
            fontsize=8,
            fontweight="bold",
            color=PAGE,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": FAULT, "edgecolor": "none"},
        )
    axes.text(
        result.posting_end_ns / 1000,
        1.02,
        "posting ends ",
        transform=above,
        ha="right",
        va="bottom",
        fontsize=8,
        color=MUTED,
    )


def strip_label(axes: Axes, text: str) -> None:
    """The name of a strip, left of it."""
    axes.text(-0.045, 0.5, text, transform=axes.transAxes, ha="right", va="center", color=INK)
