# SPDX-License-Identifier: Apache-2.0
"""Fabric descriptions: the one source of names, SIDs, links, rates, DSCPs and thresholds."""

from topologies.errors import TopologyError
from topologies.fabric import Fabric, Host, Link, PortRef, SwitchNode
from topologies.files import load, parse, preset_names, to_yaml
from topologies.model import DscpMap, FabricSpec
from topologies.timing import ETHERNET_OVERHEAD_BYTES, Thresholds

__all__ = [
    "ETHERNET_OVERHEAD_BYTES",
    "DscpMap",
    "Fabric",
    "FabricSpec",
    "Host",
    "Link",
    "PortRef",
    "SwitchNode",
    "Thresholds",
    "TopologyError",
    "load",
    "parse",
    "preset_names",
    "to_yaml",
]
