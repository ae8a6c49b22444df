# SPDX-License-Identifier: Apache-2.0
"""Proves that write-bw and write-lat measure between two agents over their control sockets, find
the agents of a running fabric, and leave nothing behind."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from control_lab import ControlLab
from typer.testing import CliRunner

from endpoint.agent.client import AgentClient
from endpoint.agent.errors import AgentRefused
from testbed.cli.app import app
from testbed.mininet.run_folder import RunFolder
from testbed.perftest.agents import AgentPair
from testbed.perftest.errors import MeasurementFailed, PerftestError
from testbed.perftest.measure import measure
from testbed.perftest.options import Options
from testbed.perftest.running import agent_sockets
from testbed.perftest.settings import Settings
from testbed.perftest.statistics import BandwidthRow, LatencyOverTime, LatencyRow

Clients = tuple[AgentClient, AgentClient]
PATIENT = {"qp_timeout": 17, "base_rtt": "8ms"}


def rows(clients: Clients, settings: Settings) -> list[object]:
    with AgentPair(*clients, settings) as pair:
        return list(measure(pair, settings))


def test_bandwidth_in_both_directions_over_two_queue_pairs(clients: Clients) -> None:
    settings = Options(size="20000", iters=15, **PATIENT).bandwidth(2, 4, True)
    with AgentPair(*clients, settings) as pair:
        facts = pair.facts
        (row,) = measure(pair, settings)
        counters = [
            {qp.qpn: qp.counters["data_bytes_sent"] for qp in client.statistics().qps}
            for client in clients
        ]
    assert isinstance(row, BandwidthRow)
    assert (row.iterations, row.size) == (30, 20000)
    assert row.peak is not None and row.peak >= row.average > 0
    assert row.average == pytest.approx(20000 * row.message_rate)
    assert (facts.world, facts.fabric, facts.path_mtu, facts.paths) == ("agents", "tiny", 4096, 4)
    assert [near.host for near, _ in facts.ends] == ["h1", "h1"]
    for side, sent in enumerate(counters):
        assert sent == {ends[side].qpn: 15 * 20000 for ends in facts.ends}


def test_bandwidth_in_one_direction_leaves_the_other_alone(clients: Clients) -> None:
    settings = Options(size="6000", iters=10, mtu=1024, **PATIENT).bandwidth(1, 128, False)
    with AgentPair(*clients, settings) as pair:
        list(measure(pair, settings))
        sent = [client.statistics().qps[0].counters for client in clients]
    assert [counters["data_bytes_sent"] for counters in sent] == [60000, 0]
    assert sent[0]["data_sent"] - sent[0]["retransmitted"] == 10 * 6  # packets of 1 KiB


def test_latency_of_several_sizes_on_the_same_queue_pairs(clients: Clients) -> None:
    options = Options(iters=12, **PATIENT).latency()
    settings = Settings(options.quantity, (2, 300, 9000), 12, qp=options.qp)
    found = rows(clients, settings)
    assert [row.size for row in found if isinstance(row, LatencyRow)] == [2, 300, 9000]
    for row in found:
        assert isinstance(row, LatencyRow) and row.iterations == 12
        assert 0 < row.least <= row.typical <= row.percentile_99 <= row.most


def test_durations(clients: Clients) -> None:
    found = rows(clients, Options(duration="200ms", **PATIENT).latency())[0]
    assert isinstance(found, LatencyOverTime) and found.iterations > 0
    assert found.rate == found.iterations / 0.1
    row = rows(clients, Options(duration="200ms", **PATIENT).bandwidth(1, 2, True))[0]
    assert isinstance(row, BandwidthRow) and row.peak is None and row.average > 0


def test_nothing_is_left_at_the_agents(
    lab: ControlLab, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(clients, Options(size="1MiB", iters=5, **PATIENT).bandwidth(3, 2, True))
    with pytest.raises(MeasurementFailed), AgentPair(*clients, Options().latency()):
        raise MeasurementFailed

    def refuse(*_: object) -> None:
        raise AgentRefused("peer: planes 3, here 2", "INVALID_ARGUMENT")

    monkeypatch.setattr(clients[1], "connect_qp", refuse)
    with pytest.raises(AgentRefused), AgentPair(*clients, Options().latency()):
        pass
    assert [client.statistics().qps for client in clients] == [(), ()]
    assert [host.memory._regions for host in lab.hosts] == [{}, {}]


def test_an_agent_that_ends_is_the_error(lab: ControlLab, clients: Clients) -> None:
    settings = Options(size="64KiB", duration="60", **PATIENT).bandwidth(1, 4, True)
    ender = threading.Timer(0.5, lab.servers[1].stop, (0.1,))
    with AgentPair(*clients, settings) as pair:
        ender.start()
        with pytest.raises(MeasurementFailed, match=r"h3\.sock"):
            list(measure(pair, settings))
    ender.join()


def test_the_error_of_the_cause_is_shown(lab: ControlLab, clients: Clients) -> None:
    settings = Options(size="64KiB", duration="60", **PATIENT).latency()
    with AgentPair(*clients, settings) as pair:
        server_qpn = pair.facts.ends[0][1].qpn
        ender = threading.Timer(0.5, clients[1].destroy_qp, (server_qpn,))
        ender.start()
        with pytest.raises(MeasurementFailed, match=f"h3: QP {server_qpn}"):
            list(measure(pair, settings))
    ender.join()


def test_two_agents_of_one_host_are_refused(clients: Clients) -> None:
    with pytest.raises(PerftestError, match="h1: a host does not write to itself"):
        AgentPair(clients[0], clients[0], Options().latency())


def test_the_usual_iterations_are_fewer_for_large_messages(clients: Clients) -> None:
    with AgentPair(*clients, Options().bandwidth(1, 1, False)) as pair:
        # The lab's agents have no ports, so nothing paces them: 10,000 packets/s are assumed.
        assert pair.most_iterations(4096) == 20_000
        assert pair.most_iterations(1 << 20) == 20_000 // 256


# -- the command, on a running fabric ---------------------------------------------------------


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunFolder]:
    """What `mrc up` leaves to be found, with agents of hosts h1 and h3."""
    monkeypatch.setenv("MRC_RUN_DIR", str(tmp_path))
    with RunFolder("tiny (lab)") as run:
        lab = ControlLab(run.path)
        try:
            yield run
        finally:
            lab.close()


def test_the_command_on_a_running_fabric(running: RunFolder) -> None:
    command = ["write-lat", "--from", "h1", "--to", "h3", "-n", "8", "--base-rtt", "8ms"]
    done = CliRunner().invoke(app, [*command, "-u", "17"])
    assert done.exit_code == 0, done.output
    assert "World           : agents               Fabric         : tiny" in done.output
    row = done.output.splitlines()[-2].split()
    assert row[:2] == ["2", "8"] and len(row) == 9


def test_the_command_between_two_sockets(running: RunFolder) -> None:
    sockets = ["--client", str(running.file("h3.sock")), "--server", str(running.file("h1.sock"))]
    options = ["-s", "64", "-n", "9", "--base-rtt", "8ms", "-u", "17", "--json"]
    done = CliRunner().invoke(app, ["write-bw", *sockets, *options])
    assert done.exit_code == 0, done.output
    made = json.loads(done.output)
    assert [row["n_iterations"] for row in made["results"]] == [9]
    assert made["test_info"]["addresses"][0]["local"]["host"] == "h3"


def test_a_running_fabric_is_chosen_by_its_id_where_there_are_several(running: RunFolder) -> None:
    sockets = (str(running.file("h1.sock")), str(running.file("h3.sock")))
    assert agent_sockets(("h1", "h3")) == sockets
    with pytest.raises(PerftestError, match=r"h2 has no agent \(there are: h1, h3\)"):
        agent_sockets(("h1", "h2"))
    with RunFolder("another") as other:
        with pytest.raises(PerftestError, match=r"several fabrics are up.*another"):
            agent_sockets(("h1", "h3"))
        assert agent_sockets(("h1", "h3"), running.id) == sockets
        with pytest.raises(PerftestError, match=f"run {other.id}: h1 has no agent"):
            agent_sockets(("h1", "h3"), other.id)
    with pytest.raises(PerftestError, match=f"--run {other.id}: is not up"):
        agent_sockets(("h1", "h3"), other.id)


def test_without_a_running_fabric_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MRC_RUN_DIR", str(tmp_path))
    done = CliRunner().invoke(app, ["write-bw", "h1", "h3", "--world", "mininet"])
    assert done.exit_code == 2
    assert "no fabric is up" in done.stderr and "mrc up" in done.stderr
