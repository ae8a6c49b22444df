# SPDX-License-Identifier: Apache-2.0
"""`mrc write-bw` and `mrc write-lat`: what perftest's ib_write_bw and ib_write_lat do, with MRC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli.output import FAILED, BadInput, print_json, refuses_bad_input
from testbed.cli.topo import complete_fabric

if TYPE_CHECKING:
    from testbed.perftest.ends import Ends
    from testbed.perftest.settings import Settings

Source = Annotated[str | None, typer.Argument(help="Host that measures; h1 by default.")]
Destination = Annotated[
    str | None, typer.Argument(help="Host it writes to; by default the first under another T0.")
]
Size = Annotated[
    str | None, typer.Option("--size", "-s", help="Bytes of a message, e.g. 4096 or 64KiB.")
]
All = Annotated[bool, typer.Option("--all", "-a", help="Sizes from 2 to 2^23.")]
Iterations = Annotated[
    int | None,
    typer.Option("--iters", "-n", help="Messages of each QP, 5 at least; else what is quick."),
]
Duration = Annotated[
    str | None,
    typer.Option(
        "--duration", "-D", help="Run for a time, e.g. 5 (seconds) or 200us; half of it counts."
    ),
]
Mtu = Annotated[
    int | None, typer.Option("--mtu", "-m", help="Payload of a packet; else the fabric's.")
]
Qps = Annotated[int, typer.Option("--qp", "-q", help="Number of queue pairs.")]
TxDepth = Annotated[int, typer.Option("--tx-depth", "-t", help="Writes each QP keeps posted.")]
Bidirectional = Annotated[
    bool, typer.Option("--bidirectional", "-b", help="Both hosts write; rates are added up.")
]
Gigabits = Annotated[
    bool, typer.Option("--report_gbits", "--report-gbits", help="Gb/sec instead of MB/sec.")
]
Timeout = Annotated[
    int | None,
    typer.Option("--qp-timeout", "-u", help="Retransmission timer: 1.024 us x 2^value."),
]
BaseRtt = Annotated[
    str | None,
    typer.Option(
        "--base-rtt", help="Round trip that hosts can keep, where it is not the fabric's: 8ms."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
World = Annotated[str, typer.Option(help="virtual, or mininet: a fabric that `mrc up` runs.")]
Topology = Annotated[
    str,
    typer.Option(help="Virtual world: preset's name or YAML file.", autocompletion=complete_fabric),
]
Seed = Annotated[int, typer.Option(min=0, help="Virtual world: seed of everything random.")]
From = Annotated[str | None, typer.Option("--from", metavar="HOST", help="SRC, with --to.")]
To = Annotated[
    str | None, typer.Option("--to", metavar="HOST", help="DST; both: on a running fabric.")
]
Run = Annotated[str | None, typer.Option(help="Which running fabric, where there are several.")]
Server = Annotated[
    str | None, typer.Option(metavar="SOCKET", help="Agent that is written to, with --client.")
]
Client = Annotated[
    str | None, typer.Option(metavar="SOCKET", help="Agent that measures, with --server.")
]


@refuses_bad_input
def write_bw(
    src: Source = None,
    dst: Destination = None,
    size: Size = None,
    all_sizes: All = False,
    iters: Iterations = None,
    duration: Duration = None,
    mtu: Mtu = None,
    qp: Qps = 1,
    tx_depth: TxDepth = 128,
    bidirectional: Bidirectional = False,
    gigabits: Gigabits = False,
    qp_timeout: Timeout = None,
    base_rtt: BaseRtt = None,
    world: World = "virtual",
    topology: Topology = "demo",
    seed: Seed = 1,
    from_host: From = None,
    to_host: To = None,
    run: Run = None,
    server: Server = None,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Bandwidth of RDMA writes between two hosts, in perftest's terms (ib_write_bw)."""
    from testbed.perftest.ends import Ends
    from testbed.perftest.options import Options

    options = Options(size, all_sizes, iters, duration, mtu, qp_timeout, base_rtt)
    ends = Ends(src, dst, from_host, to_host, client, server, world, topology, seed, run)
    with _refusals():
        settings = options.bandwidth(qp, tx_depth, bidirectional)
        _measure(settings, ends, gigabits, as_json)


@refuses_bad_input
def write_lat(
    src: Source = None,
    dst: Destination = None,
    size: Size = None,
    all_sizes: All = False,
    iters: Iterations = None,
    duration: Duration = None,
    mtu: Mtu = None,
    qp_timeout: Timeout = None,
    base_rtt: BaseRtt = None,
    world: World = "virtual",
    topology: Topology = "demo",
    seed: Seed = 1,
    from_host: From = None,
    to_host: To = None,
    run: Run = None,
    server: Server = None,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Latency of RDMA writes between two hosts, in perftest's terms (ib_write_lat)."""
    from testbed.perftest.ends import Ends
    from testbed.perftest.options import Options

    options = Options(size, all_sizes, iters, duration, mtu, qp_timeout, base_rtt)
    ends = Ends(src, dst, from_host, to_host, client, server, world, topology, seed, run)
    with _refusals():
        _measure(options.latency(), ends, False, as_json)


@contextmanager
def _refusals() -> Iterator[None]:
    from testbed.perftest.errors import MeasurementFailed, PerftestError

    try:
        yield
    except PerftestError as error:
        raise BadInput(str(error)) from error
    except MeasurementFailed as error:
        typer.echo(f"mrc: {error}", err=True)
        raise typer.Exit(FAILED) from error


def _measure(settings: Settings, ends: Ends, gigabits: bool, as_json: bool) -> None:
    from testbed.perftest import report
    from testbed.perftest.ends import connect
    from testbed.perftest.measure import measure

    with connect(ends, settings) as pair:
        if as_json:
            rows = list(measure(pair, settings))
            print_json(report.document(settings, pair.facts, rows, gigabits=gigabits))
            return
        for text in report.lines(settings, pair.facts, measure(pair, settings), gigabits=gigabits):
            typer.echo(text)
