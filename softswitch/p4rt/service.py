# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime RPCs, mapped on devices."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import grpc
from google.rpc import code_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from softswitch.p4rt.device import Device
from softswitch.p4rt.errors import RpcError, abort_batch, not_found

API_VERSION = "1.4.1"
ENTITIES_PER_RESPONSE = 256


class _Stream:
    """One open StreamChannel: what it still has to send, and its end as None or an RpcError."""

    def __init__(self) -> None:
        self.outbox: queue.SimpleQueue[p4runtime_pb2.StreamMessageResponse | RpcError | None] = (
            queue.SimpleQueue()
        )
        self.device: Device | None = None

    def send(self, message: p4runtime_pb2.StreamMessageResponse) -> None:
        self.outbox.put(message)


class P4RuntimeService(p4runtime_pb2_grpc.P4RuntimeServicer):
    """Serves `devices`, by device id, with at most `max_streams` open StreamChannels."""

    def __init__(self, devices: Mapping[int, Device], max_streams: int) -> None:
        self._devices = devices
        self._free_streams = threading.Semaphore(max_streams)

    def _device(self, device_id: int) -> Device:
        device = self._devices.get(device_id)
        if device is None:
            raise not_found(f"no device with id {device_id}")
        return device

    def Capabilities(self, request, context):
        return p4runtime_pb2.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    def SetForwardingPipelineConfig(self, request, context):
        _call(context, lambda: self._device(request.device_id).set_pipeline(request))
        return p4runtime_pb2.SetForwardingPipelineConfigResponse()

    def GetForwardingPipelineConfig(self, request, context):
        return _call(context, lambda: self._device(request.device_id).get_pipeline(request))

    def Write(self, request, context):
        results = _call(context, lambda: self._device(request.device_id).write(request))
        abort_batch(context, "write", results)
        return p4runtime_pb2.WriteResponse()

    def Read(self, request, context):
        entities, results = _call(context, lambda: self._device(request.device_id).read(request))
        for start in range(0, len(entities), ENTITIES_PER_RESPONSE):
            response = p4runtime_pb2.ReadResponse()
            response.entities.extend(entities[start : start + ENTITIES_PER_RESPONSE])
            yield response
        abort_batch(context, "read", results)

    def StreamChannel(self, request_iterator, context):
        if not self._free_streams.acquire(blocking=False):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many open streams")
        stream = _Stream()
        receiver = threading.Thread(
            target=self._receive, args=(stream, request_iterator), daemon=True
        )
        try:
            receiver.start()
            # Fires when the client goes away or the server stops, and ends the wait below.
            if context.add_callback(lambda: stream.outbox.put(None)):
                yield from _responses(stream, context)
        finally:
            # The end of the RPC ends the request iterator, so the last arbitration is done by now.
            receiver.join()
            if stream.device is not None:
                stream.device.disconnect(stream)
            self._free_streams.release()

    def _receive(self, stream: _Stream, requests: Iterable) -> None:
        """Feed what the client sends to its device, until it ends its side or breaks a rule."""
        end: RpcError | None = None
        try:
            for request in requests:
                self._handle(stream, request)
        except RpcError as error:
            end = error
        except grpc.RpcError:
            pass  # the stream broke; its end callback has fired
        stream.outbox.put(end)

    def _handle(self, stream: _Stream, request: p4runtime_pb2.StreamMessageRequest) -> None:
        kind = request.WhichOneof("update")
        if kind == "arbitration":
            device_id = request.arbitration.device_id
            if stream.device is not None and stream.device.device_id != device_id:
                raise RpcError(
                    grpc.StatusCode.FAILED_PRECONDITION,
                    f"stream is for device {stream.device.device_id}, not {device_id}",
                )
            device = self._device(device_id)
            device.arbitrate(stream, request.arbitration)
            stream.device = device
        else:
            stream.send(_stream_error(stream, kind, request))


def _stream_error(
    stream: _Stream, kind: str | None, request: p4runtime_pb2.StreamMessageRequest
) -> p4runtime_pb2.StreamMessageResponse:
    """Answer to a message that only arbitrated primaries may send, or that nobody may."""
    response = p4runtime_pb2.StreamMessageResponse()
    error = response.error
    if kind == "packet" and (stream.device is None or not stream.device.is_primary(stream)):
        error.canonical_code = code_pb2.PERMISSION_DENIED
        error.message = "only the primary controller may send packets"
    elif kind == "digest_ack":
        error.canonical_code = code_pb2.INVALID_ARGUMENT
        error.message = f"no digest with id {request.digest_ack.digest_id} in the p4info"
    elif kind is None:
        error.canonical_code = code_pb2.INVALID_ARGUMENT
        error.message = "the message has no update"
    else:
        error.canonical_code = code_pb2.UNIMPLEMENTED
        error.message = f"stream messages of kind {kind} are not supported"
    if kind == "packet":
        error.packet_out.packet_out.CopyFrom(request.packet)
    elif kind == "digest_ack":
        error.digest_list_ack.digest_list_ack.CopyFrom(request.digest_ack)
    elif kind == "other":
        error.other.other.CopyFrom(request.other)
    return response


def _responses(
    stream: _Stream, context: grpc.ServicerContext
) -> Iterator[p4runtime_pb2.StreamMessageResponse]:
    while (item := stream.outbox.get()) is not None:
        if isinstance(item, RpcError):
            context.abort(item.code, item.message)
        yield item


def _call(context: grpc.ServicerContext, work: Callable):
    """Result of `work`, or the end of the RPC with the status of the RpcError it raises."""
    try:
        return work()
    except RpcError as error:
        context.abort(error.code, error.message)
