# SPDX-License-Identifier: Apache-2.0
"""Worlds, faults, scenarios, measurements: everything that runs a fabric and judges the run."""
