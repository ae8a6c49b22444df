# SPDX-License-Identifier: Apache-2.0
"""The switch process says where it listens, serves P4Runtime, and ends on a signal."""

import signal
import subprocess
import sys

import pytest
from p4.v1 import p4runtime_pb2 as p4
from p4runtime_support import BareClient, insert, objects_config, table_entry


@pytest.fixture
def start():
    """Starts `python -m softswitch` with arguments; ends it afterwards."""
    processes = []

    def run(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "softswitch", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def test_process_serves_a_controller_until_it_is_told_to_stop(start):
    process = start("--grpc", "127.0.0.1:0", "--device-id", "5")
    line = process.stdout.readline()
    assert line.startswith("P4Runtime on 127.0.0.1:")
    with BareClient(line.split()[-1], device_id=5) as client:
        client.arbitrate()
        client.push(objects_config())
        entry = table_entry("longest_prefix", None, action="drop")
        client.write(insert(entry))
        assert client.read(p4.TableEntry(table_id=entry.table_id)) == [entry]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_address_in_use_is_one_clear_error(start, address):
    process = start("--grpc", address)
    _, errors = process.communicate(timeout=10)
    assert process.returncode == 2
    assert f"softswitch: cannot listen on {address}: in use" in errors.splitlines()[-1]


def test_unix_socket_is_an_address_too(start, tmp_path):
    process = start("--grpc", f"unix:{tmp_path}/p4rt.sock", "--device-id", "7")
    assert process.stdout.readline() == f"P4Runtime on unix:{tmp_path}/p4rt.sock\n"
    with BareClient(f"unix:{tmp_path}/p4rt.sock") as client:
        assert client.arbitrate() == ("OK", 1)
