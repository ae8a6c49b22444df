# SPDX-License-Identifier: Apache-2.0
"""A bare P4Runtime client, a server with one device, and builders of messages, for the tests."""

import contextlib
import queue
import random
from pathlib import Path

import grpc
from google.protobuf import text_format
from google.rpc import code_pb2, status_pb2
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4
from p4.v1 import p4runtime_pb2_grpc

from softswitch.p4rt.device import Device
from softswitch.switch import Switch

PROGRAMS = Path(__file__).parent / "programs"
DEVICE_ID = 7
TIMEOUT_S = 10
SetPipeline = p4.SetForwardingPipelineConfigRequest


def objects_config(cookie: int = 0x1234) -> p4.ForwardingPipelineConfig:
    """The compiled `p4runtime_objects.p4`."""
    config = p4.ForwardingPipelineConfig()
    text_format.Parse((PROGRAMS / "p4runtime_objects.p4info.txt").read_text(), config.p4info)
    config.p4_device_config = (PROGRAMS / "p4runtime_objects.json").read_bytes()
    config.cookie.cookie = cookie
    return config


P4INFO: p4info_pb2.P4Info = objects_config().p4info
_GROUPS = ("tables", "actions", "counters", "direct_counters", "meters", "registers")
IDS = {
    item.preamble.alias: item.preamble.id for group in _GROUPS for item in getattr(P4INFO, group)
}


def make_device(device_id: int = DEVICE_ID) -> Device:
    return Device(device_id, lambda program: Switch(program, rng=random.Random(1)))


def table_entry(table: str, *matches, action=None, params=(), priority: int = 0) -> p4.TableEntry:
    """`matches` in the table's order: bytes (exact), ("lpm", bytes, length) and so on, or None."""
    entry = p4.TableEntry(table_id=IDS[table], priority=priority)
    for number, match in enumerate(matches, start=1):
        if match is None:
            continue
        field = entry.match.add(field_id=number)
        if isinstance(match, bytes):
            field.exact.value = match
        elif match[0] == "lpm":
            field.lpm.value, field.lpm.prefix_len = match[1:]
        elif match[0] == "ternary":
            field.ternary.value, field.ternary.mask = match[1:]
        elif match[0] == "range":
            field.range.low, field.range.high = match[1:]
        else:
            field.optional.value = match[1]
    if action is not None:
        entry.action.action.action_id = IDS[action]
        for number, value in enumerate(params, start=1):
            entry.action.action.params.add(param_id=number, value=value)
    return entry


def entity(message) -> p4.Entity:
    """`message` in the field of an Entity that has its type."""
    result = p4.Entity()
    for field in p4.Entity.DESCRIPTOR.fields:
        if field.message_type is message.DESCRIPTOR:
            getattr(result, field.name).CopyFrom(message)
            return result
    raise TypeError(f"{type(message).__name__} is no kind of entity")


def insert(message) -> p4.Update:
    return p4.Update(type=p4.Update.INSERT, entity=entity(message))


def modify(message) -> p4.Update:
    return p4.Update(type=p4.Update.MODIFY, entity=entity(message))


def delete(message) -> p4.Update:
    return p4.Update(type=p4.Update.DELETE, entity=entity(message))


class BareClient:
    """One channel and, after `arbitrate`, one stream. `election_id` signs writes and pushes."""

    def __init__(
        self,
        address: str,
        election_id: int | None = 1,
        device_id: int = DEVICE_ID,
        stream_timeout_s: float = TIMEOUT_S,
    ):
        self.stream_timeout_s = stream_timeout_s
        self.channel = grpc.insecure_channel(address)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.election_id = election_id
        self.device_id = device_id
        self.role = ""
        self._outbox = queue.SimpleQueue()
        self._stream = None

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        with contextlib.suppress(grpc.RpcError):  # a server that stopped has ended the stream
            self.hang_up()
        self.channel.close()

    def sign(self, request):
        request.device_id = self.device_id
        if self.election_id is not None:
            request.election_id.high = self.election_id >> 64
            request.election_id.low = self.election_id & (1 << 64) - 1
        return request

    def send(self, request: p4.StreamMessageRequest) -> None:
        if self._stream is None:
            requests = iter(self._outbox.get, None)
            self._stream = self.stub.StreamChannel(requests, timeout=self.stream_timeout_s)
        self._outbox.put(request)

    def receive(self) -> p4.StreamMessageResponse:
        return next(self._stream)

    def arbitrate(self) -> tuple[str, int]:
        """Status and election id of the answer."""
        request = p4.StreamMessageRequest()
        self.sign(request.arbitration)
        if self.role:
            request.arbitration.role.name = self.role
        self.send(request)
        return self.notification()

    def notification(self) -> tuple[str, int]:
        update = self.receive().arbitration
        number = update.election_id.high << 64 | update.election_id.low
        return code_pb2.Code.Name(update.status.code), number

    def hang_up(self) -> None:
        """End the stream and wait until the server has."""
        if self._stream is not None:
            self._outbox.put(None)
            for _ in self._stream:
                pass
            self._stream = None

    def push(self, config=None, action=SetPipeline.VERIFY_AND_COMMIT) -> None:
        request = self.sign(SetPipeline(action=action, role=self.role))
        if config is not None:
            request.config.CopyFrom(config)
        self.stub.SetForwardingPipelineConfig(request, timeout=TIMEOUT_S)

    def write(self, *updates, **fields) -> None:
        request = self.sign(p4.WriteRequest(updates=updates, role=self.role, **fields))
        self.stub.Write(request, timeout=TIMEOUT_S)

    def read(self, *messages) -> list:
        """Messages that the wildcards or keys in `messages` select."""
        request = p4.ReadRequest(device_id=self.device_id, entities=map(entity, messages))
        responses = self.stub.Read(request, timeout=TIMEOUT_S)
        found = [item for response in responses for item in response.entities]
        return [getattr(item, item.WhichOneof("entity")) for item in found]


def refusals(error: grpc.RpcError) -> list[tuple[str, str]]:
    """(canonical code, message) of each element of the batch that failed with `error`."""
    assert error.code() == grpc.StatusCode.UNKNOWN
    packed = dict(error.trailing_metadata())["grpc-status-details-bin"]
    status = status_pb2.Status.FromString(packed)
    assert status.code == code_pb2.UNKNOWN
    assert status.message == error.details()
    result = []
    for detail in status.details:
        one = p4.Error()
        assert detail.Unpack(one)
        result.append((code_pb2.Code.Name(one.canonical_code), one.message))
    return result
