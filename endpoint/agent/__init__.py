# SPDX-License-Identifier: Apache-2.0
"""The host agent: one process a host that runs the engine on raw frames, controlled over gRPC."""
