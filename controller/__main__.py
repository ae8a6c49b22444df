# SPDX-License-Identifier: Apache-2.0
"""`python -m controller`: install a fabric's tables on its switches, from the command line."""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from controller.client import Timeouts
from controller.install import InstallOptions, InstallReport, SwitchReport, install
from controller.limits import NotInstallableError, check_installable
from controller.pipeline import PipelineFileError, load_pipeline
from controller.tables import switch_entries
from controller.targets import TargetsError, load_targets
from topologies import TopologyError, load


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 when every switch holds what is meant, 1 when one failed, 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        fabric = load(options.fabric)
        check_installable(fabric)
        targets = load_targets(options.switches, fabric)
        pipeline = load_pipeline(options.program, options.p4info)
    except (TopologyError, NotInstallableError, TargetsError, PipelineFileError) as error:
        print(f"controller: {error}", file=sys.stderr)
        return 2
    report = install(
        targets,
        pipeline,
        lambda name: switch_entries(fabric, name),
        InstallOptions(replace=options.replace, timeouts=Timeouts(connect_s=options.wait)),
        on_done=None if options.json else _print_switch,
    )
    if options.json:
        print(json.dumps(dataclasses.asdict(report), indent=2))
    else:
        print(_summary(report))
    return report.exit_status


def _print_switch(report: SwitchReport) -> None:
    if report.error is not None:
        print(f"error: {report.error}", file=sys.stderr)
        return
    program = "program pushed, " if report.pushed else ""
    print(
        f"{report.name}: {program}{report.inserted} inserted, {report.modified} modified, "
        f"{report.deleted} deleted, {report.unchanged} unchanged ({report.seconds:.2f} s)"
    )


def _summary(report: InstallReport) -> str:
    done = len(report.switches) - len(report.errors)
    return f"{done} of {len(report.switches)} switches installed, {report.changes} changes"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="controller", description=__doc__)
    parser.add_argument("fabric", help="preset name or topology file")
    parser.add_argument(
        "--switches", type=Path, required=True, help="YAML: switch name to address and device_id"
    )
    parser.add_argument("--program", type=Path, default=Path("p4src/compiled/mrc.json"))
    parser.add_argument("--p4info", type=Path, default=Path("p4src/compiled/mrc.p4info.txt"))
    parser.add_argument("--replace", action="store_true", help="replace another program")
    parser.add_argument("--wait", type=float, default=5.0, help="seconds for a switch to answer")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
