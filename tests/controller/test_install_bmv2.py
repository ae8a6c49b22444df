# SPDX-License-Identifier: Apache-2.0
"""The controller installs, repairs and refuses on real BMv2 switches as on the embedded one."""

import contextlib
import dataclasses
import itertools
import shutil
import socket
import subprocess

import pytest
from install_support import OPTIONS, TIMEOUTS, with_cookie
from p4.v1 import p4runtime_pb2

from controller.client import SwitchSession, SwitchTarget, Timeouts
from controller.counters import CounterValue, read_counters
from controller.entries import EntryCodec
from controller.install import install, read_entries
from controller.tables import FIB, MY_SID, TableEntry, switch_entries

PROGRAM = "simple_switch_grpc"
SWITCHES = ("p0t0a", "p0t1a")
# Apart from those of fabrics that run on the same machine: BMv2 names its sockets after them.
DEVICE_IDS = itertools.count(7001)

pytestmark = [
    pytest.mark.bmv2,
    pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"{PROGRAM} is not on the PATH"),
]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def start(stack, folder, name):
    """A switch without a program and without interfaces."""
    grpc_port, thrift_port = free_ports(2)
    device_id = next(DEVICE_IDS)
    address = f"127.0.0.1:{grpc_port}"
    command = [PROGRAM, "--no-p4", "--device-id", str(device_id)]
    command += ["--thrift-port", str(thrift_port)]
    command += ["--notifications-addr", f"ipc://{folder}/{name}.ipc"]
    command += ["--", "--grpc-server-addr", address, "--priority-queues", "3"]
    log = stack.enter_context((folder / f"{name}.log").open("w"))
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    stack.callback(process.wait, 10)
    stack.callback(process.kill)
    return SwitchTarget(name, address, device_id)


@pytest.fixture
def targets(tmp_path):
    with contextlib.ExitStack() as stack:
        yield [start(stack, tmp_path, name) for name in SWITCHES]


@pytest.fixture
def run(fabric, pipeline, targets):
    """Installs, with the fabric's own entries and the compiled program unless told otherwise."""

    def entries(name):
        return switch_entries(fabric, name)

    def call(entries_of=entries, program=pipeline, **options):
        return install(targets, program, entries_of, dataclasses.replace(OPTIONS, **options))

    return call


def test_installs_once_and_repairs_drift(fabric, pipeline, targets, run):
    report = run()
    assert report.errors == ()
    assert all(switch.pushed and switch.inserted for switch in report.switches)
    codec = EntryCodec(pipeline.p4info)
    for target in targets:
        with SwitchSession(target, timeouts=TIMEOUTS) as session:
            assert set(read_entries(session, codec)) == set(switch_entries(fabric, target.name))
    assert run().changes == 0
    with SwitchSession(targets[0], timeouts=TIMEOUTS) as session:
        first, second = [e for e in read_entries(session, codec) if e.table == FIB][:2]
        update = p4runtime_pb2.Update(type=p4runtime_pb2.Update.DELETE)
        update.entity.table_entry.CopyFrom(codec.encode_key(first))
        changed = dataclasses.replace(second, params=(9, 9, 9))
        other = p4runtime_pb2.Update(type=p4runtime_pb2.Update.MODIFY)
        other.entity.table_entry.CopyFrom(codec.encode(changed))
        extra = p4runtime_pb2.Update(type=p4runtime_pb2.Update.INSERT)
        surplus = TableEntry(MY_SID, (0xDEAD,), "MrcIngress.srv6.un", ())
        extra.entity.table_entry.CopyFrom(codec.encode(surplus))
        assert session.write([update, other, extra]) == []
    drifted = run().switches[0]
    assert (drifted.inserted, drifted.modified, drifted.deleted) == (1, 1, 1)
    assert drifted.error is None


def test_refused_entry_is_named_and_the_other_switch_finished(fabric, run):
    bad = TableEntry(MY_SID, (1,), "MrcIngress.srv6.forward", (1, 2, 3))

    def entries_of(name):
        extra = [bad] if name == SWITCHES[0] else []
        return [*switch_entries(fabric, name), *extra]

    report = run(entries_of)
    assert report.exit_status == 1
    assert report.switches[0].error.startswith(f"switch {SWITCHES[0]} (")
    assert f"table {MY_SID}, entry {bad}: INSERT refused: INVALID_ARGUMENT" in report.errors[0]
    assert report.switches[1].error is None


def test_full_table_is_reported(run):
    entries = [TableEntry(MY_SID, (i,), "MrcIngress.srv6.un", ()) for i in range(1025)]
    report = run(lambda _: entries)
    # BMv2 does not say that the table is full, only that it could not add the entry.
    assert f"table {MY_SID}, entry {entries[-1]}: INSERT refused: UNKNOWN" in report.errors[0]
    assert report.switches[0].inserted == 1024


def test_another_program_needs_permission(pipeline, run):
    assert run(program=with_cookie(pipeline, 77)).errors == ()
    report = run()
    assert all("holds another program (cookie 0x4d" in error for error in report.errors)
    assert len(report.errors) == len(SWITCHES)
    assert run(replace=True).errors == ()
    assert run().changes == 0


def test_live_primary_is_not_pushed_aside(targets, run):
    with SwitchSession(targets[0], election_id=10, timeouts=TIMEOUTS):
        report = run()
    assert "another controller is the primary, with election id 10" in report.errors[0]
    assert report.switches[1].error is None
    assert run().errors == ()


def test_counters_are_read(pipeline, targets, run):
    run()
    with SwitchSession(targets[0], timeouts=TIMEOUTS) as session:
        drops = read_counters(session, pipeline.p4info, ["MrcIngress.drops"])
        some = read_counters(session, pipeline.p4info, ["MrcIngress.rx"], [1, 5])
    assert drops == {"MrcIngress.drops": {index: CounterValue(0, 0) for index in range(8)}}
    assert list(some["MrcIngress.rx"]) == [1, 5]


def test_switch_that_is_not_there_is_unreachable(targets, run):
    (port,) = free_ports(1)
    targets[0] = dataclasses.replace(targets[0], address=f"127.0.0.1:{port}")
    report = run(timeouts=Timeouts(connect_s=1, call_s=20))
    assert "unreachable, no answer within 1 s" in report.switches[0].error
