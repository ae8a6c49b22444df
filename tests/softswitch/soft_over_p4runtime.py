# SPDX-License-Identifier: Apache-2.0
"""The embedded switch as BMv2 is in these tests: set over P4Runtime, queues by BMv2's rules."""

from __future__ import annotations

import random

from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4
from p4runtime_state import StateOverP4Runtime
from p4runtime_support import BareClient

from softswitch import Switch
from softswitch.p4rt.device import Device
from softswitch.queues import PortScheduler
from softswitch.server import P4RuntimeServer

DEVICE_ID = 9
SESSION_TIMEOUT_S = 250


class SoftOverP4Runtime(StateOverP4Runtime):
    """A context manager with the program pushed. Port queues are without a limit of rate."""

    def __init__(self, json_bytes: bytes, p4info_text: str, capacity: int) -> None:
        self.p4info = text_format.Parse(p4info_text, p4info_pb2.P4Info())
        self._json = json_bytes
        self._capacity = capacity
        self._ports: dict[int, PortScheduler] = {}
        self._device = Device(DEVICE_ID, lambda program: Switch(program, rng=random.Random(1)))
        self._server = P4RuntimeServer("127.0.0.1:0", [self._device])

    def __enter__(self) -> SoftOverP4Runtime:
        self._server.start()
        try:
            self.client = BareClient(
                self._server.address, device_id=DEVICE_ID, stream_timeout_s=250
            )
            assert self.client.arbitrate() == ("OK", 1)
            config = p4.ForwardingPipelineConfig(p4_device_config=self._json)
            config.p4info.CopyFrom(self.p4info)
            self.client.push(config)
        except BaseException:
            self._server.stop()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.client.__exit__(*exc_info)
        self._server.stop()

    def send(self, packets: list[tuple[int, bytes]], batch: int) -> list[tuple[int, bytes] | None]:
        """(port, frame) for each packet sent in at (port, frame), None for a dropped one.

        Batches are queued whole before anything leaves.
        """
        results: list[tuple[int, bytes] | None] = [None] * len(packets)
        for first in range(0, len(packets), batch):
            for number in range(first, min(first + batch, len(packets))):
                self._arrive(*packets[number], number)
            for port, scheduler in self._ports.items():
                while item := scheduler.dequeue(0):
                    number, waiting = item[1]
                    frame = self._device.switch.egress(waiting, 0)
                    results[number] = None if frame is None else (port, frame)
        return results

    def _arrive(self, port: int, frame: bytes, number: int) -> None:
        for egress_port, priority, waiting in self._device.switch.ingress(port, frame, 0):
            if egress_port not in self._ports:
                self._ports[egress_port] = PortScheduler(
                    mode="bmv2", capacities=(self._capacity,) * 3
                )
            self._ports[egress_port].enqueue(priority, (number, waiting), 0)
