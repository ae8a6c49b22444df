# SPDX-License-Identifier: Apache-2.0
"""The gRPC server that makes switches reachable over P4Runtime.

A data plane plugs in at the `Device`: it takes over each switch that `on_commit` hands it, and
holds that switch's lock while a packet is in a pipeline.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import grpc
from p4.v1 import p4runtime_pb2_grpc

from softswitch.p4rt.device import Device
from softswitch.p4rt.service import P4RuntimeService

STREAMS_PER_DEVICE = 16
# Beside the streams, which keep a worker for as long as they are open.
CALL_WORKERS = 8

_OPTIONS = (
    # Without this a second server on the same port starts without an error and shares its calls.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 128 << 20),
)


class ServerError(Exception):
    """The server cannot listen; the message names the address."""


class P4RuntimeServer:
    """Serves devices at `address` (`host:port`, port 0 for any free one, or `unix:PATH`).

    A context manager: entering starts it, leaving stops it. `port` is the bound one.
    Raises ServerError when the address cannot be bound.
    """

    def __init__(self, address: str, devices: Iterable[Device]) -> None:
        by_id = {device.device_id: device for device in devices}
        streams = STREAMS_PER_DEVICE * len(by_id)
        self._workers = ThreadPoolExecutor(streams + CALL_WORKERS, thread_name_prefix="p4runtime")
        self._server = grpc.server(self._workers, options=_OPTIONS)
        service = P4RuntimeService(by_id, streams)
        p4runtime_pb2_grpc.add_P4RuntimeServicer_to_server(service, self._server)
        try:
            self.port = self._server.add_insecure_port(address)
        except RuntimeError:
            self.port = 0
        if not self.port:
            raise ServerError(f"cannot listen on {address}: in use, or not an address of this host")
        host, separator, _ = address.rpartition(":")
        is_unix = address.startswith("unix:")
        self.address = address if is_unix or not separator else f"{host}:{self.port}"

    def __enter__(self) -> "P4RuntimeServer":
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> None:
        self._server.start()

    def stop(self, grace_s: float = 0.2) -> None:
        """Refuse new calls at once, end the open ones after `grace_s` seconds, and return then."""
        self._server.stop(grace_s).wait()
        self._workers.shutdown()
