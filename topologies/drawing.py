# SPDX-License-Identifier: Apache-2.0
"""A picture of a fabric: a panel a plane with T1s, T0s and NICs, their uSIDs, and one path.

Small fabrics are drawn whole. In large ones each row shows its first and last nodes, and the
first and last plane stand for all; what is left out is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from topologies import names, sids
from topologies.errors import TopologyError
from topologies.fabric import Fabric

FORMATS = (".svg", ".png")

# Rows longer than this are shortened to their ends; see _shown.
_MAX_T1S = 16
_MAX_NICS = 32

_T1_Y, _T0_Y, _NIC_Y = 2.0, 1.0, 0.0
_GAP_SLOTS, _MIN_SLOTS, _ONE_COLUMN_SLOTS = 1.6, 4.0, 10.0
_BOX_W, _BOX_H = 0.86, 0.34
_INCHES_PER_SLOT = 0.78
_PANEL_INCHES = 3.3
_TITLE_INCHES, _LEGEND_INCHES = 0.75, 1.1

_T1_FILL, _T0_FILL, _NIC_FILL = "#dbe7f5", "#e3f1df", "#f6ecd9"
_EDGE, _LINK, _FAINT, _PATH = "#38424d", "#9aa5b1", "#69737d", "#c8322b"

# Any: matplotlib types its settings as literals from some release on.
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fabric",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
}


@dataclass(frozen=True)
class _Rows:
    """Which nodes of each row are drawn, and where: index → x. A gap stands for the rest."""

    t1s: dict[int, float]
    t0s: dict[int, float]
    nics: dict[int, float]
    gaps: list[tuple[float, float, int, str]]
    width: float


def draw(fabric: Fabric, path: str | Path) -> Path:
    """Draw the fabric into `path`, an SVG or PNG file by its suffix, and return the path.

    TopologyError for another suffix; OSError when the file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise TopologyError(f"{target}: a drawing is an .svg or .png file")
    with matplotlib.rc_context(_STYLE):
        figure = _figure(fabric)
        metadata = {"Date": None} if target.suffix.lower() == ".svg" else {"Software": None}
        figure.savefig(target, dpi=150, metadata=metadata)
    return target


def _figure(fabric: Fabric) -> Figure:
    rows = _place(fabric)
    planes = _shown_planes(fabric, rows)
    columns = 1 if len(planes) == 1 or rows.width > _ONE_COLUMN_SLOTS else 2
    lines = -(-len(planes) // columns)
    width = max(columns * (rows.width * _INCHES_PER_SLOT + 0.3), 9.0)
    height = lines * _PANEL_INCHES + _TITLE_INCHES + _LEGEND_INCHES
    figure = Figure(figsize=(width, height), facecolor="white")
    panels = figure.subplots(lines, columns, squeeze=False)
    figure.subplots_adjust(
        left=0.01,
        right=0.99,
        top=1 - _TITLE_INCHES / height,
        bottom=_LEGEND_INCHES / height,
        wspace=0.02,
        hspace=0.08,
    )
    flat = list(panels.flat)
    for plane, axes in zip(planes, flat, strict=False):
        _draw_plane(axes, fabric, rows, plane, example=plane == planes[-1])
    for axes in flat[len(planes) :]:
        axes.set_axis_off()
    _write_texts(figure, fabric, planes, height)
    return figure


def _shown_planes(fabric: Fabric, rows: _Rows) -> list[int]:
    planes = list(range(fabric.spec.planes))
    return planes if not rows.gaps else sorted({planes[0], planes[-1]})


def _shown(count: int, whole: bool) -> list[int | None]:
    """Indexes of a row; None marks the gap in a row that is not drawn whole."""
    if whole or count <= 4:
        return list(range(count))
    return [0, 1, None, count - 1]


def _place(fabric: Fabric) -> _Rows:
    """Positions: T0s stand over their NICs, T1s spread evenly over the panel."""
    spec = fabric.spec
    small = fabric.nic_count <= _MAX_NICS and spec.t1s <= _MAX_T1S
    gaps: list[tuple[float, float, int, str]] = []
    t0s: dict[int, float] = {}
    nics: dict[int, float] = {}
    x = 0.0
    for t0 in _shown(spec.t0s, small):
        if t0 is None:
            gaps.append((x + _GAP_SLOTS / 2 - 0.5, _T0_Y, spec.t0s - 3, "T0s"))
            x += _GAP_SLOTS
            continue
        start = x
        for downlink in _shown(spec.nics_per_t0, small):
            if downlink is None:
                gaps.append((x, _NIC_Y, spec.nics_per_t0 - 3, "NICs"))
                x += 1.0
                continue
            nics[t0 * spec.nics_per_t0 + downlink] = x
            x += 1.0
        t0s[t0] = (start + x - 1.0) / 2
        x += 0.35
    width = max(x - 0.35, float(len(_shown(spec.t1s, small))))
    t1s = {}
    slots = _shown(spec.t1s, small)
    for position, t1 in enumerate(slots):
        at = (position + 0.5) * width / len(slots) - 0.5
        if t1 is None:
            gaps.append((at, _T1_Y, spec.t1s - 3, "T1s"))
        else:
            t1s[t1] = at
    return _Rows(t1s, t0s, nics, gaps, width)


def _draw_plane(axes: Axes, fabric: Fabric, rows: _Rows, plane: int, *, example: bool) -> None:
    axes.set_axis_off()
    spare = max(_MIN_SLOTS - rows.width, 0.0) / 2
    axes.set_xlim(-0.6 - spare, rows.width - 0.4 + spare)
    axes.set_ylim(-0.35, 2.62)
    axes.text(-0.5 - spare, 2.42, f"plane {plane}", fontsize=11, fontweight="bold", color=_EDGE)
    on_path = _example_links(fabric, plane) if example else set()
    for (x1, y1), (x2, y2), ends in _lines(fabric, rows, plane):
        hot = ends in on_path
        colour, width = (_PATH, 2.0) if hot else (_LINK, 0.8)
        axes.plot([x1, x2], [y1, y2], color=colour, linewidth=width, zorder=2 if hot else 1)
    for t1, x in rows.t1s.items():
        switch = fabric.switch_at(plane, 1, t1)
        _box(axes, x, _T1_Y, _T1_FILL, switch.name, switch.usid)
    for t0, x in rows.t0s.items():
        switch = fabric.switch_at(plane, 0, t0)
        _box(axes, x, _T0_Y, _T0_FILL, switch.name, switch.usid)
    for nic, x in rows.nics.items():
        _box(axes, x, _NIC_Y, _NIC_FILL, names.host_name(nic), fabric.nic_usid(plane, nic))
    for x, y, count, what in rows.gaps:
        text = f"…\n{count} {what}"
        axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color=_FAINT)


def _lines(
    fabric: Fabric, rows: _Rows, plane: int
) -> Iterator[tuple[tuple[float, float], tuple[float, float], tuple[str, str]]]:
    """Both ends, and the names of both nodes, of every link between nodes that are drawn."""
    for nic, x in rows.nics.items():
        t0 = fabric.host_at(nic).t0
        ends = (names.host_name(nic), names.switch_name(plane, 0, t0))
        yield (x, _NIC_Y), (rows.t0s[t0], _T0_Y), ends
    for t0, x in rows.t0s.items():
        for t1, top in rows.t1s.items():
            ends = (names.switch_name(plane, 0, t0), names.switch_name(plane, 1, t1))
            yield (x, _T0_Y), (top, _T1_Y), ends


def _box(axes: Axes, x: float, y: float, fill: str, name: str, usid: int) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x - _BOX_W / 2, y - _BOX_H / 2),
            _BOX_W,
            _BOX_H,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=fill,
            edgecolor=_EDGE,
            linewidth=0.8,
            zorder=3,
        )
    )
    style: Any = {"ha": "center", "va": "center", "zorder": 4}
    size = 8.5 if len(name) <= 6 else 7.0
    axes.text(x, y + 0.075, name, fontsize=size, fontweight="bold", color=_EDGE, **style)
    axes.text(x, y - 0.08, f"{usid:04x}", fontsize=7.5, family="monospace", color=_EDGE, **style)


def _example(fabric: Fabric) -> tuple[int, int, int]:
    """(source NIC, destination NIC, uplink) of the path that is drawn in red."""
    return 0, fabric.nic_count - 1, fabric.spec.t1s - 1


def _example_links(fabric: Fabric, plane: int) -> set[tuple[str, str]]:
    src, dst, uplink = _example(fabric)
    first, last = (fabric.host_at(nic) for nic in (src, dst))
    t0s = [names.switch_name(plane, 0, host.t0) for host in (first, last)]
    links = {(first.name, t0s[0]), (last.name, t0s[1])}
    if t0s[0] != t0s[1]:
        links |= {(t0, names.switch_name(plane, 1, uplink)) for t0 in t0s}
    return links


def _write_texts(figure: Figure, fabric: Fabric, planes: list[int], height: float) -> None:
    spec = fabric.spec
    title = (
        f"{fabric.name}: {_count(fabric.nic_count, 'NIC')}, {_count(spec.planes, 'plane')} "
        f"of {_count(spec.t0s, 'T0')} and {_count(spec.t1s, 'T1')}"
    )
    figure.text(0.015, 1 - 0.3 / height, title, fontsize=14, fontweight="bold", color=_EDGE)
    rates, delays = spec.rate_gbps, spec.delay_ns
    facts = (
        f"NIC–T0 {rates.nic_t0:g} Gb/s, {delays.nic_t0:,} ns   ·   "
        f"T0–T1 {rates.t0_t1:g} Gb/s, {delays.t0_t1:,} ns   ·   path MTU {spec.path_mtu}   ·   "
        f"base RTT {fabric.base_rtt_ns() / 1000:.2f} µs"
    )
    figure.text(0.015, 1 - 0.55 / height, facts, fontsize=9, color=_FAINT)
    for line, (text, colour) in enumerate(_legend(fabric, planes)):
        y = (_LEGEND_INCHES - 0.4 - 0.24 * line) / height
        figure.text(0.015, y, text, fontsize=9, color=colour)


def _legend(fabric: Fabric, planes: list[int]) -> list[tuple[str, str]]:
    src, dst, uplink = _example(fabric)
    plane = planes[-1]
    address = IPv6Address(fabric.path_template(src, dst).address(plane, uplink))
    ev = sids.ev_pack(plane, uplink)
    lines = [
        (
            f"{names.host_name(src)} to {names.host_name(dst)} on plane {plane} by uplink "
            f"{uplink} (EV {ev:#010x}): destination {address}",
            _PATH,
        ),
        (
            f"SID block {fabric.spec.sid_block}; under each name its 16-bit uSID in hexadecimal: "
            "plane 3 bits, tier 2 bits (1 NIC, 2 T0, 3 T1), index 11 bits",
            _FAINT,
        ),
    ]
    hidden = fabric.spec.planes - len(planes)
    if hidden:
        lines.append(
            (f"not drawn: {_count(hidden, 'plane')} like these, with uSIDs of its own", _FAINT)
        )
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
