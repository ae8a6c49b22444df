# SPDX-License-Identifier: Apache-2.0
"""`mrc topo …`: fabrics, their SIDs, paths, thresholds and tables, in text, JSON and pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

import topologies
from testbed import fabric_facts
from testbed.cli.output import BadInput, console, print_json, refuses_bad_input, table
from testbed.report.wording import nanos, number, size

app = typer.Typer(help="Fabrics: show, draw, list, generate; the switches' tables.")


def complete_fabric(incomplete: str) -> list[str]:
    """Names of presets, for the shell."""
    return [name for name in topologies.preset_names() if name.startswith(incomplete)]


Fabric = Annotated[
    str, typer.Argument(help="Preset's name or YAML file.", autocompletion=complete_fabric)
]
Json = Annotated[bool, typer.Option("--json", help="Print as JSON.")]


@app.command("list")
@refuses_bad_input
def list_fabrics(as_json: Json = False) -> None:
    """List the fabrics that come with the project."""
    facts = [fabric_facts.facts(topologies.load(name)) for name in topologies.preset_names()]
    if as_json:
        print_json([json.loads(fact.model_dump_json()) for fact in facts])
        return
    rows = table()
    rows.add_column("name")
    for name in ("planes", "T0s a plane", "T1s a plane", "NICs a T0", "NICs", "switches", "links"):
        rows.add_column(name, justify="right")
    rows.add_column("a NIC", justify="right")
    rows.add_column("paths a pair", justify="right")
    for fact in facts:
        rows.add_row(
            fact.name,
            str(fact.planes),
            str(fact.t0s_per_plane),
            str(fact.t1s_per_plane),
            str(fact.nics_per_t0),
            number(fact.nics),
            number(fact.switches),
            number(fact.links),
            f"{fact.planes} × {fact.nic_t0_gbps:g} Gb/s",
            number(fact.paths_across_t0s),
        )
    console().print(rows)


@app.command("show")
@refuses_bad_input
def show(
    fabric: Fabric,
    draw: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw it into an .svg or .png file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a fabric: dimensions, SIDs, paths of a pair, times and thresholds."""
    loaded = topologies.load(fabric)
    facts = fabric_facts.facts(loaded)
    if draw is not None:
        from topologies.drawing import draw as draw_fabric

        draw_fabric(loaded, draw)
    if as_json:
        sys.stdout.write(facts.model_dump_json(indent=1) + "\n")
        return
    out = console()
    out.print(f"[bold]{escape(facts.name)}[/bold]")
    rows = table(show_header=False)
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    for name, value in _lines(facts):
        rows.add_row(name, escape(value))
    out.print(rows)
    out.print()
    out.print(_sid_table(facts))
    if draw is not None:
        out.print(f"\ndrawn into {escape(str(draw))}", soft_wrap=True)


def _lines(facts: fabric_facts.FabricFacts) -> list[tuple[str, str]]:
    limits = facts.thresholds_packets
    rows = [
        (
            "dimensions",
            f"{facts.nics:,} NICs, {facts.planes} planes of {facts.t0s_per_plane} T0s (with "
            f"{facts.nics_per_t0} NICs each) and {facts.t1s_per_plane} T1s: "
            f"{facts.switches:,} switches, {facts.links:,} links",
        ),
        (
            "links",
            f"NIC–T0 {facts.nic_t0_gbps:g} Gb/s, {facts.nic_t0_delay_ns:,} ns; "
            f"T0–T1 {facts.t0_t1_gbps:g} Gb/s, {facts.t0_t1_delay_ns:,} ns",
        ),
        (
            "packets",
            f"path MTU {facts.path_mtu} B of payload, trimmed to {facts.trim_length} B",
        ),
        (
            "round trip",
            f"{nanos(facts.base_rtt_ns)} unloaded, so {size(facts.bdp_bytes)} in flight fill a "
            "plane",
        ),
        (
            "queues, packets",
            f"ECN from {limits['ecn_min']} to {limits['ecn_max']}, trimmed at {limits['trim']}, "
            f"at the last hop at {limits['trim_last_hop']}; capacity {limits['data_capacity']}",
        ),
        (
            "paths of a pair",
            f"{facts.paths_across_t0s:,} across T0s ({facts.planes} planes × "
            f"{facts.t1s_per_plane} T1s), {facts.paths_within_t0} within a T0",
        ),
        (
            "for example",
            f"{facts.example.source} → {facts.example.destination} by "
            f"{' → '.join(facts.example.hops)}: destination {facts.example.address}, "
            f"EV {facts.example.ev:08x}",
        ),
        ("DSCPs", ", ".join(f"{name} {value}" for name, value in facts.dscp.items())),
    ]
    if facts.not_installable is not None:
        rows.append(("to install", facts.not_installable))
    return rows


def _sid_table(facts: fabric_facts.FabricFacts) -> Table:
    rows = table(f"SIDs in {facts.sid_block}")
    for name in ("tier", "plane", "first", "uSID", "last", "uSID"):
        rows.add_column(name)
    for sids in facts.sids:
        rows.add_row(
            sids.tier,
            str(sids.plane),
            sids.first,
            f"{sids.first_usid:04x}",
            sids.last,
            f"{sids.last_usid:04x}",
        )
    return rows


@app.command("tables")
@refuses_bad_input
def tables(
    fabric: Fabric,
    switch: Annotated[
        str | None, typer.Argument(help="Switch, e.g. p0t0a: print all of its entries.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show entries per switch and prove the SIDs unique, or show all entries of one switch."""
    from testbed.cli import topo_tables

    loaded = topologies.load(fabric)
    if switch is None:
        topo_tables.show_fabric(loaded, as_json)
    else:
        topo_tables.show_switch(loaded, switch, as_json)


@app.command("generate")
@refuses_bad_input
def generate(
    name: Annotated[str, typer.Argument(help="Name of the new fabric.")],
    planes: Annotated[int, typer.Option(help="Planes, 1 to 8.")],
    t0s: Annotated[int, typer.Option(help="T0s a plane.")],
    t1s: Annotated[int, typer.Option(help="T1s a plane.")],
    nics_per_t0: Annotated[int, typer.Option(help="NICs a T0.")],
    nic_gbps: Annotated[float, typer.Option(help="Rate of a NIC–T0 link.")] = 100.0,
    t1_gbps: Annotated[float, typer.Option(help="Rate of a T0–T1 link.")] = 100.0,
    delay_ns: Annotated[int, typer.Option(help="One-way delay of every link.")] = 500,
    path_mtu: Annotated[int, typer.Option(help="Payload bytes of a full packet.")] = 4096,
    out: Annotated[Path | None, typer.Option(help="File to write; stdout without it.")] = None,
) -> None:
    """Generate a two-tier multi-plane fabric as a YAML file to edit and run."""
    from topologies.clos import generate as generate_spec

    spec = generate_spec(
        name,
        planes=planes,
        t0s=t0s,
        t1s=t1s,
        nics_per_t0=nics_per_t0,
        rate_gbps={"nic_t0": nic_gbps, "t0_t1": t1_gbps},
        delay_ns={"nic_t0": delay_ns, "t0_t1": delay_ns},
        path_mtu=path_mtu,
    )
    text = topologies.to_yaml(spec)
    if out is None:
        sys.stdout.write(text)
        return
    if out.suffix not in (".yaml", ".yml"):
        raise BadInput(f"--out {out}: a fabric's file ends in .yaml")
    out.write_text(text, encoding="utf-8")
    typer.echo(f"{out}: {spec.name}, {spec.t0s * spec.nics_per_t0:,} NICs")
