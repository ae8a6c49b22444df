# SPDX-License-Identifier: Apache-2.0
"""Errors of the embedded switch: one for programs, a small family for table writes."""


class ProgramError(ValueError):
    """The BMv2 JSON cannot be run: it is malformed, or uses what is not supported.

    ``place`` is the path of the offending element in the JSON (``$.actions[3].primitives[0]``).
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


class TableError(Exception):
    """A table write that was refused; the message names table and entry."""


class EntryExists(TableError):
    """INSERT of a key that the table already holds."""


class NoSuchEntry(TableError):
    """MODIFY, DELETE or read of a key that the table does not hold."""


class TableFull(TableError):
    """INSERT into a table that holds as many entries as the program allows."""


class BadEntry(TableError):
    """The key, action or parameters do not fit the table."""
