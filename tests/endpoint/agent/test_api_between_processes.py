# SPDX-License-Identifier: Apache-2.0
"""The API's examples between two processes in namespaces of their own, over raw sockets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from netns_lab import PLANES, NetnsPair, missing

pytestmark = pytest.mark.root

WAIT_S = 90.0


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[NetnsPair]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    made = NetnsPair(tmp_path)
    try:
        made.build()
        yield made
    finally:
        made.close()


def test_set_up_probes_and_writes_between_two_processes(pair: NetnsPair) -> None:
    def start(host: str, *more: str) -> subprocess.Popen[str]:
        ports = ",".join(pair.interface(host, plane) for plane in range(PLANES))
        command = ["ip", "netns", "exec", pair.namespace(host)]
        command += [sys.executable, "-m", "examples.two_processes", "--fabric", str(pair.fabric)]
        command += ["--host", host, "--ports", ports, "--meet", str(pair.folder / "meet")]
        return subprocess.Popen(
            [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    server = start("h2", "--serve")
    client = start("h1")
    try:
        said, errors = client.communicate(timeout=WAIT_S)
        got, server_errors = server.communicate(timeout=WAIT_S)
    finally:
        for process in (client, server):
            process.kill()
            process.wait()
    assert (client.returncode, server.returncode) == (0, 0), errors + server_errors
    assert "IBV_WC_RECV_RDMA_WITH_IMM, immediate 42, equal" in said
    assert f"{PLANES} of {PLANES} paths answered" in said
    assert [line.split()[:2] for line in said.splitlines()[-3:]] == [
        ["1", "8"], ["4096", "8"], ["262144", "8"],
    ]  # fmt: skip
    assert "got 262144 bytes, immediate 42" in got
