# SPDX-License-Identifier: Apache-2.0
"""The virtual world: one process, one event loop, integer nanoseconds, repeatable to the bit."""
