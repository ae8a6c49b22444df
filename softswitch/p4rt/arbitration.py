# SPDX-License-Identifier: Apache-2.0
"""Which controller of a device may write: primaries and backups, a set for each role.

Follows the P4Runtime specification 1.4.1, "Client Arbitration and Controller Replication". Nothing
here knows gRPC streams: a controller is anything with a `send` method. Calls must be serialised by
the caller (the device's lock), which is also what makes "finish the writes in flight before the
next primary" true.
"""

from dataclasses import dataclass, field
from typing import Protocol

import grpc
from google.rpc import code_pb2
from p4.v1 import p4runtime_pb2

from softswitch.p4rt.errors import RpcError, invalid


class Controller(Protocol):
    """One open stream; compared by identity."""

    def send(self, message: p4runtime_pb2.StreamMessageResponse) -> None: ...


@dataclass(slots=True)
class _Role:
    """State of one role: `highest` outlives its controllers until the process ends."""

    highest: int | None = None
    primary: Controller | None = None
    live: dict[Controller, int | None] = field(default_factory=dict)


class Arbitration:
    """Roles of one device. Election ids are unsigned 128-bit integers, None when unset."""

    def __init__(self, device_id: int) -> None:
        self.device_id = device_id
        self._roles: dict[str, _Role] = {}
        self._role_of: dict[Controller, str] = {}

    def update(self, controller: Controller, update: p4runtime_pb2.MasterArbitrationUpdate) -> None:
        """Take a MasterArbitrationUpdate and notify whom it concerns.

        Raises RpcError, with which the caller ends the stream: FAILED_PRECONDITION when a stream
        changes its device or role, INVALID_ARGUMENT for an election id that another live
        controller uses or for a role configuration (there is no scheme for them here).
        """
        name = update.role.name
        known = self._role_of.get(controller)
        if known is not None and known != name:
            raise RpcError(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"stream has role {known!r} and cannot take role {name!r}",
            )
        if update.role.HasField("config"):
            raise invalid(f"role {name!r}: role configurations are not supported")
        election_id = _election_id(update)
        role = self._roles.setdefault(name, _Role())
        if election_id is not None and any(
            other is not controller and taken == election_id for other, taken in role.live.items()
        ):
            raise invalid(f"election id {election_id} is already used by a live controller")
        self._role_of[controller] = name
        role.live[controller] = election_id
        self._elect(name, role, controller, election_id)

    def _elect(
        self, name: str, role: _Role, controller: Controller, election_id: int | None
    ) -> None:
        if election_id is not None and (role.highest is None or election_id >= role.highest):
            role.primary = controller
            role.highest = election_id
            others = [other for other in role.live if other is not controller]
            for other in [*others, controller]:  # the new primary hears of it last
                self._notify(name, role, other)
        elif role.primary is controller:
            role.primary = None
            for other in role.live:
                self._notify(name, role, other)
        else:
            self._notify(name, role, controller)

    def remove(self, controller: Controller) -> None:
        """The stream of `controller` ended; no backup is promoted by that, but all are told."""
        name = self._role_of.pop(controller, None)
        if name is None:
            return
        role = self._roles[name]
        del role.live[controller]
        if role.primary is controller:
            role.primary = None
            for other in role.live:
                self._notify(name, role, other)

    def require_primary(self, role_name: str, election_id: int | None) -> None:
        """Raises NOT_FOUND for a role never seen, PERMISSION_DENIED for anyone but its primary."""
        role = self._roles.get(role_name)
        if role is None:
            if role_name:
                raise RpcError(grpc.StatusCode.NOT_FOUND, f"no role {role_name!r}")
            raise RpcError(grpc.StatusCode.PERMISSION_DENIED, "there is no primary controller")
        if role.primary is None:
            raise RpcError(grpc.StatusCode.PERMISSION_DENIED, "there is no primary controller")
        if election_id is None or role.live[role.primary] != election_id:
            raise RpcError(
                grpc.StatusCode.PERMISSION_DENIED,
                f"election id {election_id} is not the primary's ({role.highest})",
            )

    def is_primary(self, controller: Controller) -> bool:
        """Whether `controller` is the primary of its role."""
        name = self._role_of.get(controller)
        return name is not None and self._roles[name].primary is controller

    def _notify(self, name: str, role: _Role, controller: Controller) -> None:
        response = p4runtime_pb2.StreamMessageResponse()
        arbitration = response.arbitration
        arbitration.device_id = self.device_id
        if name:
            arbitration.role.name = name
        if role.highest is not None:
            arbitration.election_id.high = role.highest >> 64
            arbitration.election_id.low = role.highest & (1 << 64) - 1
        status = arbitration.status
        if role.primary is controller:
            status.code = code_pb2.OK
            status.message = "you are the primary controller"
        elif role.primary is not None:
            status.code = code_pb2.ALREADY_EXISTS
            status.message = "you are a backup controller"
        else:
            status.code = code_pb2.NOT_FOUND
            status.message = "you are a backup controller, and there is no primary"
        controller.send(response)


def uint128(value: p4runtime_pb2.Uint128) -> int:
    """Integer of a Uint128 message."""
    return value.high << 64 | value.low


def _election_id(message: p4runtime_pb2.MasterArbitrationUpdate) -> int | None:
    return uint128(message.election_id) if message.HasField("election_id") else None
