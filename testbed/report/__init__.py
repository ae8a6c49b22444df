# SPDX-License-Identifier: Apache-2.0
"""The HTML report of a run: one file that needs nothing else, made from result.json alone."""

from testbed.report.files import ReportError, read_run, write_report

__all__ = ["ReportError", "read_run", "write_report"]
