# SPDX-License-Identifier: Apache-2.0
"""The Mininet world: real packets between namespaces, through BMv2 or the embedded switch."""
