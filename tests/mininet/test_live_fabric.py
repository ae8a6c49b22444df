# SPDX-License-Identifier: Apache-2.0
"""On a fabric of real packets: interfaces are prepared, writes arrive, every fault breaks what it
says and is mended again, and whatever dies leaves the others at work."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("mininet", reason="needs Mininet's modules: make mininet")

from small_fabric import small_fabric

from endpoint.agent.errors import AgentError
from endpoint.wire.dscp import DscpMap
from endpoint.wire.frame import parse_frame
from testbed.mininet.errors import MininetWorldError
from testbed.mininet.interfaces import OFFLOADS, interfaces_of, mtu
from testbed.mininet.live import LiveFabric
from testbed.mininet.session import Session
from testbed.mininet.transfers import Transfer, TransferResult
from topologies.errors import TopologyError

pytestmark = pytest.mark.mininet

KIB = 1 << 10
WAIT_S = 30.0


class Desk:
    """A session, and the results of its writes in the order in which they ended."""

    def __init__(self, live: LiveFabric, folder: Path) -> None:
        self.ended: list[TransferResult] = []
        fabric = small_fabric()
        self.session = Session(live, fabric, 1.0, folder, self._tell)

    def _tell(self, transfer: Transfer, result: TransferResult) -> None:
        self.ended.append(result)

    def write(self, source: str, target: str, length: int) -> TransferResult:
        self.session.write(source, target, length).join(WAIT_S)
        return self.ended[-1]

    def states(self, host: str = "h1") -> dict[tuple[int, int], str]:
        """State of each path, by plane and uplink."""
        return {
            (path.plane, path.uplink): path.state
            for table in self.session.paths(host)
            for path in table.paths
        }


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_S:g} s: {what}"
        time.sleep(0.05)


@pytest.fixture
def desk(live: LiveFabric, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(live, tmp_path)
    yield made
    made.session.heal_all()
    made.session.wait()
    made.session.close()


def _all_arrive(result: TransferResult) -> None:
    assert result.error is None


# -- how it is built --------------------------------------------------------------------------


def test_every_interface_is_prepared_at_both_ends(live: LiveFabric) -> None:
    wanted = mtu(live.fabric)
    for node in live.net.nodes:
        links = {link["ifname"]: link for link in json.loads(node.run(["ip", "-j", "link"]))}
        for _, name in interfaces_of(live.fabric, node.name):
            assert links[name]["mtu"] == wanted
            assert links[name]["operstate"] == "UP"
        assert node.run(["ip", "-6", "addr", "show", "scope", "link"]) == ""


def test_offloads_are_off(live: LiveFabric) -> None:
    features = {
        "rx": "rx-checksumming",
        "tx": "tx-checksumming",
        "sg": "scatter-gather",
        "tso": "tcp-segmentation-offload",
        "gso": "generic-segmentation-offload",
        "gro": "generic-receive-offload",
    }
    assert set(features) == set(OFFLOADS)
    said = live.net.node("p0t0a").run(["ethtool", "-k", "p0t0a-eth1"]).splitlines()
    for feature in features.values():
        assert any(line.startswith(f"{feature}: off") for line in said), feature


def test_addresses_are_those_of_the_description(live: LiveFabric) -> None:
    links = json.loads(live.net.node("p1t1b").run(["ip", "-j", "link"]))
    macs = {link["ifname"]: link["address"] for link in links}
    assert macs["p1t1b-eth2"] == live.fabric.mac("p1t1b", 2).hex(":")


def test_none_of_it_is_in_the_machines_own_namespace(live: LiveFabric) -> None:
    names = {path.name for path in Path("/sys/class/net").iterdir()}
    for node in live.net.nodes:
        assert not names & {name for _, name in interfaces_of(live.fabric, node.name)}


# -- writes -----------------------------------------------------------------------------------


def test_a_write_arrives_over_all_paths(desk: Desk) -> None:
    result = desk.write("h1", "h2", 200 * KIB)
    _all_arrive(result)
    assert result.bytes == 200 * KIB
    assert set(desk.states().values()) == {"good"}
    (table,) = desk.session.paths("h1")
    assert len(table.paths) == 4
    assert all(path.data_packets >= 8 for path in table.paths)


def test_what_cannot_be_written_is_refused(desk: Desk) -> None:
    with pytest.raises(MininetWorldError, match="cannot write to itself"):
        desk.session.write("h1", "h1", 1)
    with pytest.raises(TopologyError, match="no host 'h9'"):
        desk.session.write("h1", "h9", 1)
    with pytest.raises(MininetWorldError, match="1 to"):
        desk.session.write("h1", "h2", 0)


def test_a_capture_has_both_directions(desk: Desk, tmp_path: Path) -> None:
    path = desk.session.begin_capture("h2-p1t0b")
    _all_arrive(desk.write("h1", "h2", 40 * KIB))
    assert desk.session.end_capture("h2-p1t0b") == path
    spec = desk.session.fabric.spec
    dscp = DscpMap(**spec.dscp.model_dump())
    frames = [parse_frame(frame, dscp) for frame in _pcap_frames(path)]
    directions = {frame.dst for frame in frames}
    hosts = desk.session.fabric.hosts
    assert directions == {hosts[0].address, hosts[1].address}


def _pcap_frames(path: Path) -> list[bytes]:
    data, at, frames = path.read_bytes(), 24, []
    while at < len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "little")
        frames.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return frames


# -- faults -----------------------------------------------------------------------------------


def test_a_link_that_is_down_loses_both_directions_and_carries_again(desk: Desk) -> None:
    _all_arrive(desk.write("h1", "h2", 4 * KIB))
    breaker = desk.session.breaker
    fault = desk.session.break_it("link", lambda n: breaker.cut_link("p0t0a-p0t1b", n))
    result = desk.write("h1", "h2", 200 * KIB)
    _all_arrive(result)
    assert desk.states() == {
        (0, 0): "good", (0, 1): "assumed_bad", (1, 0): "good", (1, 1): "good",
    }  # fmt: skip
    counted = breaker.counted(fault.number)
    assert 0 < counted.data <= result.retransmitted
    assert counted.probes > 0
    desk.session.heal(fault.number)
    until(lambda: desk.states()[0, 1] == "good", "the path returns")
    assert breaker.counted(fault.number).data == counted.data
    assert "table" not in desk.session.live.net.node("p0t0a").run(["nft", "list", "ruleset"])


def test_a_nic_port_goes_down_at_the_host_and_the_switchs_own_interface_stays_up(
    desk: Desk,
) -> None:
    _all_arrive(desk.write("h1", "h2", 4 * KIB))
    breaker, net = desk.session.breaker, desk.session.live.net
    desk.session.break_it("port", lambda n: breaker.cut_link("h1-p1t0a", n))
    flags = json.loads(net.node("p1t0a").run(["ip", "-j", "link", "show", "p1t0a-eth1"]))
    assert "UP" in flags[0]["flags"]
    client = desk.session.live.agents.clients["h1"]
    until(lambda: not client.ports()[1].usable, "the host sees it")
    result = desk.write("h1", "h2", 100 * KIB)
    _all_arrive(result)
    sent = {path.plane: 0 for path in desk.session.paths("h1")[0].paths}
    before = [port.frames_sent for port in client.statistics().ports]
    _all_arrive(desk.write("h1", "h2", 100 * KIB))
    after = [port.frames_sent for port in client.statistics().ports]
    assert after[1] == before[1] and after[0] > before[0] and len(sent) == 2
    desk.session.heal_all()
    until(lambda: client.ports()[1].usable, "the port is back")
    until(lambda: set(desk.states().values()) == {"good"}, "its paths return")


def test_a_lossy_link_loses_about_its_share(desk: Desk) -> None:
    breaker = desk.session.breaker
    fault = desk.session.break_it("lossy", lambda n: breaker.thin_link("p1t0b-p1t1a", 0.5, n))
    _all_arrive(desk.write("h1", "h2", 100 * KIB))
    counted = breaker.counted(fault.number)
    met = counted.data + counted.data_passed
    assert 0 < counted.data <= met
    until(lambda: _probes_met(breaker.counted(fault.number)) >= 3, "probes meet it too")


def _probes_met(counted: object) -> int:
    return counted.probes + counted.control + counted.data_passed  # type: ignore[attr-defined]


def test_a_lossy_path_spares_all_others(desk: Desk) -> None:
    _all_arrive(desk.write("h1", "h2", 4 * KIB))
    breaker = desk.session.breaker
    desk.session.break_it("path", lambda n: breaker.thin_path("h1", "h2", 1, 0, 1.0, n))
    _all_arrive(desk.write("h1", "h2", 200 * KIB))
    bad = {path for path, state in desk.states().items() if state != "good"}
    assert bad == {(1, 0)}


def test_a_stopped_switch_comes_back_with_its_tables(desk: Desk) -> None:
    _all_arrive(desk.write("h1", "h2", 4 * KIB))
    session, net = desk.session, desk.session.live.net
    session.break_it("stop switch p1t1a", lambda n: session.breaker.stop_switch("p1t1a", n))
    assert not net.switch("p1t1a").running
    with pytest.raises(MininetWorldError, match="p1t1a is not running"):
        session.counters("p1t1a")
    links = json.loads(net.node("p1t1a").run(["ip", "-j", "link", "show", "p1t1a-eth1"]))
    assert "UP" not in links[0]["flags"]
    _all_arrive(desk.write("h1", "h2", 200 * KIB))
    assert {path for path, state in desk.states().items() if state != "good"} == {(1, 0)}
    session.start_switch("p1t1a")
    until(lambda: set(desk.states().values()) == {"good"}, "the path returns")
    assert session.counters("p1t1a")["MrcIngress.rx"][1].packets > 0
    assert session.faults == []


def test_a_silent_switch_swallows_everything_and_keeps_its_control_plane(desk: Desk) -> None:
    _all_arrive(desk.write("h1", "h2", 4 * KIB))
    session = desk.session
    fault = session.break_it("silent", lambda n: session.breaker.silence_switch("p0t1a", n))
    _all_arrive(desk.write("h1", "h2", 200 * KIB))
    assert {path for path, state in desk.states().items() if state != "good"} == {(0, 0)}
    assert session.breaker.counted(fault.number).data > 0
    assert session.counters("p0t1a")["MrcIngress.rx"][1].packets > 0


def test_two_faults_on_one_link_are_mended_one_by_one(desk: Desk) -> None:
    session = desk.session
    client = session.live.agents.clients["h2"]
    one = session.break_it("one", lambda n: session.breaker.cut_link("h2-p0t0b", n))
    other = session.break_it("other", lambda n: session.breaker.cut_link("h2-p0t0b", n))
    until(lambda: not client.ports()[0].usable, "down")
    session.heal(one.number)
    time.sleep(0.2)
    assert not client.ports()[0].usable
    session.heal(other.number)
    until(lambda: client.ports()[0].usable, "up again")
    with pytest.raises(MininetWorldError, match="no fault"):
        session.heal(other.number)


def test_a_fault_that_cannot_be_carried_out_leaves_nothing(desk: Desk) -> None:
    with pytest.raises(TopologyError):
        desk.session.break_it("x", lambda n: desk.session.breaker.cut_link("p0t0a-p0t9x", n))
    with pytest.raises(MininetWorldError, match="no write from h2 to h1"):
        desk.session.break_it(
            "y", lambda n: desk.session.breaker.thin_path("h2", "h1", 0, None, 0.5, n)
        )
    assert desk.session.faults == []


# -- death ------------------------------------------------------------------------------------


def test_a_killed_agent_leaves_the_others_at_work_and_can_be_replaced(desk: Desk) -> None:
    session = desk.session
    process = session.live.agents.processes["h2"]
    os.kill(session.live.agents.clients["h2"].info().process_id, signal.SIGKILL)
    until(lambda: process.returncode is not None, "it is gone")
    assert session.live.agents.clients["h1"].info().host == "h1"
    assert all(session.live.net.switch(s.name).running for s in session.fabric.switches())
    with pytest.raises(MininetWorldError, match="the agent of h2 ended"):
        session.live.check()
    with pytest.raises(AgentError):
        session.write("h1", "h2", 4 * KIB)
    session.restart_agent("h2")
    session.live.check()
    _all_arrive(desk.write("h1", "h2", 40 * KIB))


def test_a_killed_switch_is_noticed_and_can_be_started_again(desk: Desk) -> None:
    _all_arrive(desk.write("h1", "h2", 4 * KIB))
    session = desk.session
    process = session.live.net.switch("p0t1b")
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: not process.running, "it is gone")
    with pytest.raises(MininetWorldError, match=r"switch p0t1b ended \(exit status -9\)"):
        session.live.check()
    _all_arrive(desk.write("h1", "h2", 100 * KIB))
    with pytest.raises(MininetWorldError, match="p0t1a is running"):
        session.start_switch("p0t1a")
    session.start_switch("p0t1b")
    session.live.check()
    until(lambda: set(desk.states().values()) == {"good"}, "the path returns")
