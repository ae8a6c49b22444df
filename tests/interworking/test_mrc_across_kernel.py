# SPDX-License-Identifier: Apache-2.0
"""MRC runs unchanged across hops that are Linux kernels with seg6local and NEXT-C-SID: all bytes
arrive, every path is used, and a kernel that loses its SID is left like any silent switch."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import kernel_node
import pytest
from fabric_lab import FabricLab, Transfer

from endpoint.agent.values import QpOptions
from endpoint.events import WorkStatus
from testbed.mininet.bmv2 import CLI, PROGRAM
from testbed.mininet.interfaces import interface_name

pytestmark = pytest.mark.root

SIZE = 2 << 20
DATA_PACKETS = SIZE // 4096
# A frame that was cut does not pass a kernel; nothing is cut where no queue reaches these.
FABRIC = """\
name: interworking
planes: 1
t0s: 2
t1s: 2
nics_per_t0: 1
rate_gbps: {nic_t0: 0.08, t0_t1: 0.08}
delay_ns: {nic_t0: 100000, t0_t1: 100000}
thresholds: {ecn_min: 20, ecn_max: 25, trim: 30, trim_last_hop: 35}
"""
END, END_X = kernel_node.configure, kernel_node.configure_by_adjacency
BMV2 = pytest.mark.skipif(
    not (shutil.which(PROGRAM) and shutil.which(CLI)), reason=f"{PROGRAM} is not on the PATH"
)


def until(condition: Callable[[], bool], what: str, timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        time.sleep(0.02)


def packets_through(lab: FabricLab, switch: str) -> int:
    """Packets whose address the kernel of this switch shifted."""
    prefixes = [kernel_node.own_sid(lab.fabric, switch)]
    if lab.kernel[switch] is END_X:
        prefixes = list(kernel_node.adjacency_sids(lab.fabric, switch))
    return sum(kernel_node.sid_packets(lab.nodes[switch], prefix) for prefix in prefixes)


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        pytest.param({"p0t1a": END}, "soft", id="a T1 by End"),
        pytest.param({"p0t1a": END_X}, "soft", id="a T1 by End.X"),
        pytest.param({"p0t0b": END}, "soft", id="a T0 by End"),
        pytest.param(
            {"p0t1a": END}, "bmv2", id="a T1 by End, BMv2 around", marks=[pytest.mark.bmv2, BMV2]
        ),
        pytest.param(
            {"p0t0a": END, "p0t1a": END, "p0t1b": END_X, "p0t0b": END}, "soft", id="all switches"
        ),
    ],
)
def test_writes_both_ways(
    kernel: dict[str, kernel_node.Configure], kind: str, tmp_path: Path
) -> None:
    with FabricLab(FABRIC, kernel, kind, tmp_path) as lab, lab.connected("h1", "h2") as infos:
        transfers = []
        watched = []
        for (source, target), info in zip((("h1", "h2"), ("h2", "h1")), infos, strict=True):
            transfer = Transfer(lab, source, target, SIZE)
            client = lab.clients[source]
            watched.append((client.watch_completions(qpn=info.qpn), info.qpn))
            client.write(info.qpn, 1, transfer.source, transfer.target)
            transfers.append(transfer)
        for completions, qpn in watched:
            assert completions.wait(qpn, [1], 60)[1].status is WorkStatus.SUCCESS
        assert all(transfer.is_whole() for transfer in transfers)

        by_uplink = [0, 0]
        for client, info in zip(lab.clients.values(), infos, strict=True):
            statistics = client.statistics()
            assert statistics.nic["malformed"] == 0
            assert statistics.qp(info.qpn).counters["trimmed_received"] == 0
            for ev in client.evs(info.qpn):
                assert ev.in_use and ev.data_packets > DATA_PACKETS // 8, ev
                by_uplink[ev.uplink] += ev.data_packets
        assert sum(by_uplink) >= 2 * DATA_PACKETS
        for switch in kernel:
            through = packets_through(lab, switch)
            if switch.startswith("p0t1"):
                assert through >= by_uplink["ab".index(switch[-1])]
            else:
                assert through >= sum(by_uplink)


def test_a_kernel_that_loses_its_sid_is_left_and_taken_back(tmp_path: Path) -> None:
    everywhere = dict.fromkeys(("p0t0a", "p0t1a", "p0t1b", "p0t0b"), END)
    with FabricLab(FABRIC, everywhere, "soft", tmp_path) as lab, lab.connected("h1", "h2") as infos:
        near, far = infos
        one, other = lab.clients["h1"], lab.clients["h2"]
        transfer = Transfer(lab, "h1", "h2", 2 * SIZE)
        sid, hop = kernel_node.own_sid(lab.fabric, "p0t1a"), lab.nodes["p0t1a"]
        with one.watch_completions(qpn=near.qpn) as completions:
            one.write(near.qpn, 1, transfer.source, transfer.target)
            until(lambda: other.statistics().qp(far.qpn).placement.bytes > SIZE // 2, "some placed")
            hop.run(["ip", "-6", "route", "del", sid])
            assert completions.wait(near.qpn, [1], 60)[1].status is WorkStatus.SUCCESS
            assert transfer.is_whole()
            states = {ev.uplink: ev.state for ev in one.evs(near.qpn)}
            assert states == {0: "assumed_bad", 1: "good"}
            hop.run(kernel_node.sid_route(sid, ("End",), interface_name("p0t1a", 1)))
            until(lambda: all(ev.in_use for ev in one.evs(near.qpn)), "both paths in use")
            one.write(near.qpn, 2, transfer.source, transfer.target)
            assert completions.wait(near.qpn, [2], 60)[2].status is WorkStatus.SUCCESS
            assert kernel_node.sid_packets(hop, sid) > DATA_PACKETS // 4


def test_headers_that_a_switch_cut_before_a_kernel_are_lost_and_repaired(tmp_path: Path) -> None:
    # A T0 whose uplinks carry a twentieth each of what its NIC may send, and a window that knows
    # nothing of queues.
    slow = FABRIC.replace("t0_t1: 0.08", "t0_t1: 0.004")
    slow = slow.replace("20, ecn_max: 25, trim: 30", "0.02, ecn_max: 0.1, trim: 0.15")
    greedy = QpOptions(base_rtt_ns=30_000_000, timeout=17, congestion="fixed-window")
    with (
        FabricLab(slow, {"p0t1a": END, "p0t1b": END}, "soft", tmp_path) as lab,
        lab.connected("h1", "h2", greedy) as (near, far),
    ):
        one, other = lab.clients["h1"], lab.clients["h2"]
        transfer = Transfer(lab, "h1", "h2", SIZE // 2)
        with one.watch_completions(qpn=near.qpn) as completions:
            one.write(near.qpn, 1, transfer.source, transfer.target)
            assert completions.wait(near.qpn, [1], 60)[1].status is WorkStatus.SUCCESS
        assert transfer.is_whole()
        cut = sum(kernel_node.truncated_packets(lab.nodes[name]) for name in ("p0t1a", "p0t1b"))
        assert cut > 0
        assert other.statistics().qp(far.qpn).counters["trimmed_received"] == 0
        assert one.statistics().qp(near.qpn).counters["retransmitted"] >= cut
