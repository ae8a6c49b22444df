# SPDX-License-Identifier: Apache-2.0
"""One device of the service: its controllers, its pipeline, and the lock around both."""

import threading
from collections.abc import Callable

import grpc
from p4.v1 import p4runtime_pb2

from softswitch.p4rt import read_path, write_path
from softswitch.p4rt.arbitration import Arbitration, Controller, uint128
from softswitch.p4rt.errors import RpcError, invalid, not_found, unimplemented
from softswitch.p4rt.pipeline import Pipeline, load_pipeline
from softswitch.p4rt.reconcile import reconcile
from softswitch.program import Program
from softswitch.switch import Switch

SetRequest = p4runtime_pb2.SetForwardingPipelineConfigRequest
GetRequest = p4runtime_pb2.GetForwardingPipelineConfigRequest


class Device:
    """A switch as its controllers see it.

    `make_switch` builds the switch for a program that a controller pushes; `on_commit` is called,
    with the device locked, with every switch that takes over forwarding. A data plane in another
    thread holds the lock of that switch while a packet is in a pipeline: reads and writes hold
    it too, so packets see a batch whole or not at all.
    """

    def __init__(
        self,
        device_id: int,
        make_switch: Callable[[Program], Switch],
        on_commit: Callable[[Switch], None] | None = None,
    ) -> None:
        self.device_id = device_id
        self._lock = threading.RLock()
        self._make_switch = make_switch
        self._on_commit = on_commit
        self._arbitration = Arbitration(device_id)
        self._committed: Pipeline | None = None
        self._saved: Pipeline | None = None

    @property
    def switch(self) -> Switch | None:
        """The switch that forwards, None before the first commit."""
        return self._committed.switch if self._committed else None

    def arbitrate(
        self, controller: Controller, update: p4runtime_pb2.MasterArbitrationUpdate
    ) -> None:
        """Take an arbitration update; RpcError ends the controller's stream."""
        with self._lock:
            self._arbitration.update(controller, update)

    def disconnect(self, controller: Controller) -> None:
        """The controller's stream ended."""
        with self._lock:
            self._arbitration.remove(controller)

    def is_primary(self, controller: Controller) -> bool:
        with self._lock:
            return self._arbitration.is_primary(controller)

    def _require_primary(self, request: SetRequest | p4runtime_pb2.WriteRequest) -> None:
        election_id = uint128(request.election_id) if request.HasField("election_id") else None
        self._arbitration.require_primary(request.role, election_id)

    def _pipeline(self) -> Pipeline:
        """What reads and writes refer to: the saved pipeline until it is committed."""
        pipeline = self._saved or self._committed
        if pipeline is None:
            raise RpcError(
                grpc.StatusCode.FAILED_PRECONDITION, "no forwarding pipeline config is set"
            )
        return pipeline

    def set_pipeline(self, request: SetRequest) -> None:
        """SetForwardingPipelineConfig.

        VERIFY_AND_SAVE keeps the new pipeline beside the one that forwards; reads and writes go
        to it, and COMMIT lets it take over. RECONCILE_AND_COMMIT carries the forwarding state
        into the new pipeline, or fails with INVALID_ARGUMENT and changes nothing.
        """
        with self._lock:
            self._require_primary(request)
            action = request.action
            if action == SetRequest.COMMIT:
                if request.HasField("config"):
                    raise invalid("COMMIT takes no config")
                if self._saved is None:
                    raise not_found("there is no saved config to commit")
                self._commit(self._saved)
                return
            if action == SetRequest.UNSPECIFIED:
                raise invalid("the action is not set")
            if action not in SetRequest.Action.values():
                raise unimplemented(f"action {action} is not known")
            if not request.HasField("config"):
                raise invalid(f"{SetRequest.Action.Name(action)} needs a config")
            self._load(action, request.config)

    def _load(self, action: int, config: p4runtime_pb2.ForwardingPipelineConfig) -> None:
        pipeline = load_pipeline(config, self._make_switch)
        if action == SetRequest.VERIFY_AND_SAVE:
            self._saved = pipeline
        elif action == SetRequest.VERIFY_AND_COMMIT:
            self._commit(pipeline)
        elif action == SetRequest.RECONCILE_AND_COMMIT:
            if self._committed is not None:
                pipeline = reconcile(self._committed, pipeline)
            self._commit(pipeline)

    def _commit(self, pipeline: Pipeline) -> None:
        before = self.switch
        self._saved = None
        self._committed = pipeline
        if self._on_commit is not None and pipeline.switch is not before:
            self._on_commit(pipeline.switch)

    def get_pipeline(
        self, request: GetRequest
    ) -> p4runtime_pb2.GetForwardingPipelineConfigResponse:
        """GetForwardingPipelineConfig; without a config yet, the response is empty."""
        response = p4runtime_pb2.GetForwardingPipelineConfigResponse()
        with self._lock:
            pipeline = self._saved or self._committed
        if pipeline is None:
            return response
        config, kind = pipeline.config, request.response_type
        if kind not in GetRequest.ResponseType.values():
            raise invalid(f"response type {kind} is not known")
        response.config.SetInParent()
        if config.HasField("cookie"):
            response.config.cookie.CopyFrom(config.cookie)
        if kind in (GetRequest.ALL, GetRequest.P4INFO_AND_COOKIE):
            response.config.p4info.CopyFrom(config.p4info)
        if kind in (GetRequest.ALL, GetRequest.DEVICE_CONFIG_AND_COOKIE):
            response.config.p4_device_config = config.p4_device_config
        return response

    def write(self, request: p4runtime_pb2.WriteRequest) -> list[RpcError | None]:
        """Apply every update; the result holds one error or None for each, in order."""
        with self._lock:
            self._require_primary(request)
            pipeline = self._pipeline()
            if request.atomicity != p4runtime_pb2.WriteRequest.CONTINUE_ON_ERROR:
                raise unimplemented("the only supported atomicity is CONTINUE_ON_ERROR")
            with pipeline.switch.lock:
                return [_attempt(write_path.apply, pipeline, update) for update in request.updates]

    def read(
        self, request: p4runtime_pb2.ReadRequest
    ) -> tuple[list[p4runtime_pb2.Entity], list[RpcError | None]]:
        """Entities that the requests select, and one error or None for each request, in order."""
        entities: list[p4runtime_pb2.Entity] = []
        with self._lock:
            pipeline = self._pipeline()
            with pipeline.switch.lock:
                results = [
                    _attempt(lambda p, e: entities.extend(read_path.select(p, e)), pipeline, item)
                    for item in request.entities
                ]
        return entities, results


def _attempt(work: Callable[[Pipeline, object], None], pipeline: Pipeline, item) -> RpcError | None:
    try:
        work(pipeline, item)
    except RpcError as error:
        return error
    return None
