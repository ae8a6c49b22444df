# SPDX-License-Identifier: Apache-2.0
"""From a results folder to its report.html."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from testbed.results import Environment, RunResult

_Model = TypeVar("_Model", bound=BaseModel)

REPORT_NAME = "report.html"


class ReportError(ValueError):
    """A results folder cannot be read; the message names file and field."""


def read_run(folder: Path) -> tuple[RunResult, Environment]:
    """What ``write_results`` wrote into ``folder``; `ReportError` when it is not that."""
    return (
        _read(folder / "result.json", RunResult),
        _read(folder / "environment.json", Environment),
    )


def write_report(folder: Path) -> Path:
    """Make ``folder/report.html`` from the result and environment in ``folder``; its path."""
    from testbed.report.page import render  # imports matplotlib, which takes its time

    result, ran = read_run(folder)
    path = folder / REPORT_NAME
    path.write_text(render(result, ran), encoding="utf-8")
    return path


def _read(path: Path, model: type[_Model]) -> _Model:
    try:
        return model.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ReportError(f"{path}: {reason}") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise ReportError(f"{path}: {field}: {first['msg']}") from error
