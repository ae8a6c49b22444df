# SPDX-License-Identifier: Apache-2.0
"""The engine of one host and what control asks of it. Everything here runs in the loop's thread.

Requests that cannot be met raise a `RequestError`, which says why.
"""

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from importlib.metadata import PackageNotFoundError, version
from time import monotonic_ns
from typing import Any

from endpoint.agent.buffers import MemoryBook
from endpoint.agent.errors import BadRequest, LimitReached, UnknownObject, WrongState
from endpoint.agent.exercise_book import ExerciseBook
from endpoint.agent.journal import Journal
from endpoint.agent.nic_port import NicPort
from endpoint.agent.path_use import PathUse
from endpoint.agent.placement import PlacementClock
from endpoint.agent.values import (
    AgentEvent,
    AgentInfo,
    Capabilities,
    EvStatus,
    PortStatus,
    QpInfo,
    QpOptions,
    QpStatistics,
    Statistics,
    WriteWork,
)
from endpoint.events import Completion
from endpoint.messages import MAX_MESSAGE_BYTES
from endpoint.nic import Nic
from endpoint.qp_config import PeerInfo, QpConfig
from endpoint.qp_states import QpStateError
from endpoint.queue_pair import QueuePair
from topologies.sids import ev_plane, ev_uplink

COMPLETIONS_KEPT = 1 << 17
EVENTS_KEPT = 1 << 16

_RESPONDER_OPTIONS = ("mpr_units", "max_wimm")


class AgentHost:
    """`ports` in the order of their planes."""

    def __init__(self, nic: Nic, ports: Sequence[NicPort]) -> None:
        self.nic = nic
        self.ports = ports
        self.memory = MemoryBook(nic)
        self.exercises = ExerciseBook(nic, self.memory)
        self.placement = PlacementClock(nic)
        self.path_use = PathUse()
        self.completions: Journal[Completion] = Journal(COMPLETIONS_KEPT)
        self.events: Journal[AgentEvent] = Journal(EVENTS_KEPT)

    def harvest_completions(self) -> None:
        """Gives completions to the exercises that wait for them, and moves the others to where
        other threads read them."""
        completions = self.nic.poll_completions()
        if completions and self.exercises:
            completions = self.exercises.take(completions, monotonic_ns())
        if completions:
            self.completions.extend(completions)

    def harvest(self) -> None:
        """Moves what the engine reports to where other threads read it."""
        self.harvest_completions()
        events = self.nic.events()
        if events:
            self.events.extend(events)

    def close(self, now_ns: int) -> None:
        """Ends every queue pair; what was posted completes as flushed."""
        self.exercises.close()
        for qp in self.nic.queue_pairs():
            self.nic.destroy_qp(qp.qpn, now_ns)
        self.harvest()
        self.completions.close()
        self.events.close()

    # -- queue pairs ----------------------------------------------------------------------------

    def create_qp(self, options: QpOptions) -> QpInfo:
        """Makes a queue pair; what to give to its peer."""
        try:
            config = qp_config(self.nic.config.qp, options)
            fabric = self.nic.fabric
            config.congestion_control(fabric, fabric.base_rtt_ns())  # refuses unknown names now
            qp = self.nic.create_qp(config)
        except ValueError as error:
            raise BadRequest(str(error)) from error
        except RuntimeError as error:
            raise LimitReached(str(error)) from error
        return self._info(qp)

    def _info(self, qp: QueuePair) -> QpInfo:
        info, spec = qp.info(), self.nic.fabric.spec
        responder = qp.config.responder
        capabilities = Capabilities(
            MAX_MESSAGE_BYTES, responder.max_wimm, True, qp.config.trimmable, spec.planes
        )
        return QpInfo(
            info.qpn,
            info.psn,
            info.host_index,
            self.nic.address,
            qp.config.mtu(self.nic.fabric),
            info.mpr_units,
            capabilities,
        )

    def connect_qp(self, qpn: int, peer: QpInfo, now_ns: int) -> None:
        """Connects a queue pair, after a check that the two NICs mean the same fabric."""
        qp = self._qp(qpn)
        fabric = self.nic.fabric
        for name, ours, theirs in (
            ("path_mtu", qp.config.mtu(fabric), peer.path_mtu),
            ("planes", fabric.spec.planes, peer.capabilities.planes),
        ):
            if ours != theirs:
                raise BadRequest(f"peer: {name} {theirs}, here {ours}")
        if peer.host_index >= fabric.nic_count:
            raise BadRequest(f"peer: host_index {peer.host_index} of {fabric.nic_count} hosts")
        if not 1 <= peer.mpr_units <= 255:
            raise BadRequest(f"peer: mpr_units {peer.mpr_units} is outside 1..255")
        info = PeerInfo(peer.host_index, peer.qpn, peer.psn, peer.address, peer.mpr_units)
        try:
            qp.connect(info, now_ns)
        except QpStateError as error:
            raise WrongState(f"QP {qpn}: {error}") from error
        except ValueError as error:
            raise BadRequest(str(error)) from error

    def destroy_qp(self, qpn: int, now_ns: int) -> None:
        """Ends a queue pair; what was posted completes as flushed."""
        qp = self._qp(qpn)
        if qp.remote_address:
            self.path_use.forget(qp.evs.all_evs())
        self.placement.forget(qpn)
        self.nic.destroy_qp(qpn, now_ns)

    def _qp(self, qpn: int) -> QueuePair:
        qp = self.nic.qp(qpn)
        if qp is None:
            raise UnknownObject(f"there is no queue pair {qpn}")
        return qp

    def _connected(self, qpn: int) -> QueuePair:
        qp = self._qp(qpn)
        if not qp.remote_address:
            raise WrongState(f"QP {qpn} was never connected")
        return qp

    # -- work requests --------------------------------------------------------------------------

    def post_writes(self, qpn: int, writes: Sequence[WriteWork], now_ns: int) -> int:
        """Posts in order; the time of it. An error names the first that was refused."""
        qp = self._qp(qpn)
        for index, write in enumerate(writes):
            try:
                data = self.memory.view(write.region_id, write.offset, write.length)
                qp.post_write(
                    write.wr_id, data, write.remote_va, write.rkey, write.imm, now_ns=now_ns
                )
            except (BadRequest, ValueError) as error:
                raise BadRequest(f"write {index + 1} of {len(writes)}: {error}") from error
            except UnknownObject as error:
                raise UnknownObject(f"write {index + 1} of {len(writes)}: {error}") from error
            except QpStateError as error:
                raise WrongState(str(error)) from error
        return now_ns

    def post_receives(self, qpn: int, wr_ids: Sequence[int], now_ns: int) -> int:
        """Posts in order; the time of it."""
        qp = self._qp(qpn)
        for wr_id in wr_ids:
            qp.post_recv(wr_id, now_ns)
        return now_ns

    # -- paths ----------------------------------------------------------------------------------

    def evs(self, qpn: int) -> tuple[EvStatus, ...]:
        """Every path of a connected queue pair, plane by plane."""
        evs = self._connected(qpn).evs
        return tuple(
            EvStatus(
                ev,
                ev_plane(ev),
                ev_uplink(ev),
                evs.state(ev).value,
                evs.in_use(ev),
                *self.path_use.of(ev),
            )
            for ev in evs.all_evs()
        )

    def set_ev_denied(self, qpn: int, ev: int, denied: bool, now_ns: int) -> None:
        """The operator takes a path out, or gives it back."""
        qp = self._connected(qpn)
        try:
            (qp.evs.deny if denied else qp.evs.allow)(ev, now_ns)
        except ValueError as error:
            raise UnknownObject(f"QP {qpn}: {error}") from error
        self.nic.wake(qp)

    # -- what there is to know ------------------------------------------------------------------

    def info(self, now_ns: int) -> AgentInfo:
        """Who this agent is."""
        fabric = self.nic.fabric
        host = fabric.hosts[self.nic.host_index]
        return AgentInfo(
            host.name,
            host.index,
            host.address,
            os.getpid(),
            fabric.name,
            fabric.spec.planes,
            fabric.spec.path_mtu,
            fabric.base_rtt_ns(),
            now_ns,
            _version(),
        )

    def port_states(self) -> tuple[PortStatus, ...]:
        """All ports, by plane."""
        return tuple(port.status() for port in self.ports)

    def statistics(self, now_ns: int) -> Statistics:
        """All counters at this moment."""
        return Statistics(
            now_ns,
            self.nic.stats.as_dict(),
            tuple(self._qp_statistics(qp) for qp in self.nic.queue_pairs()),
            tuple(port.statistics() for port in self.ports),
        )

    def _qp_statistics(self, qp: QueuePair) -> QpStatistics:
        connected = bool(qp.remote_address)
        return QpStatistics(
            qp.qpn,
            qp.state.value,
            qp.error_reason,
            qp.stats.as_dict(),
            qp.rtt.smoothed_ns,
            qp.rtt.min_ns,
            qp.rtt.loss_delay_ns,
            int(qp.requester.congestion.window) if connected else 0,
            qp.requester.board.inflight if connected else 0,
            self.placement.of(qp.qpn),
        )


def qp_config(base: QpConfig, options: QpOptions) -> QpConfig:
    """`base` with what is set in `options`. ValueError for what cannot be."""
    given: dict[str, Any] = {
        item.name: value
        for item in fields(options)
        if (value := getattr(options, item.name)) is not None
    }
    if "first_psn" in given and given["first_psn"] >> 24:
        raise ValueError(f"first_psn {given['first_psn']:#x} is not 24 bits")
    if given.get("evs") == 0:
        raise ValueError("evs: a queue pair needs at least one path")
    responder = {name: given.pop(name) for name in _RESPONDER_OPTIONS if name in given}
    loss_free_ns = given.pop("loss_free_ns", None)
    if loss_free_ns is not None:
        given["readmit"] = replace(base.readmit, loss_free_ns=loss_free_ns)
    return replace(base, responder=replace(base.responder, **responder), **given)


def _version() -> str:
    try:
        return version("mrc-p4")
    except PackageNotFoundError:
        return "unknown"
