# SPDX-License-Identifier: Apache-2.0
"""What docs/wireshark.md prints is what tshark prints, and its Scapy example is a right frame."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from endpoint.wire.dscp import DscpMap
from endpoint.wire.frame import parse_frame

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "wireshark.md").read_text(encoding="utf-8")
EXAMPLES = [
    (command, output)
    for command, output in re.findall(r"```console\n\$ (tshark [^\n]*)\n(.*?)```", TEXT, re.S)
    if output
]
DSCP = DscpMap(no_trim=0, trimmable=4, trimmable_retx=8, trimmed=12, trimmed_lasthop=16, control=46)


def test_the_document_has_examples() -> None:
    assert len(EXAMPLES) >= 3


BELOW = ("Packet comments", "Frame ", "Ethernet II", "Internet Protocol", "User Datagram")


def needs_tshark(test: Callable[..., None]) -> Callable[..., None]:
    for mark in (
        pytest.mark.tshark,
        pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not on the PATH"),
        pytest.mark.usefixtures("lua_is_on"),
    ):
        test = mark(test)
    return test


@needs_tshark
@pytest.mark.parametrize(("command", "output"), EXAMPLES)
def test_an_example_prints_what_the_document_says(command: str, output: str) -> None:
    done = subprocess.run(
        shlex.split(command), cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    # Layers below are shown a little differently by each release; blank lines end each packet.
    printed = [line for line in done.stdout.splitlines() if line]
    expected = [line for line in output.splitlines() if line]
    first = next(n for n, line in enumerate(printed) if not line.startswith(BELOW))
    assert printed[first:] == [line for line in expected if not line.startswith(BELOW)]


@needs_tshark
def test_wireshark_accepts_every_display_filter() -> None:
    table = TEXT.partition("## Display filters")[2].partition("The fields of")[0]
    filters = [
        code
        for row in table.splitlines()
        for code in re.findall(r"`(mrc[^`]+)`", row.split(" | ")[0])
    ]
    assert len(filters) > 20
    command = ["tshark", "-X", "lua_script:wireshark/mrc.lua", "-r", "tests/vectors/sacks.pcapng"]
    command += ["-Y", " || ".join(f"({code})" for code in filters)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_scapy_example_builds_a_right_frame() -> None:
    code = re.findall(r"```python\n(.*?)```", TEXT, re.S)[0]
    names: dict[str, object] = {}
    exec(code, names)
    parsed = parse_frame(bytes(names["frame"]), DSCP)  # type: ignore[call-overload]
    assert parsed.check_icrc()
    assert (parsed.ev, parsed.psn, parsed.imm, bytes(parsed.payload)) == (
        0xC0DE4A17, 7, 42, b"hello",
    )  # fmt: skip
