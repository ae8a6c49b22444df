# SPDX-License-Identifier: Apache-2.0
"""`python -m testbed.mininet.soak`: scenarios again and again with real packets, resumable.

Every run is an `mrc run` in a process of its own; when it has ended, nothing of it may be left.
What came out is a line of `soak.jsonl` in the results folder, and a run that has one is not
repeated. `--show` prints what is stored.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from testbed.mininet import requirements
from testbed.mininet.errors import NotReady
from testbed.mininet.run_folder import marked_processes
from testbed.mininet.signals import ENDING
from testbed.results import RunResult, read_result

SCENARIOS = (
    "link-down",
    "nic-port-down",
    "t1-down-and-up",
    "flapping-links",
    "silent-link",
    "silent-switch",
    "incast-7-to-1-with-victim",
    "lossy-ev",
)
_RUN_S = 300.0
_ENDED_FROM_OUTSIDE = frozenset(128 + number for number in ENDING)
_TOKEN = "MRC_SOAK"
"""In the environment of everything that a run starts, to find what outlives it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. `failed`: checks that did not hold, `left`: what it left on the machine."""

    scenario: str
    switch: str
    seed: int
    status: int
    seconds: float
    failed: list[str]
    left: list[str]
    last_packet_base_rtts: float | None
    stall_base_rtts: float | None
    error: str = ""

    @property
    def good(self) -> bool:
        return self.status == 0 and not self.left


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 when every run was good."""
    options = _parser().parse_args(arguments)
    store = options.results / "soak.jsonl"
    if not options.show:
        kinds = [options.switch] if options.switch else list(requirements.SWITCH_KINDS)
        try:
            for kind in kinds:
                requirements.check(kind)
        except NotReady as error:
            print(f"soak: {error}", file=sys.stderr)
            return 2
        options.results.mkdir(parents=True, exist_ok=True)
        _soak(store, options.scenarios or SCENARIOS, kinds, options.times, options.results)
    outcomes = list(read_outcomes(store))
    show(outcomes)
    return 0 if outcomes and all(outcome.good for outcome in outcomes) else 1


def _soak(
    store: Path, scenarios: Sequence[str], kinds: Sequence[str], times: int, results: Path
) -> None:
    done = {(o.scenario, o.switch, o.seed) for o in read_outcomes(store)}
    # One of each before the second of any: what is broken shows early.
    for seed in range(1, times + 1):
        for scenario in scenarios:
            for kind in kinds:
                if (scenario, kind, seed) in done:
                    continue
                outcome = _run(scenario, kind, seed, results)
                if outcome.status in _ENDED_FROM_OUTSIDE:
                    print(f"{scenario} {kind} seed {seed}: ended by a signal, and not counted")
                    continue
                with store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome), sort_keys=True) + "\n")
                verdict = "good" if outcome.good else f"BAD {outcome.failed} {outcome.left}"
                print(f"{scenario} {kind} seed {seed}: {verdict}, {outcome.seconds:.0f} s")


def _run(scenario: str, kind: str, seed: int, results: Path) -> Outcome:
    token = secrets.token_hex(6)
    interfaces = _interfaces()
    command = [sys.executable, "-c", "from testbed.cli import main; main()", "run", scenario]
    command += ["--world", "mininet", "--switch", kind, "--seed", str(seed), "--json"]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mrc-soak-") as runs:
        environment = {**os.environ, "MRC_RUN_DIR": runs, _TOKEN: token}
        done = _finished([*command, "--results", str(results)], environment)
        seconds = time.monotonic() - started
        left = [f"file {path}" for path in Path(runs).rglob("*")]
    left += [f"interface {name}" for name in sorted(_interfaces() - interfaces)]
    left += [f"process {pid}" for pid in marked_processes(_TOKEN, token)]
    file = results / f"{scenario}-{seed}-{kind}" / "result.json"
    result = read_result(file) if done.returncode in (0, 1) and file.is_file() else None
    failed = [] if result is None else [check.name for check in result.checks if not check.ok]
    return Outcome(
        scenario,
        kind,
        seed,
        done.returncode,
        round(seconds, 1),
        failed,
        left,
        *_worst(result),
        error=done.stderr.strip()[-500:] if done.returncode else "",
    )


def _finished(
    command: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """A run that has ended, if need be by force."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_RUN_S,
            check=False,
            env=environment,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        late = f"did not end within {_RUN_S:g} s"
        return subprocess.CompletedProcess(command, -1, stdout="", stderr=late)


def _worst(result: RunResult | None) -> tuple[float | None, float | None]:
    timings = [] if result is None or result.real_time is None else result.real_time.faults
    last = [t.last_packet_base_rtts for t in timings if t.last_packet_base_rtts is not None]
    stalls = [t.stall_base_rtts for t in timings if t.stall_base_rtts is not None]
    return max(last, default=None), max(stalls, default=None)


def _interfaces() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def read_outcomes(store: Path) -> Iterator[Outcome]:
    """What is stored, oldest first."""
    if store.is_file():
        for line in store.read_text(encoding="utf-8").splitlines():
            yield Outcome(**json.loads(line))


def show(outcomes: Sequence[Outcome]) -> None:
    """A row for each scenario and kind of switch."""
    rows = Table(box=None, pad_edge=False)
    for name in ("scenario", "switches"):
        rows.add_column(name)
    for name in ("good", "seconds,\nmedian", "most", "last packet,\nbase RTTs, median", "most"):
        rows.add_column(name, justify="right")
    rows.add_column("what failed")
    for scenario, kind in dict.fromkeys((o.scenario, o.switch) for o in outcomes):
        runs = [o for o in outcomes if (o.scenario, o.switch) == (scenario, kind)]
        good = sum(o.good for o in runs)
        last = [o.last_packet_base_rtts for o in runs if o.last_packet_base_rtts is not None]
        bad = sorted({name for o in runs for name in [*o.failed, *o.left]})
        rows.add_row(
            scenario,
            kind,
            f"{good} of {len(runs)}",
            f"{statistics.median(o.seconds for o in runs):.0f}",
            f"{max(o.seconds for o in runs):.0f}",
            f"{statistics.median(last):.2f}" if last else "–",
            f"{max(last):.2f}" if last else "–",
            ", ".join(bad),
        )
    Console(width=None if sys.stdout.isatty() else 120).print(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m testbed.mininet.soak", description=__doc__)
    parser.add_argument("scenarios", nargs="*", help="all that ship with faults, and the incast")
    parser.add_argument("--times", type=int, default=10, help="runs of each, seeds 1, 2, …")
    parser.add_argument("--switch", choices=requirements.SWITCH_KINDS, help="both by default")
    parser.add_argument("--results", type=Path, default=Path("results/soak-mininet"))
    parser.add_argument("--show", action="store_true", help="run nothing, show what is stored")
    return parser


if __name__ == "__main__":
    sys.exit(main())
