# SPDX-License-Identifier: Apache-2.0
"""Whether this tshark runs Lua scripts at all."""

import subprocess
from pathlib import Path

import pytest

CAPTURE = Path(__file__).parents[1] / "vectors" / "sacks.pcapng"


@pytest.fixture(scope="session")
def lua_is_on(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where tshark runs no Lua script at all: built without Lua, or a newer one as root."""
    script = tmp_path_factory.mktemp("lua") / "probe.lua"
    script.write_text('print("Lua runs")', encoding="utf-8")
    command = ["tshark", "-X", f"lua_script:{script}", "-c", "1", "-r"]
    command.append(str(CAPTURE))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    if "Lua runs" not in done.stdout:
        pytest.skip("this tshark runs no Lua scripts (without Lua, or from 4.4 on as root)")
