# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG that lives inside a page: the page's colours, the page's font, no outside world.

Matplotlib knows no CSS variables. Each `Ink` is drawn in a colour that nothing else uses, and
becomes the page's variable afterwards, so one chart serves light and dark pages.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH_INCHES = 10.0

INK, MUTED, GRID = "#010101", "#020202", "#030303"
SERIES, LIMIT, FAULT, MEND = "#040404", "#050505", "#060606", "#070707"
SKIP, BAD, DENIED, PAGE = "#080808", "#090909", "#0a0a0a", "#0b0b0b"

_VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    SERIES: "series",
    LIMIT: "limit",
    FAULT: "fault",
    MEND: "mend",
    SKIP: "skip",
    BAD: "bad",
    DENIED: "denied",
    PAGE: "page",
}

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@contextmanager
def style(name: str) -> Iterator[None]:
    """Draw in the page's inks; ``name`` makes ids differ between the charts of a page."""
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        yield


def strips(heights: list[float]) -> tuple[Figure, list[Axes]]:
    """A figure of strips one under the other, of these heights in inches, with one time axis."""
    top, bottom, left, right, between = 0.55, 0.5, 1.15, 0.12, 0.14
    height = top + sum(heights) + between * (len(heights) - 1) + bottom
    figure = Figure(figsize=(WIDTH_INCHES, height))
    axes: list[Axes] = []
    edge = height - top
    for strip in heights:
        edge -= strip
        box = (
            left / WIDTH_INCHES,
            edge / height,
            (WIDTH_INCHES - left - right) / WIDTH_INCHES,
            strip / height,
        )
        shared = {"sharex": axes[0]} if axes else {}
        axes.append(figure.add_axes(box, **shared))
        edge -= between
    for upper in axes[:-1]:
        upper.tick_params(labelbottom=False, length=0)
    return figure, axes


def inline(figure: Figure, name: str, description: str) -> Markup:
    """The figure as an ``<svg>`` element of an HTML page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var(--{variable})")
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 var(--font)", text)
    text = re.sub(
        r'<svg [^>]*?(viewBox="[^"]*")[^>]*>',
        rf'<svg role="img" aria-label="{description}" \1 xmlns="http://www.w3.org/2000/svg" '
        r'xmlns:xlink="http://www.w3.org/1999/xlink">',
        text,
        count=1,
    )
    return Markup(text)
