# SPDX-License-Identifier: Apache-2.0
"""The agent's control protocol: `agent.proto`, and the stubs that `make proto` makes of it."""
