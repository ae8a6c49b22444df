# SPDX-License-Identifier: Apache-2.0
"""`mrc send`: a file of yours across the fabric, with faults if you like, and both digests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import topologies
from testbed.cli.output import (
    FAILED,
    PASSED,
    BadInput,
    console,
    print_json,
    progress_bar,
    refuses_bad_input,
    towards,
)
from testbed.cli.runs import Pcap, Results
from testbed.cli.topo import complete_fabric
from topologies.names import parse_switch

_FAULT = re.compile(
    r"(?P<silent>silent:)?(?P<target>[^@+]+)@(?P<at>[^@+]+)(?:\+(?P<lasts>[^@+]+))?"
)
_NIC_PORT = re.compile(r"(?P<host>h\d+):(?P<port>\d+)")


def parse_fault(text: str) -> dict[str, Any]:
    """A scenario's fault from ``[silent:]TARGET@TIME[+LASTS]``.

    TARGET is a link (``p0t0a-p0t1b``), a switch (``p0t1b``), or a NIC port (``h1:0``). `BadInput`
    when the text has another form; names and times are checked with the scenario.
    """
    match = _FAULT.fullmatch(text)
    if match is None:
        raise BadInput(f"--fail {text}: write it like p0t0a-p0t1b@20us or p0t1b@20us+50us")
    target, silent = match["target"], bool(match["silent"])
    port = _NIC_PORT.fullmatch(target)
    if port is not None:
        if silent:
            raise BadInput(f"--fail {text}: a NIC port does not fail silently, its link does")
        fault: dict[str, Any] = {
            "kind": "nic_port_down",
            "host": port["host"],
            "port": int(port["port"]),
        }
    elif parse_switch(target) is not None:
        fault = {"kind": "switch_silent" if silent else "switch_stop", "switch": target}
    else:
        fault = {"kind": "link_silent" if silent else "link_down", "link": target}
    fault["at"] = match["at"]
    if match["lasts"] is not None:
        fault["lasts"] = match["lasts"]
    return fault


@refuses_bad_input
def send(
    file: Annotated[Path, typer.Argument(help="Any file up to 1 GiB.")],
    src: Annotated[str, typer.Argument(help="Host that sends, e.g. h1.")],
    dst: Annotated[str, typer.Argument(help="Host that receives, e.g. h8.")],
    topology: Annotated[
        str, typer.Option(help="Preset's name or YAML file.", autocompletion=complete_fabric)
    ] = "demo",
    fail: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET@TIME",
            help="Break a link (p0t0a-p0t1b@20us), switch (p0t1b@20us) or NIC port (h1:0@20us); "
            "silent:TARGET keeps carrier up; +TIME mends it after that. Can be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what arrived into this file.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print digests and result as JSON.")
    ] = False,
    pcap: Pcap = None,
    results: Results = Path("results"),
) -> None:
    """Send a file from one host to another in virtual time and compare SHA-256 digests."""
    from testbed.cli.run_tables import show_run
    from testbed.report import read_run, write_report
    from testbed.send_file import send_file

    faults = [parse_fault(text) for text in fail or []]
    if not file.is_file():
        raise BadInput(f"{file}: {'is no regular file' if file.exists() else 'no such file'}")
    folder = results / f"send-{seed}"
    expected_ns = _expected_ns(topologies.load(topology), file.stat().st_size)
    with progress_bar(file.name, quiet=as_json) as progress:
        sent = send_file(
            file,
            src,
            dst,
            topology=topology,
            faults=faults,
            seed=seed,
            out=out,
            progress=towards(progress, expected_ns),
            results_dir=folder,
            capture=pcap or (),
        )
    write_report(folder)
    if as_json:
        digests = {"sent_sha256": sent.source_sha256, "received_sha256": sent.destination_sha256}
        run = sent.result.model_dump(mode="json")
        print_json({"bytes": sent.length, "intact": sent.intact, **digests, "result": run})
    else:
        screen = console()
        show_run(screen, *read_run(folder), folder)
        screen.print()
        screen.print(f"sha256 sent      {sent.source_sha256}  {escape(str(file))}", soft_wrap=True)
        where = f"memory of {dst}" if out is None else f"memory of {dst}, written to {out}"
        screen.print(f"sha256 received  {sent.destination_sha256}  {escape(where)}", soft_wrap=True)
    raise typer.Exit(PASSED if sent.intact else FAILED)


def _expected_ns(fabric: topologies.Fabric, length: int) -> int:
    """How long the file takes at line rate."""
    line_rate_bps = fabric.spec.planes * fabric.nic_rate_bps
    return max(1, length * 8 * 1_000_000_000 // line_rate_bps) + fabric.base_rtt_ns()
