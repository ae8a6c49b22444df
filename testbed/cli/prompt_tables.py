# SPDX-License-Identifier: Apache-2.0
"""What the prompt of `mrc up` shows, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from endpoint.agent.values import PortStatus, Statistics
from testbed.cli.output import table
from testbed.mininet.breaker import QUEUES_PER_PORT
from testbed.mininet.session import PathTable, Session
from testbed.mininet.switch_figures import (
    CLASS_DEQUEUED,
    CLASS_ENQUEUED,
    DROP_REASONS,
    DROPS,
    MARKED,
    RECEIVED,
    TRIMMED,
)
from testbed.mininet.transfers import Transfer, TransferResult
from testbed.report.wording import number, size

_STATES = {
    "good": "[green]good[/green]",
    "skip": "[yellow]skip[/yellow]",
    "assumed_bad": "[bold red]assumed bad[/bold red]",
    "denied": "[red]denied[/red]",
}
_CLASSES = ("data", "trimmed", "control")
_SHOWN = ("data_sent", "retransmitted", "lost", "timeouts", "data_received", "duplicates",
          "nacks_trimmed")  # fmt: skip


def transfer_line(transfer: Transfer, result: TransferResult) -> str:
    """One line when a write has ended."""
    if result.error is not None:
        return f"write {transfer.number}: FAILED after {size(result.bytes)}: {result.error}"
    rate = result.bytes * 8 / result.seconds / 1e6
    return (
        f"write {transfer.number}: {size(result.bytes)} in {result.seconds:.1f} s, "
        f"{rate:.2f} Mb/s, every byte equal; {result.packets:,} packets, "
        f"{result.retransmitted} re-sent, {result.trimmed} trimmed, longest gap "
        f"{result.longest_gap_ms:.0f} ms"
    )


def show_help(out: Console, usages: Sequence[str]) -> None:
    """Our commands first; how to reach Mininet's own."""
    for usage in usages:
        out.print(f"  {escape(usage)}")
    out.print(
        "  NODE COMMAND …: run a command in a node's namespace: h1 ip -s link\n"
        "  of Mininet's own: nodes net ports intfs dump sh py px source time exit\n"
        "`help COMMAND` says more; Tab completes.",
        markup=False,
        highlight=False,
    )


def show_status(out: Console, session: Session) -> None:
    """Everything at a glance."""
    fabric, live = session.fabric, session.live
    out.print(
        f"{escape(fabric.name)}: {fabric.nic_count} hosts with {fabric.spec.planes} ports of "
        f"{fabric.nic_rate_bps / 1e6:.3g} Mb/s, base round trip {fabric.base_rtt_ns() / 1e6:.3g} "
        f"ms; switches: {live.switch_kind}; logs and captures in {escape(str(session.results))}"
    )
    ended = [
        switch.name for switch in fabric.switches() if not live.net.switch(switch.name).running
    ]
    out.print(
        f"{fabric.switch_count - len(ended)} of {fabric.switch_count} switches run"
        + (f"; not running: {', '.join(ended)}" if ended else "")
    )
    agents = live.agents.processes
    gone = [host for host, process in agents.items() if process.returncode is not None]
    out.print(
        f"{len(agents) - len(gone)} of {len(agents)} agents run"
        + (f"; ended: {', '.join(gone)} (`restart HOST`)" if gone else "")
    )
    for transfer in list(session.transfers.values()):
        out.print(
            f"write {transfer.number} under way: {size(transfer.written)} of "
            f"{size(transfer.length)}"
        )
    for link, capture in session.captures.items():
        out.print(escape(f"capturing {link} into {capture.path}"))
    show_faults(out, session)


def show_faults(out: Console, session: Session) -> None:
    """What is broken, and what it has cost."""
    if not session.faults:
        out.print("nothing is broken")
        return
    rows = table()
    for name in ("", "broken"):
        rows.add_column(name)
    for name in ("data lost", "control lost", "probes lost"):
        rows.add_column(name, justify="right")
    for fault in session.faults:
        counted = session.breaker.counted(fault.number)
        rows.add_row(
            str(fault.number),
            escape(fault.label),
            number(counted.data),
            number(counted.control),
            number(counted.probes),
        )
    out.print(rows)


def show_paths(out: Console, host: str, tables: Sequence[PathTable]) -> None:
    """Every path of every queue pair that sends from a host."""
    if not tables:
        out.print(
            f"{escape(host)} has no queue pair that sends: `write {escape(host)} …` makes one"
        )
    for found in tables:
        rows = table(f"{host} → {found.peer}, QP {found.qpn}")
        for name in ("EV", "plane", "uplink", "state", "in use"):
            rows.add_column(name)
        rows.add_column("data packets", justify="right")
        for path in found.paths:
            rows.add_row(
                f"{path.ev:08x}",
                str(path.plane),
                str(path.uplink),
                _STATES.get(path.state, escape(path.state)),
                "yes" if path.in_use else "",
                number(path.data_packets),
            )
        out.print(rows)


def show_statistics(out: Console, statistics: Statistics, ports: Sequence[PortStatus]) -> None:
    """Ports of a host, then its queue pairs."""
    rows = table("Ports")
    for name in ("port", "interface", "usable"):
        rows.add_column(name)
    for name in ("received", "sent", "send errors", "dropped here"):
        rows.add_column(name, justify="right")
    for port, counts in zip(ports, statistics.ports, strict=True):
        rows.add_row(
            str(port.port),
            escape(port.interface),
            "yes" if port.usable else "[bold red]no[/bold red]",
            number(counts.frames_received),
            number(counts.frames_sent),
            number(sum(counts.send_errors.values())),
            number(counts.socket_drops + counts.interface_drops),
        )
    out.print(rows)
    rows = table("Queue pairs")
    for name in ("QP", "state"):
        rows.add_column(name)
    for name in ("round trip, ms", "window", *(name.replace("_", " ") for name in _SHOWN)):
        rows.add_column(name, justify="right")
    for qp in statistics.qps:
        rows.add_row(
            str(qp.qpn),
            escape(f"{qp.state} {qp.error}".strip()),
            f"{qp.smoothed_rtt_ns / 1e6:,.1f}",
            size(qp.window_bytes),
            *(number(qp.counters[name]) for name in _SHOWN),
        )
    out.print(rows)


def show_counters(out: Console, session: Session, names: Sequence[str]) -> None:
    """Packets of these switches, port by port, and what their programs dropped."""
    rows = table()
    for name in ("switch", "port", "to"):
        rows.add_column(name)
    heads = ("received", *(f"{name}\nqueued" for name in _CLASSES), "in queues", "marked", "cut")
    for name in heads:
        rows.add_column(name, justify="right")
    drops = []
    for name in names:
        if not session.live.net.switch(session.fabric.switch(name).name).running:
            rows.add_row(escape(name), "not running")
            continue
        counters = session.counters(name)
        for port in session.fabric.ports(name):
            cells = [port * QUEUES_PER_PORT + queue for queue in range(len(_CLASSES))]
            queued = [counters[CLASS_ENQUEUED][cell].packets for cell in cells]
            left = [counters[CLASS_DEQUEUED][cell].packets for cell in cells]
            rows.add_row(
                escape(name),
                str(port),
                session.fabric.neighbour(name, port).node,
                number(counters[RECEIVED][port].packets),
                *(number(count) for count in queued),
                number(sum(queued) - sum(left)),
                number(counters[MARKED][port].packets),
                number(counters[TRIMMED][port].packets),
            )
        drops += [
            f"{name} {reason} {packets:,}"
            for cell, reason in DROP_REASONS.items()
            if (packets := counters[DROPS][cell].packets)
        ]
    out.print(rows)
    if drops:
        out.print(f"dropped by switches: {escape(', '.join(drops))}")
