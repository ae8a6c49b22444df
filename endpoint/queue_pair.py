# SPDX-License-Identifier: Apache-2.0
"""One queue pair: ties requester, responder, paths and probes together.

Fed by its NIC with parsed frames and time, asked for packets one by one. No I/O, no clock.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from endpoint.control_out import ControlOut
from endpoint.events import Completion, EvChanged, QpChanged, WorkOpcode, WorkStatus
from endpoint.host_services import HostServices
from endpoint.path_plan import PlannedPath
from endpoint.paths import Paths
from endpoint.peer import Peer
from endpoint.probes import ProbeBook, ProbePurpose
from endpoint.qp_config import PeerInfo, QpConfig
from endpoint.qp_paths import choose_paths
from endpoint.qp_states import QpInput, QpState, QpStateError, next_state
from endpoint.requester import Requester, RequesterConfig
from endpoint.responder import Responder
from endpoint.retry_timer import RetryPolicy
from endpoint.serial import expand
from endpoint.stats import QpStats
from endpoint.wire.aeth import SYNDROME_REMOTE_ACCESS_ERROR
from endpoint.wire.frame import ParsedFrame
from endpoint.wire.nack import UNEXP_EVENT, Nack
from endpoint.wire.probe import Probe as ProbeHeader
from endpoint.wire.sack import MARK_SKIP_ONCE, MPR_UNIT_PSNS, Sack
from endpoint.wire.tseth import ticks
from topologies import Fabric
from topologies.sids import ev_plane

__all__ = ["PeerInfo", "QpConfig", "QpState", "QpStateError", "QueuePair"]

_LONG_AGO = -(1 << 62)
_LIVE = (QpState.RTR, QpState.RTS)
"""States in which packets of the peer are taken."""


class QueuePair:
    """Made by `Nic.create_qp`. `stats` and `rtt` are there to be read."""

    def __init__(
        self, services: HostServices, qpn: int, config: QpConfig, rng: random.Random
    ) -> None:
        self.qpn = qpn
        self.config = config
        self.stats = QpStats()
        self.state = QpState.RESET
        self.error_reason = ""
        self._services = services
        self._rng = rng
        fabric = services.fabric
        self.first_psn = rng.getrandbits(24) if config.first_psn is None else config.first_psn
        self.rtt = config.rtt(fabric)
        self.retry = config.retry(self.rtt.base_ns)
        self._probes = ProbeBook(random.Random(rng.getrandbits(64)))
        self._receives_early: list[int] = []
        self.remote_address = b""
        self.wants_room = False
        self._ports = -1  # usable at both ends; what is usable at first has not come up
        self._port_up_ns = _LONG_AGO
        self._now_ns = 0
        self._move(QpInput.INITIALISE, 0)

    # -- connection -----------------------------------------------------------------------------

    def info(self) -> PeerInfo:
        """What the peer needs to connect to this queue pair."""
        services = self._services
        host = services.fabric.hosts[services.host_index]
        units = self.config.responder.mpr_units
        return PeerInfo(services.host_index, self.qpn, self.first_psn, host.address, units)

    @property
    def ends(self) -> tuple[Fabric, int, int]:
        """The fabric, and the indexes of the own and the peer's NIC (connected only)."""
        return self._services.fabric, self._services.host_index, self._peer_index

    def connect(self, peer: PeerInfo, now_ns: int) -> None:
        """INIT → RTR → RTS. QpStateError in any other state, ValueError for an impossible peer."""
        self.ready_to_receive(peer, now_ns)
        self.ready_to_send(now_ns)

    def configure(self, config: QpConfig) -> None:
        """Other settings than those of its creation, while in INIT; QpStateError later."""
        next_state(self.state, QpInput.PEER_KNOWN)
        self.config = config
        if config.first_psn is not None:
            self.first_psn = config.first_psn
        self.rtt = config.rtt(self._services.fabric)
        self.retry = config.retry(self.rtt.base_ns)

    def ready_to_receive(self, peer: PeerInfo, now_ns: int) -> None:
        """INIT → RTR: packets of the peer are taken. Errors as for `connect`."""
        services, config = self._services, self.config
        fabric = services.fabric
        address = fabric.hosts[peer.host_index].address
        if peer.address is not None and peer.address != address:
            raise ValueError(
                f"peer address {peer.address.hex()} is not that of host {peer.host_index}"
            )
        if peer.qpn >> 24 or peer.psn >> 24:
            raise ValueError(f"peer qpn {peer.qpn:#x} or psn {peer.psn:#x} is not 24 bits")
        if not 1 <= peer.mpr_units <= 255:
            raise ValueError(f"peer grants a window of {peer.mpr_units} units, not of 1 to 255")
        next_state(self.state, QpInput.PEER_KNOWN)
        near = fabric.hosts[services.host_index].t0 == fabric.hosts[peer.host_index].t0
        control = config.congestion_control(fabric, self.rtt.base_ns, same_t0=near)
        self._peer_index = dst = peer.host_index
        self.evs, self.reverse, self._planned = choose_paths(services, config, dst, self._rng)
        self.remote_address = address
        self._peer: Peer = services.peer(dst, self)
        if self._planned is not None and self._planned.plain:
            self._peer.use_route(self._planned)
        route = self._planned or self._peer.route
        self.paths = Paths(
            self.evs, self.reverse, route, peer.qpn, services.dscp, self.rtt,
            trimmable=config.trimmable,
        )  # fmt: skip
        self._congestion = control
        self._make_requester(peer.mpr_units)
        out = ControlOut(services, self.reverse, route, peer.qpn)
        self.responder = Responder(
            config.responder, peer.psn, services.memory, out, self.stats, self._complete
        )
        for wr_id in self._receives_early:
            self.responder.post_recv(wr_id, now_ns)
        self._receives_early.clear()
        self.set_ports(services.local_ports, self._peer.ports.mask, now_ns)
        self._move(QpInput.PEER_KNOWN, now_ns)

    def ready_to_send(
        self,
        now_ns: int,
        *,
        first_psn: int | None = None,
        retry: RetryPolicy | None = None,
        mpr_units: int | None = None,
    ) -> None:
        """RTR → RTS, with the first own PSN (24 bits), the timer and the least window of the
        peer (units of 128 PSNs) where they were not known before. QpStateError in other states."""
        next_state(self.state, QpInput.START)
        self.first_psn = self.first_psn if first_psn is None else first_psn
        self.retry = retry or self.retry
        units = self.requester.config.mpr // MPR_UNIT_PSNS if mpr_units is None else mpr_units
        self._make_requester(units)
        self._look_for_paths()
        self._move(QpInput.START, now_ns)

    def _make_requester(self, mpr_units: int) -> None:
        fabric = self._services.fabric
        mtu, trim_length = self.config.mtu(fabric), fabric.spec.trim_length
        self.requester = Requester(
            RequesterConfig(
                mtu, trim_length, mpr_units * MPR_UNIT_PSNS, self.retry, self.config.dynamic_mpr
            ),
            self.first_psn, self._congestion, self.rtt, self.paths, self.stats,
            self._sent_complete,
        )  # fmt: skip

    def replace_path(self, old_ev: int, new: PlannedPath, now_ns: int) -> None:
        """Another path of the plan in the place of one; ValueError as for `EvSet.replace`."""
        assert self._planned is not None
        self.evs.replace(old_ev, new.ev, now_ns)
        self._planned.add(new)
        self._services.wake(self)

    def _move(self, heard: QpInput, now_ns: int, reason: str = "") -> None:
        old = self.state
        self.state = next_state(old, heard)
        self._services.note(QpChanged(now_ns, self.qpn, old.value, self.state.value, reason))

    # -- work requests --------------------------------------------------------------------------

    def post_write(
        self,
        wr_id: int,
        data: bytes | bytearray | memoryview,
        remote_va: int,
        rkey: int,
        imm: int | None = None,
        *,
        now_ns: int,
    ) -> None:
        """Queues a WRITE, or a WRITE_IMM when `imm` (32 bits) is given; 0 bytes to 1 GiB.

        The data is read when packets are built and must stay unchanged until the completion. In
        ERROR it completes as flushed at once; before RTS it is a QpStateError.
        """
        if self.state is QpState.ERROR:
            opcode = WorkOpcode.WRITE if imm is None else WorkOpcode.WRITE_IMM
            self._complete(wr_id, opcode, WorkStatus.FLUSHED, 0, None, now_ns)
            return
        if self.state is not QpState.RTS:
            raise QpStateError(f"QP {self.qpn}: cannot send in {self.state.name}")
        view = memoryview(data).cast("B")
        self.requester.post(wr_id, view, remote_va, rkey, imm, now_ns)
        self._services.wake(self)

    def post_recv(self, wr_id: int, now_ns: int | None = None) -> None:
        """A receive, consumed by one WRITE_IMM of the peer. Without a time, the last one seen."""
        now_ns = self._now_ns if now_ns is None else now_ns
        if self.state is QpState.ERROR:
            self._complete(wr_id, WorkOpcode.RECV_WRITE_IMM, WorkStatus.FLUSHED, 0, None, now_ns)
        elif self.state is QpState.INIT:
            self._receives_early.append(wr_id)
        else:
            self.responder.post_recv(wr_id, now_ns)

    def _sent_complete(
        self, wr_id: int, opcode: WorkOpcode, status: WorkStatus, length: int, now_ns: int
    ) -> None:
        self._complete(wr_id, opcode, status, length, None, now_ns)

    def _complete(
        self,
        wr_id: int,
        opcode: WorkOpcode,
        status: WorkStatus,
        length: int,
        imm: int | None,
        now_ns: int,
    ) -> None:
        self._services.complete(Completion(self.qpn, wr_id, opcode, status, length, imm, now_ns))

    # -- sending --------------------------------------------------------------------------------

    def next_frame(self, now_ns: int, room: Sequence[int]) -> tuple[int, bytes] | None:
        """Port and frame of the next data packet, if one may go and its port has room.

        `wants_room` tells afterwards whether only room was missing.
        """
        self.wants_room = False
        if self.state is not QpState.RTS:
            return None
        requester = self.requester
        avoid = requester.next_avoids(now_ns)
        if avoid is None:
            return None
        ev = self.paths.choose(now_ns, avoid, room)
        if ev is None:
            self._look_for_paths()
            self.wants_room = not requester.pathless
            return None
        requester.pathless = False
        self.reverse.data_sent()
        return ev_plane(ev), requester.transmit(ev, now_ns)

    # -- receiving ------------------------------------------------------------------------------

    def receive(self, frame: ParsedFrame, now_ns: int) -> bool:
        """A frame for this queue pair; False when its ICRC is wrong."""
        self._now_ns = now_ns
        if self.state not in _LIVE:
            self.stats.dropped_in_state += 1
            return True
        self._peer.heard = self
        if frame.is_data:
            if frame.is_trimmed and not frame.check_icrc():
                self.responder.on_trimmed(frame)
            elif frame.check_icrc():
                self.responder.on_data(frame, now_ns)
                if self.responder.violation:
                    self.fail(WorkStatus.LOCAL_ACCESS_ERROR, self.responder.violation, now_ns)
                    return True
            else:
                return False
            self.reverse.data_received(now_ns)
            return True
        if not frame.check_icrc():
            return False
        if frame.sack is not None:
            self._take_sack(frame.sack, now_ns)
        elif frame.nack is not None:
            self._take_nack(frame.nack, now_ns)
        elif frame.probe is not None:
            self.reverse.data_received(now_ns)  # its answer needs a live path as a SACK does
            self.responder.on_probe(
                frame.probe.probe_id, frame.ev, frame.is_marked, frame.probe.tx_timestamp
            )
        elif frame.aeth is not None and frame.aeth.syndrome == SYNDROME_REMOTE_ACCESS_ERROR:
            psn = expand(frame.psn, self.requester.board.cack)
            self.requester.fail(WorkStatus.REMOTE_ACCESS_ERROR, psn)
            self._check_failure(now_ns)
        return True

    def _take_sack(self, sack: Sack, now_ns: int) -> None:
        if self._planned is not None:
            sack = sack._replace(ev=self._planned.engine_ev(sack.ev))
        order = 0
        answered = None if sack.probe_id is None else self._probes.answer(sack.probe_id)
        if answered is not None:
            probe, first = answered
            order = probe.order
            if first:
                self._measured(now_ns - probe.sent_ns)
            if first and not probe.late and probe.purpose is ProbePurpose.HEALTH:
                marked = sack.mark == MARK_SKIP_ONCE
                self.evs.probe_answered(probe.ev, now_ns, marked, probe.sent_ns)
        self.requester.on_sack(sack, now_ns, order)
        if self.requester.loss.uncovered:
            self._cover(now_ns)

    def _take_nack(self, nack: Nack, now_ns: int) -> None:
        if self._planned is not None:
            nack = nack._replace(ev=self._planned.engine_ev(nack.ev))
        self.requester.on_nack(nack, now_ns)
        if nack.reason == UNEXP_EVENT:
            self._check_failure(now_ns)

    # -- probes ---------------------------------------------------------------------------------

    def _cover(self, now_ns: int) -> None:
        """A Reliability Probe for a PSN that no SACK covers, on another plane than its own."""
        avoid = self.requester.probe_avoids(now_ns)
        if avoid is None:
            return
        ev = self.paths.choose_elsewhere(now_ns, avoid)
        if ev is not None:
            self._send_probe(ev, ProbePurpose.COVER, now_ns)

    def _send_probe(self, ev: int, purpose: ProbePurpose, now_ns: int) -> None:
        probe_id = self._probes.send(ev, now_ns, purpose, self.requester.probe_sent())
        self.stats.probes_sent += 1
        header = ProbeHeader(probe_id, ticks(now_ns))
        frame = self.paths.probe_template(ev).probe_request(header)
        self._services.emit(ev_plane(ev), frame)

    def ev_probe_answered(self, request_id: int, now_ns: int) -> None:
        """An EV Probe that this queue pair asked for was answered."""
        trip_ns = self.reverse.probe_answered(request_id, now_ns)
        if trip_ns is not None:
            self._measured(trip_ns)

    def _measured(self, trip_ns: int) -> None:
        """The round trip of a probe: it counts while there is no data to measure with."""
        if self.requester.pathless or not self.requester.busy:
            self.rtt.add(trip_ns)

    # -- time, ports, failure -------------------------------------------------------------------

    def next_timer_ns(self) -> int | None:
        """When `on_timer` has something to do, if ever."""
        if self.state not in _LIVE:
            return None
        timeout = self.rtt.loss_delay_ns
        due = self.requester.next_timer_ns()
        for other in (
            self.evs.next_timer_ns(),
            self._probes.next_timer_ns(timeout),
            self.reverse.next_timer_ns(timeout),
        ):
            if other is not None and (due is None or other < due):
                due = other
        return due

    def on_timer(self, now_ns: int) -> None:
        """Everything of this queue pair that is due by now."""
        self._now_ns = now_ns
        if self.state not in _LIVE:
            return
        self.requester.on_timer(now_ns)
        if self._check_failure(now_ns):
            return
        self._cover(now_ns)
        smoothed, timeout = self.rtt.smoothed_ns, self.rtt.loss_delay_ns
        for probe in self._probes.expire(now_ns, timeout):
            if probe.purpose is ProbePurpose.HEALTH:
                self.evs.probe_lost(probe.ev, now_ns, probe.sent_ns)
        for ev in self.evs.probes_due(now_ns, self._probe_pace_ns(now_ns)):
            self._send_probe(ev, ProbePurpose.HEALTH, now_ns)
        self.reverse.expire(now_ns, timeout)
        reverse_ev = self.reverse.probe_due(now_ns, smoothed)
        if reverse_ev is not None:
            request_id = self._peer.send_ev_probe(self, reverse_ev, now_ns)
            self.reverse.probe_sent(request_id, reverse_ev, now_ns)

    def _probe_pace_ns(self, now_ns: int) -> int:
        return self.requester.probe_pace_ns(now_ns - self._port_up_ns)

    def set_ports(self, local: int, remote: int, now_ns: int) -> None:
        """Usable ports of both NICs, bit = plane."""
        if local & remote & ~self._ports:
            self._port_up_ns = now_ns
            self.evs.pace_probes(self._probe_pace_ns(now_ns))
        self._ports = local & remote
        self.evs.set_local_ports(local, now_ns)
        self.evs.set_peer_ports(remote, now_ns)
        self.reverse.set_local_ports(local)
        self.reverse.set_peer_ports(remote)
        self._look_for_paths()

    def _look_for_paths(self) -> None:
        self.requester.pathless = not self.evs.usable_planes()

    def drain_ev_events(self) -> list[EvChanged]:
        """Changes of path states since the last call."""
        if not self.remote_address:
            return []  # never connected
        return [
            EvChanged(e.time_ns, self.qpn, e.ev, e.plane, e.old.value, e.new.value, e.cause)
            for e in self.evs.drain_events()
        ]

    def _check_failure(self, now_ns: int) -> bool:
        failure = self.requester.failure
        if failure is None:
            return False
        self.fail(failure, failure.value.replace("_", " "), now_ns)
        return True

    def fail(self, status: WorkStatus, reason: str, now_ns: int) -> None:
        """To ERROR: every posted work request completes with an error, in order. Once."""
        if self.state is QpState.ERROR:
            return
        self.error_reason = reason
        connected = self.state is not QpState.INIT
        self._move(QpInput.FAIL, now_ns, reason)
        if connected:
            self.requester.flush(now_ns)
            self.responder.flush(now_ns)
        for wr_id in self._receives_early:
            self._complete(wr_id, WorkOpcode.RECV_WRITE_IMM, WorkStatus.FLUSHED, 0, None, now_ns)
        self._receives_early.clear()

    def destroy(self, now_ns: int) -> None:
        """Flushes, and back to RESET; the NIC forgets it."""
        self.fail(WorkStatus.FLUSHED, "destroyed", now_ns)
        self._move(QpInput.DESTROY, now_ns)
