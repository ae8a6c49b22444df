# SPDX-License-Identifier: Apache-2.0
"""Recompile the test programs next to this file: ``python tests/softswitch/programs/compile.py``.

What is committed carries no source positions, so that it stays small and does not depend on
where the compiler ran, but the digest of its source, so that a test sees when it is stale.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
COMPILER = "p4c-bm2-ss"


def stripped(node: Any) -> Any:
    """The JSON without source positions."""
    if isinstance(node, dict):
        return {key: stripped(value) for key, value in node.items() if key != "source_info"}
    if isinstance(node, list):
        return [stripped(value) for value in node]
    return node


def source_digest(source: Path) -> str:
    return hashlib.sha256(source.read_bytes()).hexdigest()


def compile_program(source: Path) -> tuple[str, str]:
    """(JSON, p4info) of a program as they are committed."""
    with tempfile.TemporaryDirectory() as folder:
        json_file, info_file = Path(folder, "out.json"), Path(folder, "out.p4info.txt")
        command = [COMPILER, "--std", "p4-16", "--p4runtime-files", str(info_file)]
        command += ["-o", str(json_file), source.name]
        subprocess.run(command, check=True, cwd=source.parent)
        program = stripped(json.loads(json_file.read_text()))
        program["program"] = source.name
        program["source_sha256"] = source_digest(source)
        return json.dumps(program, indent=1) + "\n", info_file.read_text()


def main(names: list[str]) -> None:
    """Recompile the named programs, or all of them."""
    for source in [FOLDER / f"{n}.p4" for n in names] or sorted(FOLDER.glob("*.p4")):
        program, info = compile_program(source)
        source.with_suffix(".json").write_text(program)
        source.with_suffix(".p4info.txt").write_text(info)


if __name__ == "__main__":
    main(sys.argv[1:])
