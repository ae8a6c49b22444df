# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: each module measures one part and returns its records from ``run()``."""
