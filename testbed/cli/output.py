# SPDX-License-Identifier: Apache-2.0
"""What all commands share: consoles, tables, progress, errors, figures as people read them."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from testbed.report import ReportError
from testbed.scenario import ScenarioError
from topologies import TopologyError

PASSED, FAILED, BAD_INPUT = 0, 1, 2
"""Exit statuses."""

_WIDTH_WITHOUT_TERMINAL = 120

_P = ParamSpec("_P")
_R = TypeVar("_R")


class BadInput(ValueError):
    """Input that a command cannot use; the message names the file, field or option."""


def console() -> Console:
    """Where tables go: stdout, as wide as the terminal, or 120 columns without one."""
    fixed = None
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        fixed = _WIDTH_WITHOUT_TERMINAL
    return Console(width=fixed, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=1, sort_keys=True) + "\n")


def refuses_bad_input(command: Callable[_P, _R]) -> Callable[_P, _R]:
    """Turn what is wrong with a command's input into lines on stderr and exit status 2."""

    @functools.wraps(command)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return command(*args, **kwargs)
        except (BadInput, ReportError, ScenarioError, TopologyError) as error:
            message = str(error)
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.filename is None:
                raise
            message = f"{error.filename}: {error.strerror}"
        for line in message.splitlines():
            typer.echo(f"mrc: {line}", err=True)
        raise typer.Exit(BAD_INPUT)

    return wrapped


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A function of (done, total) that moves a bar on stderr.

    Nothing is shown when ``quiet``, or when stderr is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def towards(progress: Callable[[int, int], None], expected_ns: int) -> Callable[[int, int], None]:
    """A run's progress against the time at which it is expected to end.

    Its duration is only a limit, which most runs never come near.
    """

    def report(now_ns: int, _: int) -> None:
        progress(min(now_ns, expected_ns), expected_ns)

    return report


def table(title: str | None = None, **options: Any) -> Table:
    """An empty table in the commands' one style."""
    style: dict[str, Any] = {
        "title_justify": "left",
        "title_style": "bold",
        "header_style": "bold",
        "box": None,
        "pad_edge": False,
        "padding": (0, 2, 0, 0),
    }
    return Table(title=title, **(style | options))
