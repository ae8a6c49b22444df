# SPDX-License-Identifier: Apache-2.0
"""The switch process forwards frames between interfaces, at its ports' rates, until its starter
is gone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import text_format
from mrc_switch import PORT_FIB, address, make_switch, packet
from p4.config.v1 import p4info_pb2

import p4src
from controller.client import SwitchTarget
from controller.install import install
from controller.pipeline import load_pipeline
from controller.tables import TableEntry

pytestmark = pytest.mark.root

FRAMES = 60
# 1,000 frames a second of 1,000 bytes and what the wire adds.
RATE_BPS = 8 * 1024 * 1000
WHOLE = bytes(packet(payload=946))


def _missing() -> str | None:
    if os.geteuid():
        return "needs root"
    if shutil.which("ip") is None:
        return "needs ip (iproute2)"
    made = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    return None if made.returncode == 0 else "needs network namespaces"


# The other ends of the switch's interfaces: sends what it is told, prints what came and when.
HOST = """
import select, socket, sys, time
def tap(name):
    tapped = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    tapped.bind((name, 3))
    return tapped
near, far = tap("near"), tap("far")
print("ready", flush=True)
count, size = map(int, sys.stdin.readline().split())
frame = bytes.fromhex(sys.stdin.readline().strip())
got = 0
start = last = time.monotonic()
for _ in range(count):
    near.send(frame)
while got < count and time.monotonic() < start + 10:
    if select.select([far], [], [], 0.5)[0]:
        data, origin = far.recvfrom(65535)
        if origin[2] != socket.PACKET_OUTGOING and len(data) == len(frame):
            got += 1; last = time.monotonic()
            if got == 1: first = data
print(got, last - start, first.hex() if got else "", flush=True)
"""

SETUP = """
ip link add sw1 type veth peer name near
ip link add sw5 type veth peer name far
for i in sw1 sw5 near far; do ip link set $i mtu 1500 up; done
sysctl -qw net.ipv6.conf.all.disable_ipv6=1
"""


@pytest.fixture
def namespace() -> Iterator[list[str]]:
    """A network namespace with two veth pairs; what to put before a command to run it there."""
    reason = _missing()
    if reason is not None:
        pytest.skip(reason)
    keeper = subprocess.Popen(["unshare", "-n", "sleep", "120"])
    enter = ["nsenter", "-t", str(keeper.pid), "-n"]
    try:
        deadline = time.monotonic() + 5
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{keeper.pid}/ns/net") == own:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        subprocess.run([*enter, "sh", "-ec", SETUP], check=True)
        yield enter
    finally:
        keeper.kill()
        keeper.wait()


@pytest.fixture
def switch(namespace: list[str], tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [
        *namespace,
        *(sys.executable, "-m", "softswitch", "--grpc", f"unix:{tmp_path}/grpc"),
        *("--interface", "1@sw1", "--interface", f"{PORT_FIB}@sw5"),
        *("--rate-bps", str(RATE_BPS), "--capacities", "100,100,100", "--end-with-stdin"),
    ]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("P4Runtime on unix:")
        _provision(tmp_path)
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


def _provision(folder: Path) -> None:
    wanted = make_switch()
    known = {t.preamble.name for t in _p4info().tables}
    entries = [
        TableEntry(name, entry.key, entry.action, entry.params)
        for name, table in wanted.tables.items()
        if name in known and not table.constant
        for entry in table.entries()
    ]
    target = SwitchTarget("sw", f"unix:{folder}/grpc", 1)
    report = install([target], load_pipeline(p4src.JSON, p4src.P4INFO), lambda name: entries)
    assert report.errors == ()


def _p4info() -> p4info_pb2.P4Info:
    text = p4src.P4INFO.read_text(encoding="utf-8")
    return text_format.Parse(text, p4info_pb2.P4Info(), allow_unknown_field=True)


def test_frames_are_forwarded_changed_and_at_the_rate_of_the_port(
    namespace: list[str], switch: subprocess.Popen[str]
) -> None:
    host = subprocess.Popen(
        [*namespace, sys.executable, "-c", HOST],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert host.stdout is not None
    assert host.stdout.readline() == "ready\n"
    said, _ = host.communicate(f"{FRAMES} 0\n{WHOLE.hex()}\n", timeout=30)
    count, seconds, first = said.split()
    assert int(count) == FRAMES
    shifted = bytes.fromhex(first)[38:54]
    assert shifted == address(0x1C02, 0x1803, 0x0803).to_bytes(16, "big")
    # From before the first was sent: a loaded machine may be later than 59 frame times, never
    # sooner.
    assert 0.95 * (FRAMES - 1) / 1000 < float(seconds) < 1.0


def test_it_ends_with_its_starter_and_says_what_passed(
    namespace: list[str], switch: subprocess.Popen[str]
) -> None:
    assert switch.stdin is not None and switch.stderr is not None
    switch.stdin.close()
    assert switch.wait(15) == 0
    report = switch.stderr.read()
    assert f"port {PORT_FIB} (sw5): received 0, sent 0" in report


def test_an_interface_that_is_not_there_is_one_clear_error(
    namespace: list[str], tmp_path: Path
) -> None:
    command = [
        *namespace,
        *(sys.executable, "-m", "softswitch", "--grpc", f"unix:{tmp_path}/grpc"),
        *("--interface", "1@nothing"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "softswitch: nothing: no interface with this name"
