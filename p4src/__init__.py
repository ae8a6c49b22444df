# SPDX-License-Identifier: Apache-2.0
"""The P4 program: where its sources and its compiled form lie, and the digest that ties them."""

from __future__ import annotations

import hashlib
from pathlib import Path

SOURCE_DIR = Path(__file__).resolve().parent
COMPILED_DIR = SOURCE_DIR / "compiled"
MAIN = SOURCE_DIR / "mrc.p4"
JSON = COMPILED_DIR / "mrc.json"
P4INFO = COMPILED_DIR / "mrc.p4info.txt"
DIGEST = COMPILED_DIR / "mrc.sha256"


def source_digest() -> str:
    """SHA-256 (hex) over name and content of every `*.p4` file, in the order of their names."""
    digest = hashlib.sha256()
    for path in sorted(SOURCE_DIR.glob("*.p4")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def recorded_digest() -> str:
    """The digest of the sources that the committed compiled form was made from."""
    return DIGEST.read_text(encoding="ascii").strip()
