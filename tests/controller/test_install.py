# SPDX-License-Identifier: Apache-2.0
"""Installation brings every switch to exactly the computed tables, and only writes differences."""

import threading

import pytest
from install_support import TIMEOUTS, with_cookie, with_small_table

from controller.client import SwitchSession
from controller.counters import CounterValue, read_counters
from controller.install import install
from controller.tables import FIB, MY_SID, TableEntry


def test_every_switch_holds_exactly_the_computed_entries(installation):
    report = installation.install()
    assert report.errors == ()
    assert report.exit_status == 0
    assert [s.name for s in report.switches] == list(installation.targets)
    for switch in report.switches:
        meant = set(installation.entries(switch.name))
        assert installation.held(switch.name) == meant
        assert (switch.pushed, switch.inserted) == (True, len(meant))
        assert (switch.modified, switch.deleted, switch.unchanged) == (0, 0, 0)


@pytest.mark.fact("srv6.static")
def test_second_installation_changes_nothing(installation):
    installation.install()
    commits = len(installation.commits)
    report = installation.install()
    assert (report.changes, report.errors) == (0, ())
    assert len(installation.commits) == commits == len(installation.targets)
    for switch in report.switches:
        assert switch.unchanged == len(installation.entries(switch.name))
        assert not switch.pushed


def test_drift_is_repaired_by_the_least_changes(installation):
    installation.install()
    name = "p0t0a"
    fib, my_sid = installation.table(name, FIB), installation.table(name, MY_SID)
    first, second = fib.entries()[:2]
    fib.delete(first.key)
    fib.modify(second.key, second.action, (9, 9, 9))
    my_sid.insert((0xDEAD,), "MrcIngress.srv6.un", ())
    report = installation.install()
    assert report.errors == ()
    drifted = next(s for s in report.switches if s.name == name)
    assert (drifted.inserted, drifted.modified, drifted.deleted) == (1, 1, 1)
    assert report.changes == 3
    assert installation.held(name) == set(installation.entries(name))


def test_full_table_is_emptied_before_it_is_filled(installation):
    entries = [TableEntry(MY_SID, (i,), "MrcIngress.srv6.un", ()) for i in range(8)]
    others = [TableEntry(MY_SID, (i + 99,), "MrcIngress.srv6.un", ()) for i in range(8)]
    only = "p0t1a"
    installation.targets = {only: installation.targets[only]}
    small = with_small_table(installation.pipeline, MY_SID, 8)
    assert installation.install(lambda _: entries, pipeline=small).errors == ()
    assert installation.table(only, MY_SID).size == len(entries)
    assert installation.install(lambda _: others, pipeline=small).errors == ()
    assert installation.held(only) == set(others)


def test_small_batches_give_the_same_tables(installation):
    report = installation.install(batch=3, workers=2)
    assert report.errors == ()
    for name in installation.targets:
        assert installation.held(name) == set(installation.entries(name))


def test_another_program_is_replaced_only_when_allowed(installation):
    installation.install(pipeline=with_cookie(installation.pipeline, 77))
    report = installation.install()
    assert report.exit_status == 1
    assert len(report.errors) == len(installation.targets)
    assert all("holds another program (cookie 0x4d" in error for error in report.errors)
    assert all("--replace" in error for error in report.errors)
    report = installation.install(replace=True)
    assert report.errors == ()
    assert all(switch.pushed for switch in report.switches)
    assert installation.install().changes == 0


def test_on_done_hears_of_each_switch_in_the_calling_thread(installation):
    heard = []
    caller = threading.current_thread()

    def on_done(report):
        assert threading.current_thread() is caller
        heard.append(report.name)

    targets = list(installation.targets.values())
    install(targets, installation.pipeline, installation.entries, on_done=on_done)
    assert sorted(heard) == sorted(installation.targets)


def test_sessions_leave_no_thread_behind(installation):
    installation.install()
    names = {*installation.targets}
    assert not [t for t in threading.enumerate() if t.name in names]


def test_mastership_is_free_as_soon_as_a_session_is_closed(installation):
    target = installation.targets["p0t0a"]
    for _ in range(30):
        with SwitchSession(target, timeouts=TIMEOUTS):
            pass


def test_nothing_to_install_is_an_empty_report(installation):
    installation.targets = {}
    report = installation.install()
    assert (report.switches, report.exit_status) == ((), 0)


def test_counters_are_read_by_name_and_index(installation):
    installation.install()
    name = "p0t0a"
    short = bytes(60)
    for _ in range(3):
        assert installation.devices[name].switch.ingress(1, short, 0) == []
    p4info = installation.pipeline.p4info
    with SwitchSession(installation.targets[name], timeouts=TIMEOUTS) as session:
        rx = read_counters(session, p4info, ["MrcIngress.rx"])["MrcIngress.rx"]
        drops = read_counters(session, p4info, ["MrcIngress.drops"], [1, 2, 600])
        everything = read_counters(session, p4info, indices=[0, 1])
    assert rx[1] == CounterValue(packets=3, bytes=180)
    assert rx[0] == CounterValue(0, 0)
    assert list(rx) == list(range(512))
    assert drops == {"MrcIngress.drops": {1: CounterValue(3, 180), 2: CounterValue(0, 0)}}
    assert set(everything) == {counter.preamble.name for counter in p4info.counters}
