# SPDX-License-Identifier: Apache-2.0
"""The compiled P4 program as it is pushed to a switch."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import text_format
from p4.config.v1 import p4info_pb2


class PipelineFileError(Exception):
    """A compiled program cannot be read; the message names the file."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """P4Info, BMv2 JSON, and the digest of both by which a switch's pipeline is recognised."""

    p4info: p4info_pb2.P4Info
    device_config: bytes
    cookie: int


def load_pipeline(json_path: Path, p4info_path: Path) -> Pipeline:
    """Read the outputs of one compilation.

    Raises PipelineFileError when a file is missing or the P4Info is no text protobuf.
    """
    device_config = _read(json_path)
    text = _read(p4info_path)
    p4info = p4info_pb2.P4Info()
    try:
        # Newer compilers write fields that this version of the message does not know.
        text_format.Parse(text.decode(), p4info, allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise PipelineFileError(f"{p4info_path}: not a P4Info in text form: {error}") from None
    return Pipeline(p4info, device_config, _cookie(device_config, text))


def _cookie(device_config: bytes, p4info: bytes) -> int:
    """First 64 bits of SHA-256 over both files; never 0, which reads as "no cookie"."""
    digest = hashlib.sha256(len(device_config).to_bytes(8, "big") + device_config + p4info)
    return int.from_bytes(digest.digest()[:8], "big") or 1


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PipelineFileError(f"{path}: {error.strerror}") from None
