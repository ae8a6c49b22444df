# SPDX-License-Identifier: Apache-2.0
"""Brings a fabric up for a prompt, and takes it down when the prompt ends."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path

import typer

from controller.limits import not_installable
from testbed.cli.output import BadInput
from testbed.cli.prompt import Prompt
from testbed.mininet.live import LiveFabric
from testbed.mininet.run import LOGS, known_costs, made_bearable, path_rtt_ns, speed_line
from testbed.mininet.scaling import hold_ns
from testbed.mininet.session import Session
from testbed.mininet.signals import orderly_end
from testbed.mininet.transfers import Transfer, TransferResult
from topologies.fabric import Fabric


def _say(text: str) -> None:
    typer.echo(text, err=True)


def run_prompt(
    described: Fabric,
    kind: str,
    *,
    as_described: bool,
    senders: int | None,
    script: Path | None,
    seed: int,
    results: Path,
) -> None:
    """Until the prompt ends. MininetWorldError when the fabric cannot be brought up."""
    reason = not_installable(described)
    if reason is not None:
        raise BadInput(reason)
    if script is not None and not script.is_file():
        raise BadInput(f"--script {script}: no such file")
    with ExitStack() as stack:
        stack.enter_context(orderly_end())
        costs = known_costs(kind, results / LOGS, _say)
        count = min(senders or described.nic_count, described.nic_count)
        slow = made_bearable(described, count, kind, costs, as_described=as_described)
        _say(speed_line(slow, kind))
        live = stack.enter_context(
            LiveFabric(
                slow.fabric,
                kind,
                logs=results / LOGS,
                seed=seed,
                hold_ns=hold_ns(slow.fabric, path_rtt_ns(costs)),
                say=_say,
            )
        )
        prompts: list[Prompt] = []

        def tell(transfer: Transfer, result: TransferResult) -> None:
            if prompts:
                prompts[0].tell(transfer, result)

        session = Session(live, described, slow.time_scale, results, tell)
        stack.callback(session.close)
        _say("up; `help` lists commands")
        _prompt(session, prompts, script)
        _say("taking everything down")


def _prompt(session: Session, prompts: list[Prompt], script: Path | None) -> None:
    """The prompt has Ctrl-C for itself: it ends a command, not the fabric."""
    ending = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        Prompt(session, prompts, script=None if script is None else str(script))
    finally:
        signal.signal(signal.SIGINT, ending)
