# SPDX-License-Identifier: Apache-2.0
"""MRC endpoint: wire formats, and the protocol engine that works on them without I/O."""
