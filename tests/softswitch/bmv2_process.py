# SPDX-License-Identifier: Apache-2.0
"""A simple_switch_grpc process for tests: packets in and out over gRPC, tables over P4Runtime.

No root and no interface is needed: ``--dp-grpc-server-addr`` opens BMv2's DataplaneInterface
service, whose two messages are described here field by field (numbers and types from
``services/p4/bm/dataplane_interface.proto`` in p4lang/behavioral-model).
"""

from __future__ import annotations

import queue
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4
from p4runtime_state import StateOverP4Runtime
from p4runtime_support import BareClient

PROGRAM = "simple_switch_grpc"
CLI = "simple_switch_CLI"
START_TIMEOUT_S = 20
PACKET_TIMEOUT_S = 20
SESSION_TIMEOUT_S = 250
QUEUES = 3
#: A port's queue holds that many packets and drops what is more without a word.
CAPACITY = 64
BATCH = 48


def available() -> bool:
    return shutil.which(PROGRAM) is not None


def cli_available() -> bool:
    """Whether BMv2's command line for queues and registers can be used too."""
    return available() and shutil.which(CLI) is not None


def _packet_class():
    """The class of PacketStreamRequest and PacketStreamResponse, which have the same fields."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="tests/dataplane.proto", package="p4.bm", syntax="proto3"
    )
    message = file.message_type.add(name="PacketStreamRequest")
    for number, (name, kind) in enumerate(
        (
            ("id", kinds.TYPE_UINT64),
            ("device_id", kinds.TYPE_UINT64),
            ("port", kinds.TYPE_UINT32),
            ("packet", kinds.TYPE_BYTES),
        ),
        start=1,
    ):
        message.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("p4.bm.PacketStreamRequest")
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


DataplanePacket = _packet_class()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bmv2(StateOverP4Runtime):
    """One process with one program. ``send`` gives packets and returns what came out of them."""

    def __init__(self, json_bytes: bytes, p4info_text: str, device_id: int = 1) -> None:
        self.device_id = device_id
        self.p4info = text_format.Parse(p4info_text, p4info_pb2.P4Info())
        self._json = json_bytes
        self._outbox: queue.SimpleQueue = queue.SimpleQueue()
        self._inbox: queue.SimpleQueue = queue.SimpleQueue()
        self._next_id = 1

    def __enter__(self) -> Bmv2:
        self._folder = tempfile.TemporaryDirectory()
        self._log = Path(self._folder.name, "log")
        control, data, self._thrift = free_port(), free_port(), free_port()
        command = [
            PROGRAM, "--no-p4", "--device-id", str(self.device_id),
            "--thrift-port", str(self._thrift),
            "--notifications-addr", f"ipc://{self._folder.name}/notifications",
            "--", "--grpc-server-addr", f"127.0.0.1:{control}",
            "--dp-grpc-server-addr", f"127.0.0.1:{data}", "--priority-queues", str(QUEUES),
        ]  # fmt: skip
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            self._wait_for(control, command)
            self._wait_for(data, command)
            self.client = BareClient(
                f"127.0.0.1:{control}",
                device_id=self.device_id,
                stream_timeout_s=SESSION_TIMEOUT_S,
            )
            assert self.client.arbitrate() == ("OK", 1)
            config = p4.ForwardingPipelineConfig()
            config.p4info.CopyFrom(self.p4info)
            config.p4_device_config = self._json
            self.client.push(config)
            self._open_stream(data)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.client.__exit__(*exc_info)
        self._stop()

    def _stop(self) -> None:
        self._outbox.put(None)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def _wait_for(self, port: int, command: list[str]) -> None:
        end = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < end and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        tail = self._log.read_text(errors="replace")[-2000:]
        raise RuntimeError(
            f"{' '.join(command)} did not start (exit code {self._process.poll()}):\n{tail}"
        )

    # -- packets -----------------------------------------------------------------------------

    def _open_stream(self, port: int) -> None:
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        call = self._channel.stream_stream(
            "/p4.bm.DataplaneInterface/PacketStream",
            request_serializer=DataplanePacket.SerializeToString,
            response_deserializer=DataplanePacket.FromString,
        )
        responses = call(iter(self._outbox.get, None))

        def read() -> None:
            try:
                for response in responses:
                    self._inbox.put((response.id, response.port, response.packet))
            except grpc.RpcError as error:
                self._inbox.put(error)

        threading.Thread(target=read, daemon=True).start()

    def send(
        self,
        packets: list[tuple[int, bytes]],
        marker: list[tuple[int, bytes]],
        batch: int = BATCH,
    ) -> list[tuple[int, bytes] | None]:
        """(port, frame) for each packet sent in at (port, frame); None for a dropped one.

        A dropped packet leaves no trace, so each batch ends with ``marker``: packets that are
        never dropped and leave through every egress thread, behind all others.
        """
        results: list[tuple[int, bytes] | None] = []
        for first in range(0, len(packets), batch):
            results += self._send_batch(packets[first : first + batch], marker)
        return results

    def _send_batch(
        self, packets: list[tuple[int, bytes]], marker: list[tuple[int, bytes]]
    ) -> list[tuple[int, bytes] | None]:
        first = self._next_id
        for port, frame in [*packets, *marker]:
            self._outbox.put(
                DataplanePacket(id=self._next_id, device_id=self.device_id, port=port, packet=frame)
            )
            self._next_id += 1
        waiting = set(range(first + len(packets), self._next_id))
        results: list[tuple[int, bytes] | None] = [None] * len(packets)
        while waiting:
            item = self._inbox.get(timeout=PACKET_TIMEOUT_S)
            if isinstance(item, grpc.RpcError):
                log = self._log.read_text(errors="replace")[-2000:]
                raise RuntimeError(
                    f"the packet stream ended, exit {self._process.poll()}: {log}"
                ) from item
            number, port, frame = item
            waiting.discard(number)
            if first <= number < first + len(packets):
                results[number - first] = (port, frame)
        return results

    def exchange(self, packets: list[tuple[int, bytes]], count: int) -> list[tuple[int, bytes]]:
        """Send everything at once and wait for ``count`` packets, in the order they leave."""
        for port, frame in packets:
            self._outbox.put(DataplanePacket(device_id=self.device_id, port=port, packet=frame))
        return [self._inbox.get(timeout=PACKET_TIMEOUT_S)[1:] for _ in range(count)]

    # -- state over Thrift ------------------------------------------------------------------

    def commands(self, *lines: str) -> str:
        """What ``simple_switch_CLI`` answers to these lines."""
        done = subprocess.run(
            [CLI, "--thrift-port", str(self._thrift)],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        if "Error" in done.stdout or "Invalid" in done.stdout:
            raise RuntimeError(done.stdout)
        return done.stdout

    def registers(self, *names: str) -> list[list[int]]:
        """All cells of each of these registers."""
        answer = self.commands(*(f"register_read {name}" for name in names))
        found = []
        for name in names:
            line = next(line for line in answer.splitlines() if f"{name}=" in line)
            found.append([int(value) for value in line.partition("=")[2].split(",")])
        return found
