# SPDX-License-Identifier: Apache-2.0
"""Compile the P4 program with p4c and compare compiled forms (`python -m p4src.compile`)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import p4src

COMPILER = "p4c-bm2-ss"
# Keys that tell where the compiler ran and on which line a thing stands, not what it does.
_NOT_MEANING = {"source_info", "program", "__meta__"}


class CompileError(Exception):
    """p4c is missing or refused the program; the text is what it printed."""


def compile_into(folder: Path) -> tuple[Path, Path]:
    """Write `mrc.json` and `mrc.p4info.txt` into `folder` and return their paths."""
    if shutil.which(COMPILER) is None:
        raise CompileError(f"{COMPILER} is not on the PATH: install p4c, or use p4lang/p4c's image")
    out_json, out_info = folder / p4src.JSON.name, folder / p4src.P4INFO.name
    # Relative names keep the place where the compiler ran out of what is committed.
    command = [
        COMPILER, "--arch", "v1model", "--p4v", "16", "-o", str(out_json),
        "--p4runtime-files", str(out_info), p4src.MAIN.name,
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=p4src.SOURCE_DIR, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CompileError(f"{' '.join(command)}\n{done.stderr}")
    return out_json, out_info


def meaning(compiled_json: bytes) -> Any:
    """The BMv2 JSON without compiler version, paths and source positions.

    p4c releases name generated temporaries after line and counter; those names are kept, since
    a reader of the committed form would see them change too.
    """

    def strip(node: Any) -> Any:
        if isinstance(node, dict):
            return {k: strip(v) for k, v in node.items() if k not in _NOT_MEANING}
        if isinstance(node, list):
            return [strip(v) for v in node]
        return node

    return strip(json.loads(compiled_json))


def main() -> int:
    """Recompile into `p4src/compiled/` and record the digest of the sources."""
    p4src.COMPILED_DIR.mkdir(exist_ok=True)
    try:
        compile_into(p4src.COMPILED_DIR.resolve())
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    compiled = json.loads(p4src.JSON.read_bytes())
    compiled["program"] = p4src.MAIN.name
    p4src.JSON.write_text(json.dumps(compiled, indent=1) + "\n", encoding="utf-8")
    p4src.DIGEST.write_text(p4src.source_digest() + "\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
