# SPDX-License-Identifier: Apache-2.0
"""Proves that an agent which cannot start ends at once, with one clear line."""

import os
import sys
import time
from pathlib import Path

import pytest

from endpoint.agent.__main__ import main
from endpoint.agent.errors import AgentStartError
from endpoint.agent.process import AgentCommand, AgentProcess, start_agents


def arguments(**changed: str) -> list[str]:
    options = {"fabric": "tiny", "host": "h1", "ports": "no-such0,no-such1", "socket": "x.sock"}
    return [word for name, value in (options | changed).items() for word in (f"--{name}", value)]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"fabric": "no-such-fabric"}, "no-such-fabric"),
        ({"host": "h9"}, "tiny has no host 'h9'"),
        ({"ports": "lo"}, "ports: lo: tiny has 2 planes"),
        ({"ports": "lo,lo"}, "ports: lo, lo: tiny has 2 planes"),
        ({"burst": "0"}, "burst of 0 frames"),
        ({"rate-bps": "-1"}, "-1 bit/s"),
    ],
)
def test_bad_settings_are_named(
    changed: dict[str, str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(**changed)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("agent: ") and captured.err.count("\n") == 1
    assert reason in captured.err


def test_a_missing_interface_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments()) == 2
    error = capsys.readouterr().err
    assert error.startswith("agent: no-such0: ")
    assert ("CAP_NET_RAW" if os.geteuid() else "no interface with this name") in error


def command(*argv: str) -> AgentCommand:
    return AgentCommand("tiny", "h1", ["a", "b"], "x.sock", launch=argv)


def test_a_failed_start_shows_command_status_and_log(tmp_path: Path) -> None:
    script = "import sys; print('deep trouble', file=sys.stderr); sys.exit(7)"
    with pytest.raises(AgentStartError) as caught:
        start_agents([(command(sys.executable, "-c", script), tmp_path / "log")], 30)
    message = str(caught.value)
    assert "agent h1 ended with exit status 7" in message
    assert "endpoint.agent --fabric tiny --host h1 --ports a,b" in message
    assert "deep trouble" in message


def test_one_that_never_gets_ready_is_killed(tmp_path: Path) -> None:
    process = AgentProcess(command("sleep", "60", "#"), tmp_path / "log")
    process.kill()
    lingering = AgentProcess(
        command(sys.executable, "-c", "import time; time.sleep(60)"), tmp_path / "log"
    )
    begun = time.monotonic()
    with pytest.raises(AgentStartError, match=r"not ready within 0\.2 s"):
        lingering.wait_ready(0.2)
    assert time.monotonic() - begun < 10
    assert lingering.returncode == -9


def test_something_else_that_talks_is_no_agent(tmp_path: Path) -> None:
    with pytest.raises(AgentStartError, match="said b'hello"):
        AgentProcess(command("echo", "hello"), tmp_path / "log").wait_ready(30)


def test_a_missing_launcher_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentStartError, match="no-such-launcher"):
        AgentProcess(command("no-such-launcher"), tmp_path / "log")
