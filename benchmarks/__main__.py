# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks: ``python -m benchmarks [NAME …] [--json FILE]``.

A benchmark is a module of this package with a function ``run()`` that returns records; a new
one needs no entry here. Records go to a table a benchmark, and with the machine they were made
on to a JSON file.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import pkgutil
import platform
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import benchmarks

DEFAULT_FILE = Path("results") / "benchmarks.json"


def available() -> list[str]:
    """Names of the modules that can be run."""
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name[0] != "_")


def environment() -> dict[str, Any]:
    """What figures depend on and cannot be compared without."""
    return {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def table(name: str, records: list[dict[str, Any]]) -> Table:
    """One benchmark's records: configuration, median, spread, and the ratio where there is one."""
    keys = list(dict.fromkeys(key for record in records for key in record["configuration"]))
    relative = any("relative" in record for record in records)
    result = Table(title=name)
    for key in keys:
        result.add_column(key)
    result.add_column("median", justify="right")
    result.add_column("lowest – highest", justify="right")
    if relative:
        result.add_column("relative", justify="right")
    for record in records:
        cells = [str(record["configuration"].get(key, "")) for key in keys]
        cells.append(f"{record['value']:,} {record['unit']}")
        cells.append(f"{record['lowest']:,} – {record['highest']:,}")
        if relative:
            cells.append(f"{record.get('relative', '')}")
        result.add_row(*cells)
    return result


def main() -> None:
    """Run what is asked for, or everything."""
    names = available()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--json", type=Path, default=DEFAULT_FILE, help="file for the records")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(names)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    console = Console()
    records: list[dict[str, Any]] = []
    for name in arguments.names or names:
        with console.status(f"{name} …"):
            measured = importlib.import_module(f"benchmarks.{name}").run()
        console.print(table(name, measured))
        records += measured
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    document = {"environment": environment(), "records": records}
    arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    console.print(f"records: {arguments.json}")


if __name__ == "__main__":
    main()
