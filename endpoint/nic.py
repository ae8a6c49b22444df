# SPDX-License-Identifier: Apache-2.0
"""All queue pairs of one NIC: demultiplexing, scheduling, endpoint messages, timers, ports.

The NIC is fed frames and time and asked for frames; it has no I/O and no clock. Randomness comes
from the generator passed in.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from endpoint.endpoint_desk import EndpointDesk
from endpoint.events import Completion, EvChanged, Event, PortChanged
from endpoint.link_prober import LinkProber, ProberConfig
from endpoint.memory import Access, MemoryRegion, MemoryTable
from endpoint.peer import Peer
from endpoint.qp_config import QpConfig
from endpoint.qp_timers import QpTimers
from endpoint.queue_pair import QueuePair
from endpoint.routes import Route
from endpoint.stats import NicStats
from endpoint.wire.dscp import DscpMap
from endpoint.wire.errors import FrameError
from endpoint.wire.frame import ParsedFrame, parse_frame
from endpoint.wire.opcodes import ENDPOINT_QP
from topologies import Fabric

FIRST_QPN = 16
QPN_LIMIT = 1 << 24

OutFrame = tuple[int, bytes, bool]
"""Port, frame, and whether it is urgent (control: ahead of data, whatever the room)."""


@dataclass(frozen=True, slots=True)
class NicConfig:
    """`host_index` is 0-based. `qp` is what queue pairs get that are made without a config."""

    fabric: Fabric
    host_index: int
    qp: QpConfig = field(default_factory=QpConfig)


class Nic:
    """One NIC with one port a plane (port number = plane, from 0)."""

    def __init__(self, config: NicConfig, rng: random.Random) -> None:
        self.config = config
        self.fabric = config.fabric
        self.host_index = config.host_index
        dscp = config.fabric.dscp
        self.dscp = DscpMap(
            no_trim=dscp.no_trim,
            trimmable=dscp.trimmable,
            trimmable_retx=dscp.trimmable_retx,
            trimmed=dscp.trimmed,
            trimmed_lasthop=dscp.trimmed_lasthop,
            control=dscp.control,
        )
        self.address = config.fabric.hosts[config.host_index].address
        self.stats = NicStats()
        self.memory = MemoryTable(random.Random(rng.getrandbits(64)))
        self.local_ports = (1 << config.fabric.spec.planes) - 1
        self._rng = rng
        self._qps: dict[int, QueuePair] = {}
        self._peers: dict[bytes, Peer] = {}
        self._untold: list[Peer] = []  # have not confirmed the newest port status
        self._next_qpn = FIRST_QPN
        self._resting: deque[tuple[int, int]] = deque()  # (free from, QPN)
        self._active: deque[QueuePair] = deque()  # may have packets to send
        self._is_active: set[int] = set()
        self._timers = QpTimers(self._qps)
        self._urgent: list[OutFrame] = []
        self._completions: list[Completion] = []
        self._events: list[Event] = []
        self._now_ns = 0
        self.desk = EndpointDesk(self)
        """Requests to other NICs that belong to no queue pair."""
        self.prober: LinkProber | None = None

    # -- memory and queue pairs -----------------------------------------------------------------

    def register_memory(
        self, buffer: bytearray | memoryview, access: Access = Access.REMOTE_WRITE
    ) -> MemoryRegion:
        """Registers a writable buffer; its `va` and `rkey` are what a remote writer needs."""
        return self.memory.register(buffer, access)

    def create_qp(self, config: QpConfig | None = None) -> QueuePair:
        """A queue pair in INIT. RuntimeError when all 2**24 numbers are taken."""
        qpn = self._free_qpn()
        rng = random.Random(self._rng.getrandbits(64))
        qp = self._qps[qpn] = QueuePair(self, qpn, config or self.config.qp, rng)
        return qp

    def _free_qpn(self) -> int:
        if self._resting and self._resting[0][0] <= self._now_ns:
            return self._resting.popleft()[1]
        if self._next_qpn >= QPN_LIMIT:
            raise RuntimeError("no queue pair number is free")
        self._next_qpn += 1
        return self._next_qpn - 1

    def destroy_qp(self, qpn: int, now_ns: int) -> None:
        """Flushes and forgets a queue pair (KeyError if unknown).

        Its number rests: a peer that has not heard of it sends on until its retries are used up
        (taken to be set like ours), and a successor would take those packets for its own. Twice
        the longest timer, which is the least, is shorter than that. After a peer that never gives
        up the number is not used again."""
        self._now_ns = max(self._now_ns, now_ns)
        qp = self._take_out(qpn, now_ns)
        longest_ns = qp.retry.longest_ns
        lingers_ns = qp.retry.gives_up_after_ns(qp.rtt.loss_delay_ns)
        if lingers_ns is not None:
            self._resting.append((now_ns + max(lingers_ns + longest_ns, 2 * longest_ns), qpn))
            self._resting = deque(sorted(self._resting))

    def reset_qp(self, qpn: int, now_ns: int) -> QueuePair:
        """Flushes a queue pair (KeyError if unknown) and makes a new one, in INIT, with its number.

        The number does not rest: who reuses it at once chooses first PSNs that packets still
        under way cannot hit, as with any RDMA queue pair."""
        self._now_ns = max(self._now_ns, now_ns)
        old = self._take_out(qpn, now_ns)
        rng = random.Random(self._rng.getrandbits(64))
        qp = self._qps[qpn] = QueuePair(self, qpn, old.config, rng)
        return qp

    def _take_out(self, qpn: int, now_ns: int) -> QueuePair:
        qp = self._qps[qpn]
        qp.destroy(now_ns)
        del self._qps[qpn]
        self._is_active.discard(qpn)
        self._timers.changed(qpn)
        peer = self._peers.get(qp.remote_address)
        if peer is not None and qp in peer.queue_pairs:
            peer.disconnected(qp)
            if not peer.queue_pairs:
                del self._peers[qp.remote_address]
                self._untold = [other for other in self._untold if other is not peer]
        return qp

    def qp(self, qpn: int) -> QueuePair | None:
        """The queue pair with this number, if there is one."""
        return self._qps.get(qpn)

    def queue_pairs(self) -> list[QueuePair]:
        """All queue pairs, oldest first."""
        return list(self._qps.values())

    # -- services for queue pairs and peers -----------------------------------------------------

    def emit(self, port: int, frame: bytes) -> None:
        """Queues a control frame."""
        self._urgent.append((port, frame, True))

    def complete(self, completion: Completion) -> None:
        """Queues a completion."""
        self._completions.append(completion)

    def note(self, event: Event) -> None:
        """Queues an event."""
        self._events.append(event)

    def wake(self, qp: QueuePair) -> None:
        """The queue pair may have packets to send, and another timer."""
        self._timers.changed(qp.qpn)
        if qp.qpn not in self._is_active:
            self._is_active.add(qp.qpn)
            self._active.append(qp)

    def peer(self, host_index: int, qp: QueuePair) -> Peer:
        """The peer NIC with this index; `qp` is one more queue pair towards it.

        Each side tells the other its ports at every connection: either may have restarted.
        """
        address = self.fabric.hosts[host_index].address
        peer = self._peers.get(address)
        if peer is None:
            route = Route(self.fabric, self.host_index, host_index)
            rng = random.Random(self._rng.getrandbits(64))
            peer = self._peers[address] = Peer(self, route, self.local_ports, rng)
        peer.connected(qp)
        self._tell(peer)
        return peer

    def known_peer(self, address: bytes) -> Peer | None:
        """The peer NIC with this address, if a queue pair is connected to it."""
        return self._peers.get(address)

    def announce_ports(self, peer: Peer, mask: int) -> int:
        """An operator's Port Status Update to one peer (bit = port, from 0), repeated until it is
        answered; its request id."""
        request_id = peer.status.announce(mask)
        self._tell(peer)
        return request_id

    def _tell(self, peer: Peer) -> None:
        if peer.status.pending and peer not in self._untold:
            self._untold.append(peer)

    def probe_links(self, config: ProberConfig, now_ns: int) -> LinkProber:
        """From now on the NIC probes its T0s and T1s; `take` of what is returned has outcomes."""
        rng = random.Random(self._rng.getrandbits(64))
        self.prober = LinkProber(self, config, rng, now_ns)
        return self.prober

    # -- frames in ------------------------------------------------------------------------------

    def receive(self, port: int, frame: bytes, now_ns: int) -> None:
        """A frame that arrived on a port. Whatever is wrong with it is counted, never raised."""
        self._now_ns = now_ns
        stats = self.stats
        stats.frames_received += 1
        if not self.local_ports >> port & 1:
            stats.received_on_down_port += 1
            return
        try:
            parsed = parse_frame(frame, self.dscp)
        except FrameError:
            stats.malformed += 1
            return
        if parsed.dst != self.address:
            stats.wrong_address += 1
            return
        if parsed.dest_qp == ENDPOINT_QP:
            self._receive_endpoint_message(parsed, port, now_ns)
            return
        qp = self._qps.get(parsed.dest_qp)
        if qp is None:
            stats.unknown_qp += 1
        elif parsed.src != qp.remote_address:
            stats.wrong_peer += 1
        elif qp.receive(parsed, now_ns):
            self.wake(qp)
        else:
            stats.icrc_errors += 1

    def _receive_endpoint_message(self, frame: ParsedFrame, port: int, now_ns: int) -> None:
        stats = self.stats
        if not frame.check_icrc():
            stats.icrc_errors += 1
            return
        if frame.src == self.address:
            taken = self.prober is not None and self.prober.receive(frame, port, now_ns)
            stats.endpoint_messages += taken
            stats.wrong_peer += not taken
            return
        peer = self._peers.get(frame.src)
        taken = self.desk.receive(frame, port, now_ns, stranger=peer is None)
        if peer is None:
            stats.endpoint_messages += taken
            stats.wrong_peer += not taken
            return
        stats.endpoint_messages += 1
        before = peer.ports.mask
        if peer.receive(frame, port, now_ns) is not None:
            self._peer_ports_changed(peer, before, now_ns)
        self._tell(peer)

    def _peer_ports_changed(self, peer: Peer, before: int, now_ns: int) -> None:
        mask = peer.ports.mask
        for port in self.fabric.ports(self.fabric.hosts[self.host_index].name):
            if (before ^ mask) >> port & 1:
                usable = bool(mask >> port & 1)
                address = peer.route.destination
                self._events.append(PortChanged(now_ns, port, usable, True, address))
        for qp in peer.queue_pairs:
            qp.set_ports(self.local_ports, mask, now_ns)
            self.wake(qp)

    # -- frames out -----------------------------------------------------------------------------

    def frames_to_send(self, now_ns: int, room: Sequence[int]) -> list[OutFrame]:
        """What to send now: control first, then data while windows and `room` allow.

        `room[port]` is how many data frames the port still takes. Queue pairs take turns, a
        packet each; one whose next paths' ports are full keeps its turn for the next call.
        """
        self._now_ns = now_ns
        self._tell_ports(now_ns)
        out, self._urgent = self._urgent, []
        left = list(room)
        for port, free in enumerate(left):
            if not self.local_ports >> port & 1:
                left[port] = 0
            elif free < 0:
                raise ValueError(f"room of port {port} is negative: {free}")
        total = sum(left)
        active = self._active
        full: list[QueuePair] = []
        while total and active:
            qp = active.popleft()
            if self._qps.get(qp.qpn) is not qp:
                continue  # destroyed meanwhile
            sent = qp.next_frame(now_ns, left)
            self._timers.changed(qp.qpn)
            if sent is not None:
                port, frame = sent
                left[port] -= 1
                total -= 1
                out.append((port, frame, False))
                active.append(qp)
            elif qp.wants_room:
                full.append(qp)
            else:
                self._is_active.discard(qp.qpn)
        active.extendleft(reversed(full))
        self.stats.frames_sent += len(out)
        return out

    # -- time and ports -------------------------------------------------------------------------

    def next_timer_ns(self) -> int | None:
        """When `on_timer` has something to do, if ever."""
        due = self._timers.next_ns()
        if self.prober is not None:
            probe = self.prober.next_timer_ns()
            due = probe if due is None else min(due, probe)
        for peer in self._untold:
            other = peer.next_timer_ns(self._now_ns)
            if other is not None and (due is None or other < due):
                due = other
        return due

    def on_timer(self, now_ns: int) -> None:
        """Does everything that is due; frames that follow wait for `frames_to_send`."""
        self._now_ns = now_ns
        if self.prober is not None:
            self.prober.on_timer(now_ns)
        for qp in self._timers.due(now_ns):
            qp.on_timer(now_ns)
            self.wake(qp)
        self._tell_ports(now_ns)

    def _tell_ports(self, now_ns: int) -> None:
        """Port Status Updates that are due; most of the time no peer is waiting for one."""
        if self._untold:
            for peer in self._untold:
                peer.send_due(now_ns)
            self._untold = [peer for peer in self._untold if peer.status.pending]

    def port_down(self, port: int, now_ns: int) -> None:
        """A port of this NIC lost its carrier: it is not used, and peers are told."""
        self._set_local_ports(self.local_ports & ~(1 << port), port, now_ns)

    def port_up(self, port: int, now_ns: int) -> None:
        """A port of this NIC has carrier again: its paths return by probes."""
        self._set_local_ports(self.local_ports | 1 << port, port, now_ns)

    def _set_local_ports(self, mask: int, port: int, now_ns: int) -> None:
        self._now_ns = now_ns
        if port not in range(self.fabric.spec.planes):
            raise ValueError(f"this NIC has no port {port}")
        if mask == self.local_ports:
            return
        self.local_ports = mask
        usable = bool(mask >> port & 1)
        self._events.append(PortChanged(now_ns, port, usable, False, self.address))
        self._untold = list(self._peers.values())
        for peer in self._untold:
            peer.status.changed(mask)
            for qp in peer.queue_pairs:
                qp.set_ports(mask, peer.ports.mask, now_ns)
                self.wake(qp)

    # -- what the application takes -------------------------------------------------------------

    def poll_completions(self) -> list[Completion]:
        """The completions since the last call, oldest first."""
        done, self._completions = self._completions, []
        return done

    def events(self) -> list[Event]:
        """The events since the last call, by time; of equal times, ports and QPs first."""
        events, self._events = self._events, []
        paths: list[EvChanged] = []
        for qp in self._qps.values():
            paths += qp.drain_ev_events()
        events += paths
        events.sort(key=lambda event: event.time_ns)
        return events
