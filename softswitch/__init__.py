# SPDX-License-Identifier: Apache-2.0
"""The embedded switch: runs compiled P4 programs (BMv2 JSON) in this process.

``load_program`` compiles a JSON to Python functions; ``Switch`` is one switch's state;
``queues`` is the traffic manager between its two pipelines.
"""

from softswitch.errors import (
    BadEntry,
    EntryExists,
    NoSuchEntry,
    ProgramError,
    TableError,
    TableFull,
)
from softswitch.packet import Packet
from softswitch.program import Program, load_program
from softswitch.switch import Switch
from softswitch.tables import Table, TableEntry

__all__ = [
    "BadEntry",
    "EntryExists",
    "NoSuchEntry",
    "Packet",
    "Program",
    "ProgramError",
    "Switch",
    "Table",
    "TableEntry",
    "TableError",
    "TableFull",
    "load_program",
]
