# SPDX-License-Identifier: Apache-2.0
"""Topology files that ship with the project; `topologies.load` finds them by name."""
