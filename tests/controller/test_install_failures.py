# SPDX-License-Identifier: Apache-2.0
"""A switch that fails gives one error that names it; the others are finished all the same."""

import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import grpc
import pytest
from install_support import TIMEOUTS, with_small_table
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from controller.client import SwitchError, SwitchSession, SwitchTarget, Timeouts
from controller.install import InstallOptions, install
from controller.tables import CLASSES, FIB, MY_SID, TableEntry

BAD = "p0t1b"


def only_error(report, name):
    """The error of the one switch that failed; the others hold what was meant."""
    failed = [switch for switch in report.switches if switch.error is not None]
    assert [switch.name for switch in failed] == [name]
    assert report.exit_status == 1
    assert failed[0].error.startswith(f"switch {name} (")
    return failed[0].error


def others_are_finished(installation):
    for name in installation.targets:
        if name != BAD:
            assert installation.held(name) == set(installation.entries(name))


@pytest.fixture
def closed_port():
    """A port of this host on which nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        yield holder.getsockname()[1]


def test_unreachable_switch(installation, closed_port):
    target = dataclasses.replace(installation.targets[BAD], address=f"127.0.0.1:{closed_port}")
    installation.targets[BAD] = target
    report = installation.install(timeouts=Timeouts(connect_s=0.5))
    error = only_error(report, BAD)
    assert f"127.0.0.1:{closed_port}" in error
    assert "unreachable, no answer within 0.5 s" in error
    others_are_finished(installation)


def test_wrong_device_id(installation):
    installation.targets[BAD] = dataclasses.replace(installation.targets[BAD], device_id=99)
    error = only_error(installation.install(), BAD)
    assert "NOT_FOUND: no device with id 99" in error
    others_are_finished(installation)


def test_full_table_names_table_and_entry(installation):
    """The switch runs a build of the program whose fib is too small."""
    with SwitchSession(installation.targets[BAD], timeouts=TIMEOUTS) as session:
        session.push(with_small_table(installation.pipeline, FIB, 1))
    report = installation.install()
    error = only_error(report, BAD)
    refused = [e for e in installation.entries(BAD) if e.table == FIB][1:]
    assert f"table {FIB}, entry {refused[0]}: INSERT refused: RESOURCE_EXHAUSTED" in error
    assert ("more entries refused" in error) == (len(refused) > 1)
    # Only the refused entries are missing.
    assert installation.held(BAD) == set(installation.entries(BAD)) - set(refused)
    assert report.switches[list(installation.targets).index(BAD)].inserted == len(
        installation.held(BAD)
    )
    others_are_finished(installation)


def entries_with(installation, extra):
    def entries_of(name):
        return (*installation.entries(name), *([extra] if name == BAD else []))

    return entries_of


def test_entry_with_an_action_the_table_does_not_allow(installation):
    extra = TableEntry(MY_SID, (1,), "NoAction", ())
    error = only_error(installation.install(entries_with(installation, extra)), BAD)
    assert f"table {MY_SID}, entry {extra}: INSERT refused: PERMISSION_DENIED" in error
    others_are_finished(installation)


def test_entry_that_does_not_fit_the_program_is_not_even_sent(installation):
    extra = TableEntry(CLASSES, (64,), "MrcIngress.queueing.set_class", (0, 0))
    error = only_error(installation.install(entries_with(installation, extra)), BAD)
    assert f"table {CLASSES}, entry {extra}: dscp = 64 does not fit in 6 bits" in error
    others_are_finished(installation)


def test_switch_that_the_fabric_does_not_have(installation):
    stray = dataclasses.replace(installation.targets[BAD], name="p9t0a")
    installation.targets["p9t0a"] = stray
    del installation.targets[BAD]
    assert "p9t0a" in only_error(installation.install(), "p9t0a")


def test_entry_that_does_not_read_back(installation):
    """The switch says yes and does nothing."""
    installation.install()
    table = installation.table(BAD, FIB)
    lost = table.entries()[0]
    table.delete(lost.key)
    table.insert = lambda *arguments: None
    error = only_error(installation.install(), BAD)
    assert f"table {FIB}" in error
    assert "was accepted but cannot be read back" in error


def test_deleted_entry_that_is_still_there(installation):
    installation.install()
    table = installation.table(BAD, MY_SID)
    table.insert((0xDEAD,), "MrcIngress.srv6.un", ())
    table.delete = lambda *arguments: None
    error = only_error(installation.install(), BAD)
    assert f"table {MY_SID}" in error
    assert "is there but not meant" in error


def test_live_primary_is_not_pushed_aside(installation):
    with SwitchSession(installation.targets[BAD], election_id=10, timeouts=TIMEOUTS):
        error = only_error(installation.install(), BAD)
    assert "another controller is the primary, with election id 10 (ours is 1)" in error
    others_are_finished(installation)
    # Once it is gone, its election id is taken over.
    assert installation.install().errors == ()


def test_live_controller_with_our_election_id_is_an_error(installation):
    with SwitchSession(installation.targets[BAD], election_id=1, timeouts=TIMEOUTS):
        error = only_error(installation.install(), BAD)
    assert "election id 1 is already used" in error


def test_failed_read_names_the_switch(installation):
    with SwitchSession(installation.targets[BAD], timeouts=TIMEOUTS) as session:
        with pytest.raises(SwitchError, match=f"switch {BAD} .*FAILED_PRECONDITION"):
            session.read(p4runtime_pb2.Entity(table_entry=p4runtime_pb2.TableEntry()))
        session.push(installation.pipeline)
        with pytest.raises(SwitchError, match=f"switch {BAD} .*reading: NOT_FOUND: no table"):
            session.read(p4runtime_pb2.Entity(table_entry=p4runtime_pb2.TableEntry(table_id=1)))


@pytest.fixture
def switch_process():
    """Starts switch processes and gives (process, target); ends them by their own handle."""
    with contextlib.ExitStack() as stack:

        def start():
            process = subprocess.Popen(
                [sys.executable, "-m", "softswitch", "--grpc", "127.0.0.1:0", "--device-id", "3"],
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.communicate)
            stack.callback(process.kill)
            return process, SwitchTarget(BAD, process.stdout.readline().split()[-1], 3)

        yield start


MANY = [TableEntry(MY_SID, (i,), "MrcIngress.srv6.un", ()) for i in range(1000)]


def when_entries_arrive(target, act):
    """A thread that calls `act` once the switch holds its first entry."""

    def watch():
        request = p4runtime_pb2.ReadRequest(device_id=target.device_id)
        request.entities.add().table_entry.SetInParent()
        deadline = time.monotonic() + 20
        with grpc.insecure_channel(target.address) as channel:
            stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
            while time.monotonic() < deadline:
                with contextlib.suppress(grpc.RpcError):  # before the program is there
                    if any(response.entities for response in stub.Read(request, timeout=5)):
                        act()
                        return
                time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_switch_killed_in_the_middle(installation, switch_process):
    process, target = switch_process()
    installation.targets[BAD] = target
    watcher = when_entries_arrive(target, process.kill)

    def entries_of(name):
        return MANY if name == BAD else installation.entries(name)

    report = installation.install(entries_of, batch=1)
    watcher.join()
    assert process.wait(10) == -signal.SIGKILL
    error = only_error(report, BAD)
    assert "UNAVAILABLE" in error or "CANCELLED" in error
    assert f"table {MY_SID}, entry " in error
    done = report.switches[list(installation.targets).index(BAD)]
    assert 0 < done.inserted < len(MANY)
    others_are_finished(installation)
    # A new process in its place is installed from scratch, the others are left alone.
    _, installation.targets[BAD] = switch_process()
    report = installation.install()
    assert report.errors == ()
    assert report.changes == 1 + len(installation.entries(BAD))


def test_switch_that_hangs_costs_its_deadline_and_no_more(pipeline, switch_process):
    process, target = switch_process()
    timeouts = Timeouts(connect_s=5, push_s=10, call_s=1)
    options = InstallOptions(batch=1, timeouts=timeouts)
    watcher = when_entries_arrive(target, lambda: os.kill(process.pid, signal.SIGSTOP))
    started = time.monotonic()
    report = install([target], pipeline, lambda _: MANY, options)
    assert time.monotonic() - started < 15
    assert "DEADLINE_EXCEEDED" in report.switches[0].error
    watcher.join()
