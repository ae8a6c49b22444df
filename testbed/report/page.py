# SPDX-License-Identifier: Apache-2.0
"""The page: a template filled with a result, its charts, and figures as people read them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from jinja2 import Environment as Templates
from jinja2 import PackageLoader, StrictUndefined

from testbed.report import wording
from testbed.report.congestion_chart import congestion_chart
from testbed.report.ev_charts import paths_chart, states_chart
from testbed.report.ev_series import SKIP, senders_changes
from testbed.report.goodput_chart import goodput_chart
from testbed.results import Environment, QueueBalance, RunResult
from testbed.sampled import QueueDepth

_MOST_ROWS = 400
"""Rows of a long list that the page shows; result.json has them all."""

_DEEPEST = 10


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure that deserves large type."""

    label: str
    value: str
    note: str


@dataclass(slots=True)
class ClassBalance:
    """All queues of one traffic class together."""

    queues: int = 0
    enqueued: int = 0
    dequeued: int = 0
    lost_in_stop: int = 0

    @property
    def missing(self) -> int:
        """Packets that went in and neither came out nor were lost with their switch."""
        return self.enqueued - self.dequeued - self.lost_in_stop


@dataclass(frozen=True, slots=True)
class PlaneUse:
    """How busy the sending NIC ports of one plane were, as shares of 1."""

    plane: int
    least: float
    median: float
    most: float


def render(result: RunResult, ran: Environment) -> str:
    """The report as one HTML document without references to anything outside it."""
    templates = Templates(
        loader=PackageLoader("testbed.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("number", "micros", "nanos", "gbps", "percent", "size"):
        templates.filters[name] = getattr(wording, name)
    lasting = [change for change in senders_changes(result) if SKIP not in (change.old, change.new)]
    return templates.get_template("page.html").render(
        result=result,
        ran=ran,
        tiles=tiles(result),
        goodput=goodput_chart(result),
        states=states_chart(result) if result.ev_changes else None,
        paths=paths_chart(result),
        congestion=congestion_chart(result),
        deepest=deepest_queues(result.queue_depths),
        classes=class_balances(result.queues),
        uneven=[q for q in result.queues if q.enqueued != q.dequeued + q.lost_in_stop],
        ports=plane_use(result),
        ev_changes=lasting,
        most_rows=_MOST_ROWS,
        paper_failover=wording.PAPER_FAILOVER,
    )


def tiles(result: RunResult) -> list[Tile]:
    """The figures for the top of the page; what was not measured is left out."""
    packets = result.packets
    found = [
        Tile(
            "verified",
            wording.size(result.bytes_verified),
            f"of {wording.size(result.bytes_posted)} posted, byte for byte",
        )
    ]
    shares = [stretch.share for stretch in result.maxflow if stretch.share is not None]
    if shares:
        found.append(
            Tile("of max-flow", wording.percent(min(shares)), "goodput, the lowest stretch")
        )
    last = [f.last_data_packet_us for f in result.faults if f.last_data_packet_us is not None]
    if last:
        note = f"after a fault; the paper: {wording.PAPER_FAILOVER} of µs"
        found.append(Tile("last packet into it", wording.micros(max(last)), note))
    healed = [f.recovered_us for f in result.faults if f.recovered_us is not None]
    if healed:
        found.append(
            Tile("all lost data placed", wording.micros(max(healed)), "after a fault, at most")
        )
    sent = max(1, packets.data_sent)
    found.append(
        Tile("trimmed", wording.percent(packets.trimmed / sent), f"of {packets.data_sent:,} sent")
    )
    found.append(Tile("timers fired", wording.number(packets.timers_fired), "none is the aim"))
    return found


def class_balances(queues: list[QueueBalance]) -> dict[str, ClassBalance]:
    """Sums over all switch ports, by traffic class in order of name."""
    found: dict[str, ClassBalance] = {}
    for queue in sorted(queues, key=lambda q: q.traffic_class):
        row = found.setdefault(queue.traffic_class, ClassBalance())
        row.queues += 1
        row.enqueued += queue.enqueued
        row.dequeued += queue.dequeued
        row.lost_in_stop += queue.lost_in_stop
    return found


def deepest_queues(queues: list[QueueDepth]) -> list[QueueDepth]:
    """Those that came nearest to their trim threshold, by their 99th percentile; empty ones out."""
    used = [queue for queue in queues if queue.most]
    return sorted(used, key=lambda q: (q.p99 / q.trim_at, q.most), reverse=True)[:_DEEPEST]


def plane_use(result: RunResult) -> list[PlaneUse]:
    """Busy shares of the sending NIC ports, by plane (a NIC port's number is its plane)."""
    shares: dict[int, list[float]] = {}
    for use in result.port_use:
        shares.setdefault(use.port, []).append(use.busy_share)
    return [
        PlaneUse(plane, min(values), statistics.median(values), max(values))
        for plane, values in sorted(shares.items())
    ]
