# SPDX-License-Identifier: Apache-2.0
"""`python -m testbed.soak`: random work under random faults in virtual time; nothing may be left.

Two runs with one seed do the same to the last bit, and show the same digest. Exit status 1 when
memory was wrong or a table of outstanding state was not empty at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from testbed.soak.soak import PACKETS, SoakResult, soak


def main() -> int:
    """Run what the arguments ask for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m testbed.soak", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="decides everything (default: 1)")
    parser.add_argument(
        "--packets", type=_positive, default=PACKETS, help=f"data packets (default: {PACKETS:,})"
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="parent of the run")
    arguments = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 100)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("packets", total=arguments.packets)
        result = soak(
            arguments.seed,
            arguments.packets,
            lambda sent, wanted: bar.update(task, completed=min(sent, wanted)),
        )
    folder = arguments.results / f"soak-{arguments.packets}-seed-{arguments.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "soak.json"
    file.write_text(json.dumps(result.as_dict(), indent=2) + "\n")
    console.print(table(result))
    for problem in result.problems:
        console.print(f"[red]✗[/red] {problem}", highlight=False)
    console.print(f"{'passed' if result.passed else 'FAILED'} · {file}")
    return 0 if result.passed else 1


def table(result: SoakResult) -> Table:
    """What happened, and what was left, a line each."""
    out = Table(title=f"soak, seed {result.seed}", show_header=False)
    out.add_column(no_wrap=True)
    out.add_column(overflow="fold")
    counters = result.counters
    again = ("retransmitted", "timeouts", "trimmed_received", "nacks_received", "duplicates")
    tables = len(result.outstanding)
    for name, value in (
        ("data packets", f"{result.packets:,} ({result.packet_hops:,} packet-hops)"),
        ("virtual time", f"{result.virtual_ns / 1e6:,.1f} ms in {result.wall_s:,.0f} s"),
        ("faults", _listed(result.faults)),
        ("frames lost to", _listed(result.lost)),
        ("frames on links", _listed(result.disorder)),
        ("counted by queue pairs", _listed({name: counters.get(name, 0) for name in again})),
        ("queue pairs", _listed(result.qps)),
        ("sessions", _listed(result.sessions)),
        ("writes ended", _listed(result.writes)),
        ("memory compared", f"{result.compared_bytes / 1e6:,.1f} MB"),
        ("outstanding at the end", f"{tables} kinds of table, {_wrong(result)} not as at rest"),
        ("objects left", _listed(result.objects_left) or "none"),
        ("digest", result.digest),
    ):
        out.add_row(name, value)
    return out


def _wrong(result: SoakResult) -> int:
    return sum(not row["ok"] for row in result.outstanding)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a positive number")
    return number


if __name__ == "__main__":
    raise SystemExit(main())
