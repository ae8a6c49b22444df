# SPDX-License-Identifier: Apache-2.0
"""The rules that lose frames: what they match, and that nftables takes them and counts by kind."""

from __future__ import annotations

import shutil
import subprocess
from ipaddress import IPv6Address

import pytest

pytest.importorskip("mininet", reason="needs Mininet's modules: make mininet")


from endpoint.wire import opcodes
from testbed.mininet.drops import Counted, DropRule, script

ADDRESS = IPv6Address("5f00:0:1800:1001:803::").packed


def _rule(share: float = 1.0, destination: bytes | None = None) -> DropRule:
    return DropRule(None, ["one", "other"], share, destination)  # type: ignore[arg-type]


def test_a_whole_loss_needs_no_chance() -> None:
    text = script("mrc4", _rule())
    assert "table netdev mrc4" in text
    assert "numgen" not in text
    assert 'device "one"' in text and 'device "other"' in text


def test_a_share_is_drawn_once_for_each_frame() -> None:
    text = script("mrc4", _rule(share=0.2))
    assert text.count("numgen random mod 1000000 < 200000 jump lose") == 1
    assert "counter name data_passed" in text


def test_a_path_is_an_outer_destination() -> None:
    text = script("mrc4", _rule(destination=ADDRESS))
    assert text.count("ip6 daddr 5f00:0:1800:1001:803:: jump meet") == 2


def test_kinds_of_frames_are_those_of_the_wire() -> None:
    text = script("mrc4", _rule())
    writes = [code for code in range(256) if opcodes.IS_WRITE[code]]
    assert f"{writes[0]}-{writes[-1]} counter name data drop" in text
    assert str(opcodes.PROBE_REQUEST) in text.split("counter name probes")[0].split("{")[-1]


def test_counts_add_up() -> None:
    total = Counted(1, 2, 3, 4)
    total.add(Counted(10, 20, 30, 40))
    assert total == Counted(11, 22, 33, 44)


@pytest.mark.root
@pytest.mark.parametrize("rule", [_rule(), _rule(0.5), _rule(1.0, ADDRESS), _rule(0.01, ADDRESS)])
def test_nftables_takes_them(rule: DropRule) -> None:
    if shutil.which("nft") is None:
        pytest.skip("needs nft (nftables)")
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs root and network namespaces")
    shell = "ip link add one type veth peer name other && nft -f - && nft -j list counters"
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", shell],
        input=script("mrc0", rule),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in ("data", "control", "probes", "data_passed"):
        assert f'"name": "{name}"' in done.stdout
