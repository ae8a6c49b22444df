# SPDX-License-Identifier: Apache-2.0
"""Proves with real frames that agents move data, survive lost carriers, silent links and each
other's deaths, and report what this machine dropped."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from netns_lab import PATIENT, NetnsPair, skip_unless_possible, until

from endpoint.agent.errors import AgentStartError, AgentUnavailable
from endpoint.agent.process import AgentProcess
from endpoint.agent.values import AgentEvent, FramesDropped, QpOptions, Region
from endpoint.events import PortChanged, WorkStatus

pytestmark = [pytest.mark.root, skip_unless_possible]

MIB = 1 << 20


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetnsPair]:
    pair = NetnsPair(tmp_path_factory.mktemp("pair"))
    try:
        pair.build()
        yield pair
    finally:
        pair.close()


@pytest.fixture
def pair(built: NetnsPair) -> NetnsPair:
    built.start()
    for host in built.HOSTS:
        client = built.clients[host]
        until(lambda c=client: all(port.usable for port in c.ports()), "all ports usable")
    return built


class Transfer:
    """A file at h1 and an empty one, as long, at h2, both registered."""

    def __init__(self, pair: NetnsPair, size: int) -> None:
        number = len(list(pair.folder.iterdir()))
        self.source_file = pair.folder / f"source{number}"
        self.target_file = pair.folder / f"target{number}"
        self.source_file.write_bytes(
            bytes((i * 7 + i // 251) % 256 for i in range(4096)) * (size // 4096)
        )
        one, other = pair.clients["h1"], pair.clients["h2"]
        self.source: Region = one.register_memory(file=str(self.source_file), remote_write=False)
        self.target: Region = other.register_memory(size, file=str(self.target_file), create=True)

    def is_whole(self) -> bool:
        return self.source_file.read_bytes() == self.target_file.read_bytes()


def placed(pair: NetnsPair, qpn: int) -> int:
    return pair.clients["h2"].statistics().qp(qpn).placement.bytes


def test_a_write_with_immediate_lands_in_a_file_over_both_planes(pair: NetnsPair) -> None:
    one, other = pair.clients["h1"], pair.clients["h2"]
    before = [client.statistics() for client in (one, other)]
    with pair.connected() as (near, far), other.watch_completions(qpn=far.qpn) as completions:
        transfer = Transfer(pair, 2 * MIB)
        other.post_receives(far.qpn, [9])
        posted_ns = one.write(near.qpn, 1, transfer.source, transfer.target, imm=0xC0FFEE)
        done = completions.wait(far.qpn, [9], 30)[9]
        assert (done.imm, done.byte_len, done.status.value) == (0xC0FFEE, 2 * MIB, "success")
        assert transfer.is_whole()
        # 2 MiB over two ports of 80 Mb/s take 106 ms: pacing held.
        assert done.time_ns - posted_ns > 100_000_000
        evs = one.evs(near.qpn)
        assert {ev.plane for ev in evs} == {0, 1}
        assert min(ev.data_packets for ev in evs) > 150
        after = [client.statistics() for client in (one, other)]
    sent, received = after[0].ports, after[1].ports
    assert not any(port.send_errors or port.socket_drops for port in (*sent, *received))
    assert after[1].nic["malformed"] == before[1].nic["malformed"] == 0
    # No agent hears its own frames.
    got = sum(port.frames_received for port in after[0].ports)
    assert got == sum(port.frames_received for port in before[0].ports) + after[0].qp(
        near.qpn
    ).counters["sacks_received"] + (
        after[0].nic["endpoint_messages"] - before[0].nic["endpoint_messages"]
    )


def test_a_lost_carrier_moves_all_traffic_and_its_return_brings_it_back(pair: NetnsPair) -> None:
    one = pair.clients["h1"]
    interface = pair.interface("h1", 1)
    with pair.connected() as (near, far), one.watch_completions() as completions:
        seen: list[AgentEvent] = []
        with one.watch_events() as events:
            events.drain()
            transfer = Transfer(pair, 4 * MIB)
            one.write(near.qpn, 1, transfer.source, transfer.target)
            until(lambda: placed(pair, far.qpn) > MIB, "a quarter placed")
            pair.ip("h1", "link", "set", interface, "down")
            done = completions.wait(near.qpn, [1], 30)[1]
            assert done.status is WorkStatus.SUCCESS and transfer.is_whole()
            assert not one.ports()[1].usable and one.ports()[0].usable
            assert {ev.state for ev in one.evs(near.qpn) if ev.plane == 1} == {"assumed_bad"}
            pair.ip("h1", "link", "set", interface, "up")
            until(lambda: all(ev.in_use for ev in one.evs(near.qpn)), "plane 1 in use")
            used = {ev.ev: ev.data_packets for ev in one.evs(near.qpn) if ev.plane == 1}
            one.write(near.qpn, 2, transfer.source, transfer.target)
            completions.wait(near.qpn, [2], 30)
            assert all(ev.data_packets > used[ev.ev] for ev in one.evs(near.qpn) if ev.plane == 1)
            seen += events.drain()
    local = [e.usable for e in seen if isinstance(e, PortChanged) and e.port == 1 and not e.remote]
    assert local[-2:] == [False, True]
    assert one.ports()[1].changes >= 2


@pytest.mark.skipif(shutil.which("nft") is None, reason="needs nft (nftables)")
def test_a_silent_link_is_left_and_failing_sends_are_losses(pair: NetnsPair) -> None:
    one = pair.clients["h1"]
    interface = pair.interface("h1", 0)
    with pair.connected() as (near, far), one.watch_completions() as completions:
        transfer = Transfer(pair, 4 * MIB)
        one.write(near.qpn, 1, transfer.source, transfer.target)
        until(lambda: placed(pair, far.qpn) > MIB, "a quarter placed")
        hook = f"type filter hook egress device {interface} priority 0;"
        pair.nft("h1", f"table netdev fault {{ chain egress {{\n{hook}\ndrop\n}}\n}}")
        try:
            done = completions.wait(near.qpn, [1], 30)[1]
            assert done.status is WorkStatus.SUCCESS and transfer.is_whole()
            evs = one.evs(near.qpn)
            assert {ev.state for ev in evs if ev.plane == 0} == {"assumed_bad"}
            assert one.ports()[0].usable  # nobody told: the packets did
            statistics = one.statistics()
            assert sum(statistics.ports[0].send_errors.values()) > 0
            assert statistics.qp(near.qpn).counters["lost"] > 0
        finally:
            pair.nft("h1", "delete table netdev fault")
        until(lambda: all(ev.in_use for ev in one.evs(near.qpn)), "plane 0 in use again")


def test_an_interface_made_anew_under_its_name_is_used_again(pair: NetnsPair) -> None:
    one = pair.clients["h1"]
    with pair.connected() as (near, _), one.watch_completions() as completions:
        pair.ip("h1", "link", "del", pair.interface("h1", 1))
        until(lambda: not one.ports()[1].usable, "port 1 down")
        transfer = Transfer(pair, MIB)
        one.write(near.qpn, 1, transfer.source, transfer.target)
        completions.wait(near.qpn, [1], 30)
        pair.plug(1)
        until(lambda: all(ev.in_use for ev in one.evs(near.qpn)), "plane 1 in use")
        one.write(near.qpn, 2, transfer.source, transfer.target)
        completions.wait(near.qpn, [2], 30)
        assert transfer.is_whole()
        assert min(ev.data_packets for ev in one.evs(near.qpn)) > 50


def test_a_killed_peer_costs_its_queue_pairs_and_nothing_else(pair: NetnsPair) -> None:
    one = pair.clients["h1"]
    impatient = QpOptions(
        base_rtt_ns=8_000_000, timeout=14, linear_retries=2, exponential_retries=1
    )
    with pair.connected(impatient) as (near, _), one.watch_completions() as completions:
        transfer = Transfer(pair, 4 * MIB)
        one.write(near.qpn, 1, transfer.source, transfer.target)
        one.write(near.qpn, 2, transfer.source, transfer.target)
        pair.agents["h2"].kill()
        with pytest.raises(AgentUnavailable):
            pair.clients["h2"].info()
        done = completions.wait(near.qpn, [1, 2], 30)
        assert done[1].status is WorkStatus.RETRY_EXCEEDED
        assert done[2].status is WorkStatus.FLUSHED
        assert one.statistics().qp(near.qpn).state == "error"
        assert (pair.folder / "h2.sock").exists()
        pair.start()  # replaces the socket that was left behind
        with pair.connected() as (again, _):
            transfer = Transfer(pair, MIB)
            one.write(again.qpn, 3, transfer.source, transfer.target)
            assert completions.wait(again.qpn, [3], 30)[3].status is WorkStatus.SUCCESS
            assert transfer.is_whole()


def test_frames_dropped_by_this_machine_are_reported_as_that(pair: NetnsPair) -> None:
    one = pair.clients["h1"]
    pair.end("h2")
    pair.start(h2=("--receive-buffer", "40000"))
    other = pair.clients["h2"]
    try:
        wide = QpOptions(base_rtt_ns=60_000_000, timeout=17)
        with pair.connected(wide) as (near, _), one.watch_completions() as completions:
            transfer = Transfer(pair, MIB)
            pair.agents["h2"].send_signal(signal.SIGSTOP)
            one.write(near.qpn, 1, transfer.source, transfer.target)
            until(lambda: one.statistics().qp(near.qpn).counters["data_sent"] > 100, "data sent")
            pair.agents["h2"].send_signal(signal.SIGCONT)
            assert completions.wait(near.qpn, [1], 30)[1].status is WorkStatus.SUCCESS
            assert transfer.is_whole()
            until(lambda: sum(p.socket_drops for p in other.statistics().ports) > 0, "drops")
            with other.watch_events(after=0) as events:
                dropped = [e for e in events.get(10) if isinstance(e, FramesDropped)]
                while sum(e.frames for e in dropped if e.place == "socket") < sum(
                    port.socket_drops for port in other.statistics().ports
                ):
                    dropped += [e for e in events.get(10) if isinstance(e, FramesDropped)]
        assert {e.interface for e in dropped} <= {pair.interface("h2", n) for n in (0, 1)}
        assert not any(port.socket_drops for port in one.statistics().ports)
        assert "dropped" in pair.agents["h2"].log_tail()
    finally:
        pair.agents["h2"].send_signal(signal.SIGCONT)
        pair.end("h2")


def test_sigterm_flushes_what_was_posted_and_leaves_nothing(pair: NetnsPair) -> None:
    one, other = pair.clients["h1"], pair.clients["h2"]
    near = one.create_qp(PATIENT)
    one.post_receives(near.qpn, [1])
    with one.watch_completions() as completions:
        one.info()
        pair.agents["h1"].send_signal(signal.SIGTERM)
        assert completions.wait(near.qpn, [1], 10)[1].status is WorkStatus.FLUSHED
        with pytest.raises(AgentUnavailable, match="has ended"):
            completions.get(10)
    assert pair.end("h1") == 0
    assert not (pair.folder / "h1.sock").exists()
    assert other.info().host == "h2"


def test_an_agent_ends_with_the_process_that_started_it(pair: NetnsPair) -> None:
    agent = pair.agents["h2"]
    assert agent._process.stdin is not None
    agent._process.stdin.close()  # what the kernel does when the starter is killed
    until(lambda: agent.returncode is not None, "the agent ended")
    assert agent.returncode == 0
    assert not (pair.folder / "h2.sock").exists()


def test_an_agent_that_cannot_start_says_why(pair: NetnsPair, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(AgentStartError, match=r"status 2[\s\S]*another process listens"):
        AgentProcess(pair.command("h1"), log).wait_ready(30)
    pair.end("h1")
    interface = pair.interface("h1", 0)
    pair.ip("h1", "link", "set", interface, "mtu", "1500")
    try:
        with pytest.raises(AgentStartError, match=rf"ip link set {interface} mtu 4228") as caught:
            AgentProcess(pair.command("h1"), log).wait_ready(30)
    finally:
        pair.ip("h1", "link", "set", interface, "mtu", "4300")
    assert "--host h1" in str(caught.value) and str(log) in str(caught.value)
