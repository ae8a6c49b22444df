# SPDX-License-Identifier: Apache-2.0
"""The two errors of the wire package: a frame that is malformed, a value that does not fit."""


class FrameError(ValueError):
    """Received bytes are not a frame of this protocol.

    ``field`` names the first field found wrong (``"bth.opcode"``), ``reason`` says how.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class FieldError(ValueError):
    """A value to be sent does not fit the field it is meant for.

    ``field`` names the field (``"bth.psn"``), ``reason`` says what it takes.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason
