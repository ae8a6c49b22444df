# SPDX-License-Identifier: Apache-2.0
"""Finds the agents of a fabric that somebody has brought up on this machine."""

from __future__ import annotations

from testbed.mininet.run_folder import FoundRun, find_runs, runs_folder
from testbed.perftest.errors import PerftestError


def agent_sockets(hosts: tuple[str, str], run_id: str | None = None) -> tuple[str, str]:
    """The control sockets of two hosts. PerftestError when no fabric is up, when several are and
    `run_id` does not say which, or when a host has no agent."""
    try:
        alive = [run for run in find_runs() if run.alive]
    except PermissionError as error:
        raise PerftestError(f"{error.filename}: only root may use a running fabric") from error
    run = _choose(alive, run_id)
    sockets = [run.path / f"{host}.sock" for host in hosts]
    for host, socket in zip(hosts, sockets, strict=True):
        if not socket.is_socket():
            there = ", ".join(sorted(path.stem for path in run.path.glob("*.sock"))) or "none"
            raise PerftestError(f"run {run.path.name}: {host} has no agent (there are: {there})")
    return str(sockets[0]), str(sockets[1])


def _choose(alive: list[FoundRun], run_id: str | None) -> FoundRun:
    known = ", ".join(f"{run.path.name} ({run.what})" for run in alive)
    if run_id is not None:
        for run in alive:
            if run.path.name == run_id:
                return run
        raise PerftestError(f"--run {run_id}: is not up (up: {known or 'none'})")
    if not alive:
        raise PerftestError(f"no fabric is up (nothing in {runs_folder()}): mrc up TOPOLOGY")
    if len(alive) > 1:
        raise PerftestError(f"several fabrics are up, choose one with --run: {known}")
    return alive[0]
