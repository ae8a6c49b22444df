# SPDX-License-Identifier: Apache-2.0
"""Bandwidth and latency of WRITE between two hosts, measured as perftest measures them."""
