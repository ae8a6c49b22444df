# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime session with one switch: mastership, pipeline, batched writes, reads.

Every call has a deadline, and closing the session ends its only thread. P4Runtime specification
1.4.1 throughout.
"""

import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

import grpc
from google.rpc import code_pb2, status_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from controller.pipeline import Pipeline

DETAILS_KEY = "grpc-status-details-bin"

# How long a switch has to end a stream that the session no longer needs.
_CLOSING_S = 1.0

# Errors of a batch come back in metadata, about 150 bytes an update; gRPC's default limit is 8 KiB.
_CHANNEL_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.max_metadata_size", 1 << 20),
    ("grpc.max_receive_message_length", 128 << 20),
)


@dataclass(frozen=True, slots=True)
class SwitchTarget:
    """Where a switch's P4Runtime service is; `address` as gRPC takes it: `host:port`, `unix:…`."""

    name: str
    address: str
    device_id: int


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds, each for one call: until a connection stands, a pipeline push, any other call."""

    connect_s: float = 5.0
    push_s: float = 60.0
    call_s: float = 20.0


@dataclass(frozen=True, slots=True)
class UpdateError:
    """The switch refused the update at `index` of a batch; `code` is the canonical code's name."""

    index: int
    code: str
    message: str


class SwitchError(Exception):
    """A session with a switch failed; the message names the switch and what was attempted."""


class SwitchSession:
    """Session with one switch, to be used as a context manager.

    Entering connects and becomes the primary controller; leaving ends the stream, which gives the
    mastership up. Raises SwitchError from every method.
    """

    def __init__(
        self, target: SwitchTarget, *, election_id: int = 1, timeouts: Timeouts | None = None
    ) -> None:
        self.target = target
        self.timeouts = timeouts or Timeouts()
        self._election_id = election_id
        self._outbox: queue.SimpleQueue[p4runtime_pb2.StreamMessageRequest | None] = (
            queue.SimpleQueue()
        )
        self._inbox: queue.SimpleQueue[
            p4runtime_pb2.MasterArbitrationUpdate | grpc.RpcError | None
        ] = queue.SimpleQueue()
        self._channel: grpc.Channel | None = None
        self._stream: grpc.Call | None = None
        self._reader: threading.Thread | None = None

    def __enter__(self) -> "SwitchSession":
        try:
            self._connect()
            self._become_primary()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the stream, its thread and the channel. Safe to call twice.

        The switch is given a moment to end the stream itself: only then is it sure that it has
        taken the mastership back, and that a next session with this election id is welcome.
        """
        self._outbox.put(None)
        if self._reader is not None and self._stream is not None:
            self._reader.join(_CLOSING_S)
            self._stream.cancel()
            self._reader.join(self.timeouts.call_s)
            self._reader = self._stream = None
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _connect(self) -> None:
        self._channel = grpc.insecure_channel(self.target.address, options=_CHANNEL_OPTIONS)
        self._stub = p4runtime_pb2_grpc.P4RuntimeStub(self._channel)
        try:
            self._stub.Capabilities(
                p4runtime_pb2.CapabilitiesRequest(),
                timeout=self.timeouts.connect_s,
                wait_for_ready=True,
            )
        except grpc.RpcError as error:
            code = error.code()
            if code == grpc.StatusCode.UNIMPLEMENTED:
                return  # a switch older than the RPC, but it answers
            if code in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
                raise SwitchError(
                    f"{self.where}: unreachable, no answer within {self.timeouts.connect_s:g} s"
                ) from None
            raise self._failed("connecting", error) from None

    def _become_primary(self) -> None:
        """Arbitrate; a higher election id that nobody alive holds is taken over.

        Another live primary is an error: two controllers would undo each other's tables.
        """
        self._stream = self._stub.StreamChannel(iter(self._outbox.get, None))
        self._reader = threading.Thread(
            target=self._read_stream, args=(self._stream,), daemon=True, name=self.target.name
        )
        self._reader.start()
        reply = self._arbitrate()
        if reply.status.code == code_pb2.NOT_FOUND:
            self._election_id = reply.election_id.high << 64 | reply.election_id.low
            reply = self._arbitrate()
        if reply.status.code != code_pb2.OK:
            holder = reply.election_id.high << 64 | reply.election_id.low
            raise SwitchError(
                f"{self.where}: another controller is the primary, with election id {holder} "
                f"(ours is {self._election_id})"
            )

    def _arbitrate(self) -> p4runtime_pb2.MasterArbitrationUpdate:
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.device_id = self.target.device_id
        self._sign(request.arbitration)
        self._outbox.put(request)
        try:
            reply = self._inbox.get(timeout=self.timeouts.call_s)
        except queue.Empty:
            raise SwitchError(
                f"{self.where}: no answer to arbitration within {self.timeouts.call_s:g} s"
            ) from None
        if isinstance(reply, grpc.RpcError):
            raise self._failed("arbitration", reply)
        if reply is None:
            raise SwitchError(f"{self.where}: the switch ended the stream")
        return reply

    def _read_stream(self, stream: Iterable[p4runtime_pb2.StreamMessageResponse]) -> None:
        try:
            for message in stream:
                if message.HasField("arbitration"):
                    self._inbox.put(message.arbitration)
            self._inbox.put(None)
        except grpc.RpcError as error:
            self._inbox.put(error)

    def _sign(
        self,
        message: p4runtime_pb2.MasterArbitrationUpdate
        | p4runtime_pb2.WriteRequest
        | p4runtime_pb2.SetForwardingPipelineConfigRequest,
    ) -> None:
        message.election_id.high = self._election_id >> 64
        message.election_id.low = self._election_id & (1 << 64) - 1

    def cookie(self) -> int | None:
        """Cookie of the pipeline the switch holds; 0 when it holds one without, None when none."""
        request = p4runtime_pb2.GetForwardingPipelineConfigRequest(
            device_id=self.target.device_id,
            response_type=p4runtime_pb2.GetForwardingPipelineConfigRequest.COOKIE_ONLY,
        )
        try:
            response = self._stub.GetForwardingPipelineConfig(request, timeout=self.timeouts.call_s)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.FAILED_PRECONDITION:
                return None  # as BMv2 answers before its first pipeline
            raise self._failed("reading the pipeline's cookie", error) from None
        if not response.HasField("config"):
            return None
        return int(response.config.cookie.cookie)

    def push(self, pipeline: Pipeline) -> None:
        """VERIFY_AND_COMMIT, which empties every table."""
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(
            device_id=self.target.device_id,
            action=p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
        )
        self._sign(request)
        request.config.p4info.CopyFrom(pipeline.p4info)
        request.config.p4_device_config = pipeline.device_config
        request.config.cookie.cookie = pipeline.cookie
        try:
            self._stub.SetForwardingPipelineConfig(request, timeout=self.timeouts.push_s)
        except grpc.RpcError as error:
            raise self._failed("pushing the pipeline", error) from None

    def write(self, updates: Sequence[p4runtime_pb2.Update]) -> list[UpdateError]:
        """One batch; the errors of the updates that the switch refused, the others are done."""
        request = p4runtime_pb2.WriteRequest(device_id=self.target.device_id)
        self._sign(request)
        request.updates.extend(updates)
        try:
            self._stub.Write(request, timeout=self.timeouts.call_s)
        except grpc.RpcError as error:
            refused = list(_update_errors(error))
            if not refused:
                raise self._failed("writing", error) from None
            return refused
        return []

    def read(self, *entities: p4runtime_pb2.Entity) -> list[p4runtime_pb2.Entity]:
        """All entities that the given ones select."""
        request = p4runtime_pb2.ReadRequest(device_id=self.target.device_id)
        request.entities.extend(entities)
        try:
            responses = self._stub.Read(request, timeout=self.timeouts.call_s)
            return [entity for response in responses for entity in response.entities]
        except grpc.RpcError as error:
            first = next(_update_errors(error), None)
            if first is not None:
                raise SwitchError(f"{self.where}: reading: {first.code}: {first.message}") from None
            raise self._failed("reading", error) from None

    @property
    def where(self) -> str:
        """Name and address, as error messages begin."""
        return f"switch {self.target.name} ({self.target.address})"

    def _failed(self, what: str, error: grpc.RpcError) -> SwitchError:
        return SwitchError(f"{self.where}: {what}: {error.code().name}: {error.details()}")


def _update_errors(error: grpc.RpcError) -> Iterator[UpdateError]:
    """Per-update errors of a failed batch (google.rpc.Status in the trailing metadata)."""
    if error.code() != grpc.StatusCode.UNKNOWN:
        return
    for key, value in error.trailing_metadata() or ():
        if key != DETAILS_KEY:
            continue
        status = status_pb2.Status.FromString(value)
        for index, packed in enumerate(status.details):
            detail = p4runtime_pb2.Error()
            if packed.Unpack(detail) and detail.canonical_code != code_pb2.OK:
                yield UpdateError(index, code_pb2.Code.Name(detail.canonical_code), detail.message)
