# SPDX-License-Identifier: Apache-2.0
"""The examples between two processes with raw sockets: QP set-up, EV Probes, writes.

On each of two hosts (or in two network namespaces), as root; the two tell each other their queue
pairs and memory over a Unix socket:

    python -m examples.two_processes --fabric tiny --host h1 --ports e0,e1 --meet /run/meet --serve
    python -m examples.two_processes --fabric tiny --host h3 --ports e0,e1 --meet /run/meet
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from endpoint import control as ctl
from endpoint import verbs as mrc
from endpoint.agent.packet_socket import open_packet_socket
from endpoint.agent.socket_driver import SocketDriver
from endpoint.nic import Nic, NicConfig
from endpoint.qp_config import QpConfig
from examples.explicit_evs import srv6_evs
from examples.qp_setup import Card, Endpoint, create, destroy, to_init, to_rtr, to_rts, write
from topologies import Fabric, load

BUFFER_BYTES = 1 << 18
SIZES = (1, 4096, BUFFER_BYTES)
WRITES = 8
TIMER_EXPONENT = 17  # 134 ms: processes are not scheduled at once
_ROUND_TRIP_NS = 20_000_000
_RECEIVE_BYTES = 8 << 20
_SLICE_NS = 20_000_000
_PATIENCE_NS = 30_000_000_000


class Meeting:
    """The way by which the two sides agree: one JSON document a line."""

    def __init__(self, path: Path, serve: bool) -> None:
        self._socket = _accept(path) if serve else _connect(path)
        self._socket.setblocking(False)
        self._heard = b""

    def tell(self, **facts: Any) -> None:
        self._socket.sendall(json.dumps(facts).encode() + b"\n")

    def heard(self) -> dict[str, Any] | None:
        """The next document; None when there is none yet. EOFError when the other is gone."""
        if b"\n" not in self._heard:
            try:
                some = self._socket.recv(1 << 16)
            except BlockingIOError:
                return None
            if not some:
                raise EOFError("the other side has gone")
            self._heard += some
        line, newline, rest = self._heard.partition(b"\n")
        if not newline:
            return None
        self._heard = rest
        facts: dict[str, Any] = json.loads(line)
        return facts

    def close(self) -> None:
        self._socket.close()


def _accept(path: Path) -> socket.socket:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        return listener.accept()[0]


def _connect(path: Path) -> socket.socket:
    end = time.monotonic() + _PATIENCE_NS / 1e9
    while True:
        way = socket.socket(socket.AF_UNIX)
        try:
            way.connect(str(path))
            return way
        except (FileNotFoundError, ConnectionRefusedError):
            way.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


class Side:
    """One process: its device, its objects, and the meeting."""

    def __init__(self, fabric: Fabric, host: str, ports: list[str], meeting: Meeting) -> None:
        self.fabric = fabric
        self.index = fabric.host(host).index
        self.meeting = meeting
        self._stack = ExitStack()
        sockets = [
            self._stack.enter_context(open_packet_socket(port, _RECEIVE_BYTES)) for port in ports
        ]
        config = QpConfig(base_rtt_ns=_ROUND_TRIP_NS, reorder_ns=_ROUND_TRIP_NS)
        nic = Nic(NicConfig(fabric, self.index, config), random.Random())
        self.driver = SocketDriver(nic, sockets)
        self.end: Endpoint = create(mrc.ibv_open_device(nic, self.driver), BUFFER_BYTES)

    def close(self) -> None:
        destroy(self.end)
        self._stack.close()

    def until(self, done: Callable[[], bool]) -> None:
        """Lets the NIC work until something is so. TimeoutError when it is not in half a minute."""
        was_done = False

        def asked() -> bool:
            nonlocal was_done
            was_done = was_done or done()
            return was_done

        end = self.driver.now_ns() + _PATIENCE_NS
        while not was_done:
            now = self.driver.now_ns()
            if now > end:
                raise TimeoutError("nothing came of it in half a minute")
            self.driver.wait(asked, now + _SLICE_NS)

    def hear(self) -> dict[str, Any]:
        """What the other side tells next; the NIC works meanwhile."""
        heard: list[dict[str, Any]] = []

        def something() -> bool:
            facts = self.meeting.heard()
            if facts is not None:
                heard.append(facts)
            return bool(heard)

        self.until(something)
        return heard[0]

    def connect(self) -> tuple[Card, int]:
        """RESET to RTS; the other side's card and host index."""
        psn = random.getrandbits(24)
        card = asdict(self.end.card)
        self.meeting.tell(host=self.index, psn=psn, **(card | {"gid": card["gid"].hex()}))
        facts = self.hear()
        peer = Card(facts["qpn"], bytes.fromhex(facts["gid"]), facts["addr"], facts["rkey"])
        to_init(self.end)
        to_rtr(self.end, peer, rq_psn=facts["psn"])
        to_rts(self.end, sq_psn=psn, timeout=TIMER_EXPONENT)
        self.meeting.tell(ready=True)
        assert self.hear()["ready"]
        return peer, facts["host"]

    def completions(self, count: int) -> list[mrc.ibv_wc]:
        """So many, each a success."""
        found: list[mrc.ibv_wc] = []

        def enough() -> bool:
            found.extend(mrc.mrc_poll_cq(self.end.cq, 64))
            return len(found) >= count

        self.until(enough)
        assert all(wc.status is mrc.IBV_WC_SUCCESS for wc in found), found
        return found


def serve(side: Side) -> None:
    """Takes what is written, and says what it got."""
    side.connect()
    mrc.mrc_post_recv(side.end.qp, mrc.ibv_recv_wr(wr_id=7))
    side.meeting.tell(posted=True)
    (wc,) = side.completions(1)
    digest = hashlib.sha256(side.end.buffer).hexdigest()
    side.meeting.tell(opcode=wc.opcode.name, imm=wc.imm_data, sha256=digest)
    print(f"got {wc.byte_len} bytes, immediate {wc.imm_data}", flush=True)
    assert side.hear()["bye"]


def drive(side: Side) -> None:
    """Sets up, writes, probes every path, measures."""
    peer, there = side.connect()
    end = side.end
    end.buffer[:] = random.randbytes(BUFFER_BYTES)
    assert side.hear()["posted"]
    write(end, peer, BUFFER_BYTES, wr_id=1, imm=42)
    side.completions(1)
    got = side.hear()
    equal = got["sha256"] == hashlib.sha256(end.buffer).hexdigest()
    print(f"{got['opcode']}, immediate {got['imm']}, {'equal' if equal else 'DIFFERENT'}")
    assert equal
    _probe(side, peer, there)
    print(f"{'MsgSize':>9} {'TotalOps':>9} {'BW_avg(Mbps)':>13}")
    for size in SIZES:
        start = side.driver.now_ns()
        for number in range(WRITES):
            write(end, peer, size, wr_id=number)
        side.completions(WRITES)
        rate = 8000 * size * WRITES / (side.driver.now_ns() - start)
        print(f"{size:>9} {WRITES:>9} {rate:>13.3f}", flush=True)
    side.meeting.tell(bye=True)


def _probe(side: Side, peer: Card, there: int) -> None:
    gid = side.end.gid
    requests = [
        ctl.mrc_ctl_ep_req(number, gid, peer.gid, ctl.MRC_CTL_EV_FMT_MODE_SRV6, ev)
        for number, ev in enumerate(srv6_evs(side.fabric, side.index, there), start=1)
    ]
    answers = ctl.mrc_ctl_ep_batch_send_wait(
        side.end.context, 0, ctl.MRC_CTL_EP_OP_EV_PROBE, requests, _PATIENCE_NS
    )
    print(f"{len(answers)} of {len(requests)} paths answered")


def main(arguments: list[str] | None = None) -> None:
    """Both sides; see above."""
    parser = argparse.ArgumentParser(prog="python -m examples.two_processes")
    parser.add_argument("--fabric", required=True, help="preset, or YAML file")
    parser.add_argument("--host", required=True, help="which host of it this is")
    parser.add_argument("--ports", required=True, help="its interfaces, by plane: e0,e1")
    parser.add_argument("--meet", type=Path, required=True, help="a Unix socket, the same for both")
    parser.add_argument("--serve", action="store_true", help="wait, and be written to")
    options = parser.parse_args(arguments)
    meeting = Meeting(options.meet, options.serve)
    side = Side(load(options.fabric), options.host, options.ports.split(","), meeting)
    try:
        (serve if options.serve else drive)(side)
    finally:
        side.close()
        meeting.close()


if __name__ == "__main__":
    main()
