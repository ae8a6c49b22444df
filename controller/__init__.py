# SPDX-License-Identifier: Apache-2.0
"""From a fabric to the tables of its switches, and onto the switches over P4Runtime."""
