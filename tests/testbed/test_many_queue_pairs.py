# SPDX-License-Identifier: Apache-2.0
"""Proves that 1,000 connections between 16 hosts work, and that a queue pair takes < 64 KiB."""

from __future__ import annotations

from benchmarks.qp_memory import CONNECTIONS, LIMIT_BYTES, measure


def test_two_thousand_queue_pairs_between_sixteen_hosts() -> None:
    result = measure(write_bytes=4_096)  # compares all memory itself
    assert result.queue_pairs == 2 * CONNECTIONS
    assert result.moved_bytes == result.queue_pairs * 4_096
    assert 0 < result.connected < result.used < LIMIT_BYTES
